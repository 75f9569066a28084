"""Whole investigations: what is asked, in which order, because of what was found, and what is concluded."""

from collections.abc import Mapping
from typing import Any

import pytest

from midwatch.domain.messages import AssistantMessage, UserMessage
from midwatch.llm.demo.report import FOOTER
from tests.unit.llm.demo.desk import Answer, Desk, host_tools
from tests.unit.llm.demo.findings import (
    GB,
    QUIET,
    disk,
    largest,
    load,
    memory,
    overview,
    process,
    processes,
    service,
    services,
)

TITLES = ("## Root cause", "## Evidence", "## What I did not check", "## What to do next")
DISK_ALERT = 'NodeFilesystemSpaceFillingUp mountpoint="/data" 97%'


def section(text: str, title: str) -> str:
    return text.partition(f"## {title}\n\n")[2].partition("\n\n## ")[0].removesuffix(f"\n\n{FOOTER}")


def measure(tree: dict[str, dict[str, Any]]) -> Any:
    def answer(arguments: Mapping[str, Any]) -> Answer:
        return tree.get(arguments["path"], ValueError("no such folder"))

    return answer


async def test_a_full_disk_is_followed_into_its_biggest_folder() -> None:
    tree = {
        "/data": largest("/data", {"logs": 90 * GB, "tmp": 5 * GB}),
        "/data/logs": largest("/data/logs", {"app": 80 * GB, "web": 10 * GB}),
        "/data/logs/app": largest(
            "/data/logs/app", {"a.log": 30 * GB, "old": 45 * GB}, files={"/data/logs/app/a.log": 30 * GB}
        ),
    }
    answers = QUIET | {"disks": {"disks": [disk("/", 40.0), disk("/data", 97.3)]}, "largest": measure(tree)}
    desk = Desk(DISK_ALERT, answers)
    text = await desk.investigate()
    assert desk.rounds == [
        ["overview", "disks"],
        ["largest path=/data"],
        ["largest path=/data/logs"],
        ["largest path=/data/logs/app"],
    ]
    assert "`/data/logs` holds much of it" in desk.thoughts[2]
    cause = section(text, "Root cause")
    assert cause.startswith("`/data` is 97.3 % full (97.3 GB of 100.0 GB).")
    assert "`/data/logs/app/a.log` (30.0 GB)" in cause
    assert "How sure: fairly sure." in cause
    assert "- `midwatch-host.disks`: `/data` is 97.3 % full" in section(text, "Evidence")
    assert "`truncate -s 0 /data/logs/app/a.log` **Destructive:**" in section(text, "What to do next")


async def test_the_way_down_ends_where_a_single_file_explains_it() -> None:
    tree = {"/data": largest("/data", {"dump": 95 * GB}, files={"/data/dump/core": 90 * GB})}
    answers = QUIET | {"disks": {"disks": [disk("/data", 97.0)]}, "largest": measure(tree)}
    desk = Desk(DISK_ALERT, answers)
    assert "`rm -i /data/dump/core` **Destructive:**" in await desk.investigate()
    assert desk.rounds[1:] == [["largest path=/data"]]


async def test_deleted_files_are_looked_for_when_the_numbers_do_not_add_up() -> None:
    held = {
        "files": [{"pid": 812, "process": "java", "path": "/data/x", "size_bytes": 60 * GB}],
        "total_bytes": 60 * GB,
    }
    tree = {"/data": largest("/data", {"a": 1 * GB, "b": 1 * GB, "c": 1 * GB, "d": 1 * GB})}
    answers = QUIET | {"disks": {"disks": [disk("/data", 97.0)]}, "largest": measure(tree), "deleted_files": held}
    desk = Desk(DISK_ALERT, answers)
    text = await desk.investigate()
    assert desk.rounds[1:] == [["largest path=/data"], ["deleted_files"]]
    assert "60.0 GB are in deleted files that are still open, most of it in `java` (pid 812)" in section(
        text, "Root cause"
    )


async def test_a_disk_without_inodes_is_not_called_full_of_bytes() -> None:
    answers = QUIET | {"disks": {"disks": [disk("/data", 20.0, inodes_used_percent=99.0)]}}
    text = await Desk("/data has run out of inodes", answers).investigate()
    assert "has used 99.0 % of its inodes" in section(text, "Root cause")
    assert "du -x --inodes" in section(text, "What to do next")


async def test_images_and_read_only_disks_may_be_full() -> None:
    mounted = [disk("/snap/core", 100.0, file_system="squashfs"), disk("/cd", 100.0, read_only=True), disk("/", 20.0)]
    text = await Desk("Disk usage is high", QUIET | {"disks": {"disks": mounted}}).investigate()
    assert section(text, "Root cause").startswith("No problem found")


