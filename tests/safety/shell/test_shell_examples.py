"""What the published design allows, blocks, rewrites and calls risky, example by example."""

import pytest

from midwatch.safety.shell.classify import classify
from midwatch.safety.shell.verdict import Category, Intent, Risk
from tests.safety.requirements import requirement

ALLOWED = [
    'journalctl --since "10 min ago" -f',
    "kubectl logs --since=10m --tail=100 web",
    'ssh host "ls -la"',
    'mysql -e "SELECT 1"',
    "timeout 5s tail -f /var/log/syslog",
    "tail -n 50 -f /var/log/syslog",
    "cat /etc/hosts",
    "grep -i error /var/log/*.log",
    "ls",
    "docker logs web",
    'sqlite3 db.db "SELECT * FROM t"',
    "find / -name core 2>/dev/null",
    "cat /var/log/syslog 2>&1",
    "docker ps",
    "docker inspect web",
    "systemctl status nginx",
    "systemctl is-active nginx",
    "ping -c 3 host",
    "netstat -tlnp",
    "ss -tlnp",
    "ip addr",
    "ps aux",
    "free -m",
    "df -h",
    "du -sh /var/log",
    "head -5 f",
    "tail f",
]
ENDLESS = [
    ("journalctl -f", Category.STREAM),
    ("tail -f f", Category.STREAM),
    ("docker logs -f web", Category.STREAM),
    ("kubectl logs -f web", Category.STREAM),
    ("kubectl logs -n prod -f web", Category.STREAM),
    ("timeout 0 tail -f f", Category.STREAM),
    ("top", Category.STREAM),
    ("htop", Category.STREAM),
    ("watch ls", Category.STREAM),
    ("ssh host", Category.REPL),
    ("mysql", Category.REPL),
    ("psql", Category.REPL),
    ("python", Category.REPL),
    ("node", Category.REPL),
    ("redis-cli", Category.REPL),
    ("less f", Category.PAGER),
    ("more f", Category.PAGER),
    ("vim f", Category.PAGER),
    ("nano f", Category.PAGER),
    ("emacs f", Category.PAGER),
    ("docker exec -it web ls", Category.TTY),
    ("kubectl exec -it web -- ls", Category.TTY),
]
REWRITES = [
    ("journalctl -f", 'journalctl -n 200 --since "10 min ago"'),
    ("journalctl -fu nginx", 'journalctl -n 200 --since "10 min ago" -u nginx'),
    ("journalctl -u nginx --follow", 'journalctl -u nginx -n 200 --since "10 min ago"'),
    ("docker logs -f x", "docker logs --tail=200 x"),
    ("kubectl logs -f x", "kubectl logs --tail=200 --since=10m x"),
    ("tail -f file", "tail -n 200 file"),
    ("tail -F 'a b' | grep x", "tail -n 200 'a b' | grep x"),
    ("less f", "cat f | head -200"),
    ("vim f", "cat f"),
    ("top", "ps aux --sort=-%cpu | head -20"),
    ("watch -n 5 df -h", "df -h"),
    ("watch 'df -h | head'", "df -h | head"),
    ("docker exec -it web ls", "docker exec web ls"),
]
HIGH = [
    "sudo ls", "echo x > f", "echo x >> f", "ls | tee f", "ls 2> f", "rm f", "shutdown now", "reboot", "poweroff",
    "systemctl restart nginx", "systemctl stop nginx", "systemctl start nginx", "apt install x", "yum install x",
    "dnf remove x", "pacman -S x", "docker rm web", "docker kill web", "chmod 777 f", "chown a f", "iptables -F",
    "kill 1", "mkfs.ext4 /dev/sda", "dd if=a of=b", "mount /dev/sda /mnt", "ls; rm f", "ls && reboot",
]  # fmt: skip
MEDIUM = ["mv a b", "cp a b", "touch f", "mkdir d", "sed -i s/a/b/ f", "tar -xf f", "unzip f", "curl -X POST http://h"]


@requirement("shell:allowed-examples")
@pytest.mark.parametrize("command", ALLOWED)
def test_what_the_design_allows_is_read_and_ends(command: str) -> None:
    verdict = classify(command)
    assert (verdict.kind, verdict.bounded, verdict.risk) == ("read", True, Risk.READ_ONLY), verdict.rule


@requirement("shell:blocked-examples", "shell:bounds")
@pytest.mark.parametrize(("command", "category"), ENDLESS)
def test_what_the_design_blocks_has_its_category(command: str, category: Category) -> None:
    assert classify(command).endless is category


@requirement("shell:rewrites")
@pytest.mark.parametrize(("command", "rewrite"), REWRITES)
def test_an_endless_command_gets_the_template_and_the_result_reads_and_ends(command: str, rewrite: str) -> None:
    assert classify(command).rewrite == rewrite
    assert (classify(rewrite).kind, classify(rewrite).bounded) == ("read", True)


@requirement("shell:rewrites")
@pytest.mark.parametrize("command", ["tail -f f > out", "journalctl -f | tee x", "ssh host", "psql", "watch rm f"])
def test_a_rewrite_that_would_not_read_is_not_offered(command: str) -> None:
    assert classify(command).rewrite is None


@requirement("shell:risk")
@pytest.mark.parametrize("command", HIGH)
def test_what_the_design_calls_high_is_high(command: str) -> None:
    verdict = classify(command)
    assert (verdict.intent, verdict.risk) == (Intent.WRITE, Risk.HIGH)


@requirement("shell:risk")
@pytest.mark.parametrize("command", MEDIUM)
def test_what_the_design_calls_medium_is_medium(command: str) -> None:
    verdict = classify(command)
    assert (verdict.intent, verdict.risk) == (Intent.WRITE, Risk.MEDIUM)


@requirement("shell:risk")
@pytest.mark.parametrize("command", ["umask 022", "ulimit -n 10", "alias a=b", "shopt -s extglob"])
def test_what_only_touches_the_callers_own_state_is_low(command: str) -> None:
    verdict = classify(command)
    assert (verdict.intent, verdict.risk) == (Intent.WRITE, Risk.LOW)


@requirement("shell:unknown-is-write")
@pytest.mark.parametrize("command", ["frobnicate", "./ls", "/tmp/ls", "../bin/ls", "~/bin/ls", "bin/ls"])
def test_a_program_nobody_described_is_a_write_of_medium_risk(command: str) -> None:
    verdict = classify(command)
    assert (verdict.intent, verdict.risk) == (Intent.WRITE, Risk.MEDIUM)
