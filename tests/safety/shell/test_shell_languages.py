"""Corners of the small languages and clients, as far as they decide something."""

import pytest

from midwatch.safety.shell.classify import classify
from midwatch.safety.shell.explain import explain
from midwatch.safety.shell.programs.families.awk import inspect_program
from midwatch.safety.shell.programs.families.sed import inspect_script
from tests.safety.requirements import requirement

READS = [
    "awk '{print 1'", "read FOO", "yq '.a | env' f", "sed -n l5 f", "vault read sys/health",
    "while IFS= read -r l; do echo; done < f",
    "hcloud server describe x",
    "awk --version", "awk 'BEGIN{getline; print}' f", "awk 'BEGIN{getline x < \"f\"; print x}'",
    "awk '{print $1 / 2, /a/}' f", "awk 'BEGIN { x = 1 / 2 / 4; print x }'", "awk '{ print /x/ ? 1 : 2 }' f",
    "awk '/[[:space:]]/ {print}' f", "awk 'BEGIN{print \"a\" > \"/dev/stderr\"}'", "awk '{print; next}\n{print}' f",
    "awk", "sed --version", "sed -n '/a/I,+3p' f", "sed '/[]abc]/d' f", "sed '\\%a%d' f", "sed 's/[[:alpha:]]/x/' f",
    "sed 's/a\\/b/c/' f", "sed '5q' f", "sed '$!d' f", "sed l f", "sed '# comment\np' f", "sed 'a text' f",
    "sed '/x/c\\\nnew' f", "sed ':a; ta; p' f", "sed '1,3{p;d}' f", "sed = f", "sed 's/a/b/;s/c/d/' f",
    "sed '0~3d' f", "sed 's,a,b,2g' f", "sed \"s/'/x/\" f", "sed -n '2,$p' f", "sed '' f", "jq --indent 2 . f",
    "jq --slurpfile a f '.x' g", "jq -n 1", "bash --version", "bash -lc ls", "bash --norc -c ls", "sh -c",
    "bash --login -c ls", "python3 -m json.tool f", "python -V", "perl -v", "node --version", "php -m",
    "java -version", "ssh -V", "psql --version", "mysql -V", "sqlite3 -version", "redis-cli -v", "mongosh --version",
    "clickhouse-client --version", "printf '%s' a", "test", "test a", "read -r x y", "set -x", "set +e", "kill -l",
    "kill -l 9", "kill -0 1", "history 5", "hash", "hash -t ls", "ulimit -n", "umask -S", "exit 0", "wait", "shift",
    "tar --version", "tar --list -f a.tar", "tar tf 'a:b' --force-local", "unzip -p a.zip f", "xz -dc f",
    "timeout --help", "watch", "nice", "sqlite3 file:a?mode=ro 'select 1'", "wget --spider http://h",
    "curl --url http://h", "redis-cli monitor", "redis-cli --stat", "rpm -qi bash",
    "caddy validate -c /etc/caddy/Caddyfile", "gcloud info", "aws --version", "doctl compute droplet list",
    "hcloud server list", "less +G f", "dig example.com", "sysctl kernel.hostname", "hash ls", "env -i ls",
    "xargs -i echo {}",
]  # fmt: skip
WRITES = [
    'awk "{print $x}" f', "awk 'BEGIN { getline a b c d e f g }'", 'sed "s/a/$x/" f', 'ssh "h$x" ls', 'dig "a$x"',
    "read LD_AUDIT", "read PATH", 'yq ".a$x" f', "hcloud server", "gcloud compute frobnicate list",
    "awk 'BEGIN{print \"a}' f", "awk '{print /a[/]b/}' f", "awk '{print `x`}' f",
    "awk '{print > \"/dev/stderr\" x}' f", "awk 'BEGIN{print 1 \\\n > \"f\"}'", "awk '{getline < (\"a\" \"b\")}' f",
    "awk '{print}' /inet/tcp/0/h/1", "awk '{print /x}' f", "sed '/a' f", "sed 's/a/b' f", "sed '1,w f' g",
    "sed '\\' f", "sed 's' f", "sed 'sxaxbx' f", "sed 'y/a' f", "sed 's/[[:alpha:/x/' f", "sed '/[/]/w f' g",
    "sed 'a\\\nb\\\nc' f", "sed 'p w' f", "sed '/a\nb/p' f", "sed 's/a/b\nc/' f", "sed '1,/x' f", "sed p $x",
    "sed '5' f", "sed 'a b\\' f", 'sed "$(cat f)"', "sed 'F w' f", "sed '1~' f", "sed 's/[[.a/x/' f",
    "jq --frobnicate f", "jq -L d . f x --in-place", "jq $x", "bash -o history -c ls", "bash -x", "sh f",
    "fish -c 'ls $x'", "ksh -c 'ls (x)'", "python3 -m json.tool f g", "python3 -m json.tool -o f", "perl -v -e 1",
    "ssh -J $x h ls", "ssh h -t ls", "psql -v ON_ERROR_STOP=1 -v x=y -c 'select 1'",
    "sqlite3 'file:a?mode=rwc' 'select 1'", 'sqlite3 db "$x"', 'printf "$x"', 'test "$a" "$b"', "set -a",
    "set -- a b", "kill -0 a", "kill -9 1", "history -w", "hash -p a b", "ulimit 5", "umask 077", "tar", "tar -f a",
    "tar $x", "tar tf $x", "tar tf a:b", "xz -d f", "bzip2 -t -d f", "unzip -d x f", "watch -z ls",
    "nice --frobnicate ls", "env FOO=$x ls", "xargs -I '' rm", "mongosh", "wget",
    "wget --header=@f --spider http://h", "curl -b f http://h", 'curl "$x"', "curl http://$x/", 'redis-cli "$x"',
    "redis-cli set a", "rpm -i x --version", "caddy validate -c /tmp/x", "caddy validate -c /etc/caddy/../../tmp/x",
    "haproxy -c -f $x", "vault read a/b", "gcloud compute instances", "gcloud logging", "gcloud storage read x",
    "aws ec2", "aws --profile x ec2 describe-instances", "aws ec2 describe-instances --filters file://f",
    "aws s3 cp a b", "az vm", "az", "doctl list", "doctl compute delete", "hcloud --context x server list",
    "az vm list --frobnicate", "gcloud --impersonate-service-account=x projects list", "aws ec2 $x", "az $x",
    "smartctl -l scterc,1,1 /dev/sda", "less +! f", "sysctl a=b", "dig $x", "service a b c", "postconf a=b",
    "yq 'load(\"f\")' g", "yq '.a' -i f", "history x",
]  # fmt: skip