async def test_a_disk_that_is_filling_counts_only_when_the_alert_names_it() -> None:
    answers = QUIET | {"disks": {"disks": [disk("/", 40.0), disk("/data", 84.0)]}}
    assert "`/data` is 84.0 % full" in section(await Desk(DISK_ALERT, answers).investigate(), "Root cause")
    text = await Desk("Disk usage on / is high", answers).investigate()
    assert section(text, "Root cause").startswith("No problem found")


async def test_high_load_leads_to_the_busiest_process() -> None:
    rows = processes(process(41, "idle"), process(42, "encoder", cpu=398.0))
    answers = QUIET | {"load": load(9.5, busy=97.0), "processes": rows, "process": process(42, "encoder", cpu=398.0)}
    desk = Desk("HighCPU on web-1", answers)
    text = await desk.investigate()
    assert desk.rounds == [["overview", "load"], ["processes sort=cpu"], ["process pid=42"]]
    assert "`encoder` (pid 42) with 398.0 % of one processor" in section(text, "Root cause")
    assert "`midwatch-host.process`: pid 42: `/usr/bin/encoder --serve`" in text
    assert "`kill 42` **Destructive:**" in text


async def test_load_that_waits_for_disks_is_said_to_wait() -> None:
    answers = QUIET | {"load": load(9.5, iowait=61.0)}
    assert "61.0 % of their time waits" in section(await Desk("Watchdog", answers).investigate(), "Root cause")
    text = await Desk("HighCPU", answers).investigate()
    assert "waiting for disks, not computing" in section(text, "Root cause")
    assert "iostat" in text


async def test_load_without_a_culprit_is_only_half_explained() -> None:
    text = await Desk("HighCPU", QUIET | {"load": load(9.5, busy=20.0)}).investigate()
    assert "No single process stands out." in text
    assert "How sure: half sure." in text


async def test_low_memory_leads_to_who_has_it_and_to_the_kernel() -> None:
    killed = {"time": None, "level": "err", "text": "Out of memory: Killed process 99 (worker) total-vm:1kB"}
    answers = QUIET | {
        "memory": memory(96.0),
        "processes": processes(process(50, "java", memory=61.0), process(51, "sh", memory=1.0)),
        "kernel_messages": {"messages": [killed]},
        "process": process(50, "java"),
    }
    desk = Desk("HostOutOfMemory", answers)
    text = await desk.investigate()
    assert desk.rounds == [
        ["overview", "memory"],
        ["processes sort=memory", "kernel_messages contains=oom"],
        ["process pid=50"],
    ]
    cause = section(text, "Root cause")
    assert "Memory is 96.0 % used; 400.0 MB of 10.0 GB are available." in cause
    assert "The kernel killed `worker` for want of memory." in cause
    assert "Most of it is in `java` (pid 50, 6.1 GB, 61.0 %)." in cause


@pytest.mark.parametrize(
    "reading",
    [
        memory(20.0, limit_bytes=GB, limit_used_bytes=GB - 1),
        memory(70.0, swap_total_bytes=GB, swap_used_bytes=GB - 1),
        memory(20.0, oom_kills=2),
    ],
)
async def test_memory_runs_out_in_other_ways_too(reading: dict[str, Any]) -> None:
    text = await Desk("Memory usage high", QUIET | {"memory": reading}).investigate()
    assert "How sure: half sure." in section(text, "Root cause")


async def test_a_dead_service_is_asked_for_its_last_words() -> None:
    said = {
        "time": None,
        "unit": "shop.service",
        "priority": "err",
        "message": "shop: error: invalid option in shop.conf",
    }
    answers = QUIET | {
        "services": services(service("shop.service", "failed", exit_code=1)),
        "journal": {"entries": [{**said, "message": "shop starts"}, said]},
    }
    desk = Desk("shop.service entered failed state", answers)
    text = await desk.investigate()
    assert desk.rounds == [
        ["overview", "services name_contains=shop"],
        ["journal unit=shop.service", "logs contains=shop", "processes name_contains=shop"],
    ]
    cause = section(text, "Root cause")
    assert cause.startswith("`shop.service` is `failed` (exit code 1).")
    assert "its configuration is wrong (`shop: error: invalid option in shop.conf`)" in cause
    assert "`systemctl restart shop.service` **Destructive:**" in text


