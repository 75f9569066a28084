"""What alerts complain about, and which names in them can be used."""

import pytest

from midwatch.llm.demo.clues import Clues, find_clues
from midwatch.llm.demo.symptoms import Symptom, find_symptoms

PORT, DISK, MEMORY, CONTAINER = Symptom.PORT, Symptom.DISK, Symptom.MEMORY, Symptom.CONTAINER
SERVICE, CPU, LOG, UNKNOWN = Symptom.SERVICE, Symptom.CPU, Symptom.LOG, Symptom.UNKNOWN


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NodeFilesystemSpaceFillingUp", DISK),
        ('{"alertname": "NodeFilesystemAlmostOutOfSpace", "mountpoint": "/data"}', DISK),
        ("Disk usage on /data is at 97%", DISK),
        ("CRITICAL - free space: /var 102 MB (1%)  disk full", DISK),
        ("write failed: No space left on device", DISK),
        ("The volume /srv is almost full", DISK),
        ("NodeFilesystemFilesFillingUp: inodes used 99%", DISK),
        ("/dev/sda1 has run out of inodes", DISK),
        ("Low disk space on server web-1", DISK),
        ("KubeletHasDiskPressure: node has disk pressure", DISK),
        ("fs_used_percent{mountpoint='/'} 96", DISK),
        ("the root filesystem was remounted read-only: Read-only file system", DISK),
        ("HostOutOfMemory", MEMORY),
        ("Memory usage above 95% for 10 minutes", MEMORY),
        ("java was OOMKilled", MEMORY),
        ("kernel: Out of memory: Killed process 4242 (java)", MEMORY),
        ("High memory pressure on db-3", MEMORY),
        ("Swap is 92% used", MEMORY),
        ("available RAM is low: 120 MB free", MEMORY),
        ("fork: Cannot allocate memory", MEMORY),
        ("node_memory_MemAvailable_bytes low", MEMORY),
        ("possible memory leak in worker", MEMORY),
        ("HighCPU", CPU),
        ("HostHighCpuLoad: CPU load is > 80%", CPU),
        ("CPU usage 98% on app-2", CPU),
        ("Load average is too high: 17.3", CPU),
        ("NodeLoad15High", CPU),
        ("system overloaded, run queue 40", CPU),
        ("iowait above 50%", CPU),
        ("The server is very slow since this morning", CPU),
        ("nginx.service entered failed state", SERVICE),
        ("NodeSystemdServiceFailed name=nginx.service", SERVICE),
        ("postgresql is down", SERVICE),
        ("InstanceDown: target web-1:9100 has been down for 5 minutes", SERVICE),
        ("The daemon sshd has stopped", SERVICE),
        ("systemd: Failed to start The Apache HTTP Server", SERVICE),
        ("probe of https://shop.example/ failed: connection refused", SERVICE),
        ("502 Bad Gateway from the shop", SERVICE),
        ("health check of checkout failed", SERVICE),
        ("process cron is not running", SERVICE),
        ("listen tcp 0.0.0.0:8080: bind: address already in use", PORT),
        ("Error: listen EADDRINUSE: :::3000", PORT),
        ("port 443 is already taken", PORT),
        ("nginx: [emerg] bind() to 0.0.0.0:80 failed (98: Address already in use)", PORT),
        ("could not bind to 127.0.0.1:5432", PORT),
        ("Port conflict on 9000", PORT),
        ("container web restarted 12 times", CONTAINER),
        ("Docker container redis is unhealthy", CONTAINER),
        ("KubePodCrashLooping", CONTAINER),
        ("container api exited (137)", CONTAINER),
        ("Error rate in the logs of checkout is 14 per minute", LOG),
        ("LogErrorsHigh: 312 errors logged in 5m, file=/var/log/app/app.log", LOG),
        ("Traceback (most recent call last): ValueError", LOG),
        ("Watchdog: this alert always fires", UNKNOWN),
        ("The moon is full of cheese", UNKNOWN),
        ("", UNKNOWN),
        ("https://grafana.example/d/disk-full?var=memory", UNKNOWN),
    ],
)
def test_an_alert_is_read_for_what_it_complains_about(text: str, expected: Symptom) -> None:
    assert find_symptoms(text)[0] is expected


def test_a_second_symptom_is_kept_when_it_weighs_enough() -> None:
    assert set(find_symptoms("container web was OOMKilled: out of memory, container restarted")) == {MEMORY, CONTAINER}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('mountpoint="/data"', Clues(paths=("/data",))),
        ("Disk / is 95.5% full", Clues(paths=("/",), percents=(95.5,))),
        ("/var/log/app.log grows", Clues(paths=("/var/log/app.log",))),
        ("see https://host.example/a/b/c", Clues()),
        ("nginx.service failed", Clues(services=("nginx",))),
        ("Service billing-api is down", Clues(services=("billing-api",))),
        ("unit: foo@1.service", Clues(services=("foo@1",))),
        ("The checkout service failed", Clues(services=("checkout",))),
        ("postgresql is down", Clues(services=("postgresql",))),
        ("the service is down", Clues()),
        ("bind to 0.0.0.0:8080 failed", Clues(ports=(8080,))),
        ("port 443 and port 80", Clues(ports=(443, 80))),
        ("listen EADDRINUSE: :::3000", Clues(ports=(3000,))),
        ("port 99999", Clues()),
        ("at 12:30:45", Clues()),
        ("Killed process 4242 (java)", Clues(processes=("java",), pids=(4242,))),
        ("process: worker pid=77", Clues(processes=("worker",), pids=(77,))),
        ("instance=web-1:9100", Clues(hosts=("web-1",))),
        (
            '{"labels": {"instance": "db-3.example:9100", "mountpoint": "/srv"}}',
            Clues(hosts=("db-3.example",), paths=("/srv",)),
        ),
        ("Host: mail2\nService: postfix", Clues(hosts=("mail2",), services=("postfix",))),
        ("container redis is unhealthy", Clues(services=("redis",), containers=("redis",))),
        ("90 % and 90%", Clues(percents=(90.0,))),
    ],
)
def test_the_names_in_an_alert_are_found(text: str, expected: Clues) -> None:
    assert find_clues(text) == expected


def test_a_scrape_address_names_no_port_of_interest() -> None:
    assert find_clues("target web-1:9100 and 10.0.0.7:9100 are down").ports == ()


def test_only_a_few_names_of_a_kind_are_kept() -> None:
    assert len(find_clues(" ".join(f"port {number}" for number in range(1, 50))).ports) == 5
