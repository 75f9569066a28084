"""Secrets, destinations and the places a command enters."""

import pytest

from midwatch.safety.shell.classify import classify
from midwatch.safety.shell.secrets import find_secret, normalize
from tests.safety.requirements import requirement

SECRET = [
    "cd /etc && cat shadow", "cd /; cd etc; cat ./shadow", "cd ~/.ssh; head id_ed25519_x; cat id_x",
    "cd /etc; bash -c 'cat shadow'", "cat /etc/shadow", "cat /etc/../etc/shadow", "cat /etc//shadow",
    "cat /etc/./shadow", "cat '/etc/sha''dow'", "cat /etc/sh\\adow", "cat $'/etc/\\x73hadow'", "cat /etc/sh*",
    "cat /e?c/shadow", "cat /etc/[s]hadow", "cat /etc/{passwd,shadow}", "head -1 /etc/gshadow", "cat ~/.ssh/id_rsa",
    "cat $HOME/.ssh/id_ed25519", 'cat "$HOME"/.ssh/id_rsa', "cat /root/.ssh/id_rsa", "cat /home/u/.ssh/id_rsa",
    "cat ~root/.ssh/id_rsa", "cat /home/*/.ssh/*", "cat /proc/1/environ", "cat /proc/self/environ",
    "cat /proc/*/environ", "strings /proc/$pid/environ", "cat ~/.aws/credentials", "cat ~/.kube/config",
    "cat /etc/kubernetes/admin.conf", "cat /run/secrets/x",
    "cat /var/run/secrets/kubernetes.io/serviceaccount/token", "cat .env", "cat /app/.env",
    "cat app/.env.production", "cat ~/.bash_history", "cat ~/.pgpass", "cat ~/.netrc", "cat /etc/ssl/private/a.key",
    "cat server.key", "cat privkey.pem", "cat < /etc/shadow", "sort /etc/shadow", "grep root /etc/shadow",
    "awk -F: '{print $2}' /etc/shadow", "sed -n 1p /etc/shadow", "find / -name id_rsa -exec cat {} \\;",
    "base64 /etc/shadow", "cat /proc/1/root/etc/shadow", "xxd ~/.ssh/id_rsa", "env", "printenv", "export", "set",
    "awk 'BEGIN{for(k in ENVIRON) print k}'", "jq -n env", "jq -n '$ENV.X'", "history", "systemctl show-environment",
    "kubectl get secret", "kubectl get secrets -o yaml", "kubectl describe secret x",
    "curl http://169.254.169.254/latest/meta-data", "curl http://metadata.google.internal/x",
    "curl http://0xa9fea9fe/", "curl http://2852039166/", "curl http://0251.0376.0251.0376/",
    "curl http://169.254.43518/", "curl 'http://[::ffff:169.254.169.254]/'", "curl http://100.100.100.200/",
    "wget -qO- http://169.254.169.254/", "cat /etc/sudoers", "cat terraform.tfstate",
    "cat /var/lib/midwatch/approver.token",
    "cat /etc/pve/priv/authkey.key", "ssh host cat /etc/shadow", "docker exec web cat /etc/shadow",
    "bash -c 'cat /etc/shadow'",
]  # fmt: skip
PLAIN = [
    "cd /etc && ls shadow", "cd /etc; cd $x; cat shadow", "cd /etc; ssh h cat shadow", "cd /etc && cat -n hosts",
    "cd; cat f", "cat /etc/passwd", "cat /etc/hosts", "ls /etc/shadow", "ls -l ~/.ssh", "stat /etc/shadow",
    "cat ~/.ssh/known_hosts", "cat ~/.ssh/id_rsa.pub", "cat .env.example", "cat f", "cat *", "cat /var/log/*.log",
    "curl http://169.254.1.1/", "env -i", "cat /proc/1/status",
]  # fmt: skip


@requirement("shell:secrets")
@pytest.mark.parametrize("command", SECRET)
def test_a_command_that_would_show_a_secret_says_so(command: str) -> None:
    assert classify(command).sensitive


@requirement("shell:secrets")
@pytest.mark.parametrize("command", PLAIN)
def test_a_command_that_shows_none_does_not(command: str) -> None:
    assert not classify(command).sensitive


@pytest.mark.parametrize(
    ("path", "normal"),
    [
        ("/a/../b", "/b"),
        ("//a//b/", "/a/b"),
        ("/../../a", "/a"),
        ("./a/./b", "a/b"),
        ("a/../../b", "../b"),
        ("/proc/1/root/etc/x", "/etc/x"),
    ],
)
def test_a_path_loses_its_detours(path: str, normal: str) -> None:
    assert normalize(path) == normal


def test_a_relative_path_counts_from_its_folder() -> None:
    assert find_secret("shadow", folder="/etc") == "password hashes"
    assert find_secret("") is None


@requirement("shell:secrets")
def test_what_is_too_long_to_be_compared_counts_as_a_secret() -> None:
    assert find_secret("/" + "a" * 4095) is None
    assert find_secret("/" + "a" * 4096) == "a path too long to be judged"
    assert classify(f"cat /etc/sh{'*' * 5000}").sensitive


@requirement("shell:egress")
@pytest.mark.parametrize(
    ("command", "hosts", "targets"),
    [
        ("curl -s https://u@web:8443/x http://b", ("web", "b"), ()), ("ping -c 1 host", ("host",), ()),
        ("ssh u@host ls", ("host",), ("host:host",)), ("psql -h db -c 'select 1'", ("db",), ()),
        ("docker exec web ls", (), ("container:web",)), ("kubectl exec web -- ls", (), ("pod:web",)),
        ("nsenter -t 1 -m ls", (), ("process:1",)), ("ls", (), ()), ("cat < /dev/tcp/h/1", ("h",), ()),
        ("ssh -J jump host docker exec web ls", ("jump", "host"), ("host:host", "container:web")),
        ("curl http://[::1]:80/", ("::1",), ()), ("dig example.com", ("example.com",), ()),
    ],
)  # fmt: skip
def test_a_verdict_names_what_is_reached_and_entered(
    command: str, hosts: tuple[str, ...], targets: tuple[str, ...]
) -> None:
    verdict = classify(command)
    assert (verdict.egress, verdict.targets) == (hosts, targets)