async def test_without_a_journal_the_service_log_file_is_read() -> None:
    files = [
        {"path": f"/var/log/{name}", "size_bytes": 9, "modified_at": None}
        for name in ("x.log", "shop/access.log", "shop/error.log")
    ]
    answers = QUIET | {
        "services": services(service("shop", "failed")),
        "journal": {"entries": [], "notes": ["there is no journal"]},
        "logs": {"roots": ["/var/log"], "files": files},
        "read_log": {"path": "/var/log/shop/error.log", "lines": ["all fine", "fatal: no space left on device"]},
    }
    desk = Desk("shop.service failed", answers)
    text = await desk.investigate()
    assert desk.rounds[2] == ["read_log path=/var/log/shop/error.log", "read_log path=/var/log/shop/access.log"]
    assert desk.rounds[3] == ["disks"]
    assert "a disk is full (`fatal: no space left on device`)" in section(text, "Root cause")
    assert "there is no journal" in section(text, "What I did not check")


async def test_a_general_log_is_searched_where_the_service_has_none_of_its_own() -> None:
    def list_logs(arguments: Mapping[str, Any]) -> Answer:
        files = [] if arguments else [{"path": "/var/log/syslog", "size_bytes": 9, "modified_at": None}]
        return {"roots": ["/var/log"], "files": files}

    answers = QUIET | {"services": services(service("shop", "failed")), "logs": list_logs}
    desk = Desk("shop.service failed", answers)
    await desk.investigate()
    assert desk.rounds[2:4] == [["logs"], ["read_log path=/var/log/syslog contains=shop"]]


async def test_a_service_that_lost_its_port_leads_to_the_holder() -> None:
    said = {"unit": "nginx.service", "message": "bind() to 0.0.0.0:80 failed (98: Address already in use)"}
    holder = {"protocol": "tcp", "address": "0.0.0.0", "port": 80, "pid": 812, "process": "apache2", "user": "root"}
    answers = QUIET | {
        "services": services(service("nginx.service", "failed")),
        "journal": {"entries": [said]},
        "ports": {"ports": [holder]},
        "process": process(812, "apache2"),
    }
    desk = Desk("NodeSystemdServiceFailed name=nginx.service", answers)
    text = await desk.investigate()
    assert desk.rounds[2:] == [["ports port=80"], ["process pid=812"]]
    assert "Port 80 is held by `apache2` (pid 812, user `root`, on `0.0.0.0`)." in section(text, "Root cause")


async def test_a_service_that_nobody_knows_is_said_to_be_missing() -> None:
    text = await Desk("shop.service is down", QUIET | {"processes": processes()}).investigate()
    assert "Neither a service nor a process whose name contains `shop` was listed." in section(text, "Root cause")


async def test_a_service_that_runs_is_no_problem() -> None:
    answers = QUIET | {"services": services(service("shop.service", "running", pid=5))}
    text = await Desk("shop.service is down", answers).investigate()
    assert section(text, "Root cause").startswith("No problem found")
    assert "`shop.service` is `running` (pid 5)." in section(text, "Evidence")


async def test_a_taken_port_leads_to_its_holder() -> None:
    holder = {"protocol": "tcp", "address": "::", "port": 8080, "pid": 4242, "process": "python3", "user": "app"}
    other = {"protocol": "tcp", "address": "::", "port": 22, "pid": 1, "process": "sshd", "user": "root"}
    answers = QUIET | {"ports": {"ports": [other, holder]}, "process": process(4242, "python3")}
    desk = Desk("listen tcp 0.0.0.0:8080: bind: address already in use", answers)
    text = await desk.investigate()
    assert desk.rounds == [["overview", "ports port=8080"], ["process pid=4242"]]
    assert section(text, "Root cause").startswith("Port 8080 is held by `python3` (pid 4242, user `app`, on `::`).")
    assert "`/usr/bin/python3 --serve`" in section(text, "Evidence")


async def test_a_port_that_nobody_holds_is_said_to_be_free() -> None:
    text = await Desk("port 8080 is already taken", QUIET).investigate()
    assert section(text, "Root cause").startswith("No problem found")
    assert "No listener on port 8080 was listed." in section(text, "Evidence")


async def test_a_service_that_holds_its_own_port_may_have_been_started_twice() -> None:
    holder = {"port": 8080, "pid": 7, "process": "billing"}
    answers = QUIET | {"ports": {"ports": [holder]}}
    text = await Desk("service billing: port 8080 already in use", answers).investigate()
    assert "perhaps it was started twice" in section(text, "Root cause")


