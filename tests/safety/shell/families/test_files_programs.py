"""Programs that show files and small facts: what they can write, they are refused for."""

import pytest

from midwatch.safety.shell.classify import classify

READS = [
    "ls -la /var/log",
    "ls -lhtr --color=auto *.log",
    "stat -c '%n %s' /etc/hosts",
    "du -sh /var/* --exclude=cache",
    "du -xh --max-depth=1 /",
    "df -hT",
    "df -i /var",
    "file -b /usr/bin/ls",
    "tree -L 2 -d /etc",
    "readlink -f /proc/1/exe",
    "uname -a",
    "id www-data",
    "who -b",
    "last -n 20 reboot",
    "date -u +%s",
    "date -d yesterday",
    "hostname -f",
    "getent passwd root",
    "grep -rn 'out of memory' /var/log",
    "grep -E -c '5[0-9]{2}' access.log",
    "grep -e ERROR -e WARN app.log",
    "grep -v -f ignore.txt app.log",
    "zgrep -i error app.log.1.gz",
    "rg -n --hidden 'panic' /srv",
    "diff -u a.conf b.conf",
    "cmp -s a b",
    "zcat app.log.2.gz",
    "gzip -l app.log.gz",
    "gzip -dc app.log.gz",
    "xz -t backup.xz",
    "unzip -l app.jar",
    "unzip -p app.jar META-INF/MANIFEST.MF",
    "getfacl /srv/data",
    "lsattr -d /etc",
    "seq 1 5",
    "uptime -p",
]
WRITES = [
    "tree -R -L 2",
    "tree -o out.txt",
    "date -s 2026-01-01",
    "date --set=2026-01-01",
    "date 010100002026",
    "hostname web-2",
    "hostname -F /tmp/name",
    "file -C -m magic",
    "file -m /tmp/magic x",
    "rg --pre 'rm' x",
    "rg -z x",
    "sdiff -o out a b",
    "diff --output=x a b",
    "gzip app.log",
    "gzip -d app.log.gz",
    "gunzip app.log.gz",
    "bzip2 -t -d app.bz2",
    "xz -l -d x.xz",
    "unzip app.zip",
    "unzip -o app.zip",
    "lastlog -C -u root",
    "shuf -o x y",
    "rm -rf /",
    "chmod 777 /etc/passwd",
    "cp a b",
    "mv a b",
    "touch x",
    "tee /etc/hosts",
    "ln -s a b",
    "setfacl -m u:x:rwx y",
    "zstd --rm x",
    "gunzip -c x --rm",
]


@pytest.mark.parametrize("command", READS)
def test_showing_files_is_accepted(command: str) -> None:
    assert classify(command).reads, classify(command).rule


@pytest.mark.parametrize("command", WRITES)
def test_what_writes_is_refused(command: str) -> None:
    assert not classify(command).reads


@pytest.mark.parametrize(
    "command", ["printenv", "getent shadow", "grep root /etc/shadow", "grep -r x ~/.ssh/id_rsa", "diff /etc/shadow x"]
)
def test_what_shows_secrets_is_sensitive(command: str) -> None:
    assert classify(command).sensitive


def test_names_of_secret_files_are_no_secrets() -> None:
    assert not classify("ls -l ~/.ssh").sensitive


def test_a_name_that_is_looked_up_leaves_the_machine() -> None:
    assert classify("getent hosts db.example").egress == ("db.example",)


def test_a_pager_is_replaced_by_a_look_that_ends() -> None:
    verdict = classify("less /var/log/syslog")
    assert verdict.endless == "pager"
    assert verdict.rewrite == "cat /var/log/syslog | head -200"