@requirement("shell:own-languages")
@pytest.mark.parametrize("command", READS)
def test_looking_in_every_corner_is_reading(command: str) -> None:
    assert classify(command).reads, classify(command).rule


@requirement("shell:own-languages")
@pytest.mark.parametrize("command", WRITES)
def test_what_writes_or_cannot_be_read_in_any_corner_is_a_write(command: str) -> None:
    assert not classify(command).reads


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("{print}", None),
        ("{print | x}", "awk:pipe"),
        ("@x", "awk:runs"),
        ("`", "awk:unread"),
        ('{print > "f"}', "awk:redirect"),
        ("{getline < x}", "awk:getline"),
    ],
)
def test_a_program_of_awk_is_refused_by_its_rule(code: str, rule: str | None) -> None:
    assert inspect_program(code) == rule


@pytest.mark.parametrize(
    ("script", "rule"),
    [("p", None), ("w f", "sed:command"), ("/a", "sed:unread"), ("5", "sed:unread"), ("s/a/b/e", "sed:command")],
)
def test_a_script_of_sed_is_refused_by_its_rule(script: str, rule: str | None) -> None:
    assert inspect_script(script) == rule


def test_a_verdict_can_be_said_in_words() -> None:
    text = explain(classify("tail -f f | grep x; ssh h cat /etc/shadow; rm f"))
    for expected in (
        "write: changes something",
        "risk high",
        "may go on for ever",
        "shows password hashes",
        "reaches h",
        "enters host:h",
        "read   read:grep",
        "write  verb:writes",
        "pipeline",
    ):
        assert expected in text
    assert "ends like this: tail -n 200 f" in explain(classify("tail -f f"))
    assert "(not parsed)" in explain(classify("ls \x00"))
    assert len(explain(classify("ls; " * 300)).splitlines()) < 900