async def test_a_broken_container_is_asked_for_its_log() -> None:
    rows = [
        {"name": "db", "image": "pg", "state": "running", "status": "Up 3 days", "restarts": 0},
        {"name": "web", "image": "w", "state": "restarting", "status": "Restarting (1)", "restarts": 9},
        {"name": "job", "image": "j", "state": "exited", "status": "Exited (0) 2 days ago", "restarts": 0},
    ]
    answers = QUIET | {
        "containers": {"runtime": "docker", "containers": rows},
        "container_logs": {"name": "web", "lines": ["start", "PermissionError: permission denied: /data"]},
    }
    desk = Desk("Docker container web restarted 9 times", answers)
    text = await desk.investigate()
    assert desk.rounds == [["overview", "containers all=True"], ["container_logs name=web"]]
    cause = section(text, "Root cause")
    assert cause.startswith("Container `web` is `restarting` (`Restarting (1)`), restarted 9 times.")
    assert "it lacks a permission" in cause


async def test_a_log_is_read_only_when_a_tool_listed_it() -> None:
    files = [{"path": "/var/log/app/app.log", "size_bytes": 9, "modified_at": None}]
    answers = QUIET | {
        "logs": {"roots": ["/var/log"], "files": files},
        "read_log": {"path": "/var/log/app/app.log", "lines": ["ok", "ERROR payment timeout"]},
    }
    alert = "LogErrorsHigh: errors logged, file=/var/log/app/app.log and /etc/shadow.log"
    desk = Desk(alert, answers)
    text = await desk.investigate()
    assert [call for call in desk.asked if call.startswith("read_log")] == ["read_log path=/var/log/app/app.log"]
    assert "`/var/log/app/app.log` says: `ERROR payment timeout`." in section(text, "Root cause")


async def test_where_nothing_is_wrong_it_looks_around_once_and_says_so() -> None:
    desk = Desk(DISK_ALERT, QUIET)
    text = await desk.investigate()
    assert desk.rounds == [["overview", "disks"], ["memory", "load", "services state=failed", "kernel_messages"]]
    cause = section(text, "Root cause")
    assert cause.startswith("No problem found: the alert reads like disk space")
    assert "The alert itself speaks of 97 %" in cause
    assert "`/data` is 12.0 % full" in section(text, "Evidence")


async def test_an_unknown_alert_is_met_with_a_look_around() -> None:
    desk = Desk("Watchdog", QUIET)
    text = await desk.investigate()
    assert desk.rounds == [["overview", "disks", "memory", "load", "services state=failed", "kernel_messages"]]
    assert section(text, "Root cause").startswith("No problem found: the alert matches none")


async def test_what_the_look_around_finds_is_followed_up() -> None:
    answers = QUIET | {
        "disks": {"disks": [disk("/data", 99.0)]},
        "largest": measure({"/data": largest("/data", {"a": 99 * GB})}),
    }
    desk = Desk("Watchdog", answers)
    text = await desk.investigate()
    assert "largest path=/data" in desk.asked
    assert "How sure: not very sure." in section(text, "Root cause")


async def test_something_else_that_is_wrong_is_not_passed_off_as_what_the_alert_reports() -> None:
    answers = QUIET | {"disks": {"disks": [disk("/data", 99.0)]}}
    cause = section(await Desk("HostOutOfMemory", answers).investigate(), "Root cause")
    assert cause.startswith(
        "I see no sign of what the alert reports (memory). Something else stands out: `/data` is 99.0 %"
    )


async def test_a_failed_service_in_the_overview_is_asked_about() -> None:
    answers = QUIET | {"overview": overview(failed_services=["backup.service"])}
    desk = Desk("Watchdog", answers)
    text = await desk.investigate()
    assert "journal unit=backup.service" in desk.asked
    assert "`backup.service` has failed." in section(text, "Root cause")


async def test_what_the_kernel_complains_about_is_told() -> None:
    said = {"messages": [{"time": None, "level": "err", "text": "blk_update_request: I/O error, dev sda"}]}
    text = await Desk("Watchdog", QUIET | {"kernel_messages": said}).investigate()
    assert "a disk reports errors: `blk_update_request: I/O error, dev sda`" in section(text, "Root cause")


async def test_another_machine_than_the_alert_names_is_pointed_out() -> None:
    told = "**The alert names `db-3`, but the tools looked at `web-1`**"
    assert told in await Desk("HighCPU instance=db-3:9100", QUIET).investigate()
    assert "but the tools looked at" not in await Desk("HighCPU instance=web-1.example:9100", QUIET).investigate()


@pytest.mark.parametrize("alert", [DISK_ALERT, "HighCPU", "HostOutOfMemory", "shop.service is down", "Watchdog"])
async def test_every_answer_has_its_sections_and_says_who_wrote_it(alert: str) -> None:
    text = await Desk(alert, QUIET).investigate()
    assert [line for line in text.splitlines() if line.startswith("## ")] == list(TITLES)
    assert text.splitlines()[-1] == FOOTER
    assert FOOTER == (
        "Written by Midwatch's demo model: rules, no language model. Configure a model for real investigations."
    )


async def test_what_failed_is_noted_and_worked_around() -> None:
    answers = QUIET | {
        "disks": ValueError('{"error":{"code":"DENIED","message":"not allowed","hint":"ask"}}'),
        "overview": overview(fullest_disks=[disk("/data", 98.0)]),
        "largest": "A summary: the folder holds many logs.",
    }
    text = await Desk(DISK_ALERT, answers).investigate()
    assert "`/data` is 98.0 % full" in section(text, "Root cause")
    unchecked = section(text, "What I did not check")
    assert "`midwatch-host.disks` failed: `DENIED: not allowed`." in unchecked
    assert "`midwatch-host.largest` answered in text that my rules cannot read." in unchecked


async def test_nothing_is_claimed_when_no_tool_answered() -> None:
    text = await Desk(DISK_ALERT, {}).investigate()
    assert section(text, "Root cause").startswith("I cannot say: no tool told me anything")
    assert section(text, "Evidence") == "None: no tool told me anything."


async def test_missing_tools_are_named() -> None:
    text = await Desk(DISK_ALERT, QUIET, tools=host_tools(without=["disks", "memory"])).investigate()
    unchecked = section(text, "What I did not check")
    assert "- How full the file systems are: there is no tool for it that I can use." in unchecked
    assert "- Memory and swap: there is no tool for it that I can use." in unchecked


async def test_runbooks_and_earlier_stages_are_not_passed_off_as_read() -> None:
    text = await Desk(DISK_ALERT, QUIET, runbook="# Disk", earlier=[("look", "It is full.")]).investigate()
    assert "The runbook: my rules do not read runbooks." in text
    assert "What earlier stages wrote: my rules do not read it." in text


async def test_a_very_long_alert_is_read_in_part_and_that_is_said() -> None:
    told = "- The end of the alert: I read its first 20000 characters."
    assert told in await Desk("HighCPU " + "x" * 20_000, QUIET).investigate()
    assert told not in await Desk("HighCPU", QUIET).investigate()


async def test_whoever_is_told_to_conclude_does_so_with_what_there_is() -> None:
    desk = Desk(DISK_ALERT, QUIET | {"disks": {"disks": [disk("/data", 97.0)]}})
    first = await desk.ask()
    desk.messages += [desk.answer(call) for call in first.calls]
    desk.messages.append(UserMessage(text="You have used all iterations. Conclude now."))
    last = await desk.ask(tools=())
    assert last.calls == ()
    assert "`/data` is 97.0 % full" in section(last.text, "Root cause")
    unchecked = section(last.text, "What I did not check")
    assert "- What fills a folder: I was told to conclude before I came to it." in unchecked
    assert "How full the file systems are" not in unchecked


async def test_a_resumed_run_goes_on_where_it_was() -> None:
    whole = Desk("HighCPU", QUIET | {"load": load(9.0)})
    text = await whole.investigate()
    replies = [place for place, message in enumerate(whole.messages) if isinstance(message, AssistantMessage)]
    assert len(replies) > 2
    for place in replies:
        resumed = Desk("HighCPU", whole.answers, messages=whole.messages[:place])
        assert await resumed.investigate() == text
        assert [*whole.rounds[: replies.index(place)], *resumed.rounds] == whole.rounds


async def test_it_stops_after_some_rounds_and_says_what_it_did_not_reach() -> None:
    def list_logs(arguments: Mapping[str, Any]) -> Answer:
        return {"roots": [], "files": [] if arguments else [{"path": "/var/log/syslog", "size_bytes": 9}]}

    answers = QUIET | {
        "services": services(service("shop", "failed")),
        "logs": list_logs,
        "read_log": {"path": "/var/log/syslog", "lines": ["shop: error: no space left on device"]},
        "disks": {"disks": [disk("/data", 99.0)]},
        "largest": measure({"/data": largest("/data", {"a": 99 * GB})}),
    }
    desk = Desk("shop.service failed", answers)
    text = await desk.investigate()
    assert (len(desk.rounds), desk.asked[-1]) == (6, "largest path=/data")
    assert "- What fills a folder: I stop after 6 rounds of calls." in section(text, "What I did not check")
