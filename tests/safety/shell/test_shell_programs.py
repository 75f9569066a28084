"""Wrappers, shells, small languages and clients: what they may do and still only read."""

import pytest

from midwatch.safety.shell.classify import classify
from midwatch.safety.shell.programs.build import change, collect, program, verb
from midwatch.safety.shell.programs.model import Program
from midwatch.safety.shell.programs.registry import FAMILIES, find_program, load_family
from midwatch.safety.shell.verdict import Category, Intent
from tests.safety.requirements import requirement

WRAPPED_READS = [
    "env LC_ALL=C ls", "env -i ls", "env -u FOO ls", "timeout 5 ls", "timeout -s KILL -k 3 5m ls", "nice ls",
    "nice -n 10 ls", "nice -10 ls", "ionice -c 3 ls", "nohup ls", "stdbuf -oL ls", "stdbuf -o L grep x f",
    "setsid ls", "time ls", "time -p ls", "command ls", "command -v rm", "exec ls", "xargs cat",
    "xargs -0 -n 1 grep x", "xargs -I{} cat {}", "find . -exec cat {} +", "find . -execdir wc -l {} \\;",
    "bash -c 'ls; cat f'", "bash -ec 'ls'", "bash -o pipefail -c 'ls | cat'", "sh -c 'ls'", "busybox ls",
    "chroot /mnt ls", "nsenter -t 1 -m ls", "docker exec web ls", "kubectl exec web -- cat f",
    "timeout 5 env LC_ALL=C nice ls", "ssh host ls", "ssh -p 22 -o ConnectTimeout=5 u@host 'ls -l'", "taskset -p 1",
    "taskset -c 0 ls", "builtin echo a", "zsh -c 'ls -l'", "env", "nice", "xargs", "timeout 5", "ionice -p 1",
    "exec",
]  # fmt: skip
WRAPPED_WRITES = [
    "env rm f", "env -i rm f", "env A=b rm f", "env -u A rm f", "env -S'rm f'", "env --split-string='rm f'",
    "env -C / rm f", "timeout 5 rm f", "timeout -s KILL 5 rm f", "timeout --foo 5 ls", "nice -n 10 rm f",
    "nice -10 rm f", "ionice -c 3 rm f", "ionice -c 3 -p 1", "nohup rm f", "stdbuf -oL rm f", "setsid rm f",
    "time rm f", "time -o f ls", "/usr/bin/time -o f ls", "command rm f", "command -p rm f", "exec rm f",
    "exec -a ls rm f", "xargs rm", "xargs -0 rm", "xargs -n 1 -I{} rm {}", "xargs -I ls ls f", "xargs sh -c 'rm $1'",
    "xargs -I{} sh -c 'cat {}'", "xargs -p ls", "xargs --arg-file=f rm", "xargs -a f -o ls", "find . -exec rm {} ;",
    "find . -exec rm {} +", "find . -execdir rm {} \\;", "find . -ok ls \\;", "find . -exec sh -c 'rm {}' \\;",
    "find . -exec uniq {} +", "find . -exec {} \\;", "watch rm f", "watch -x rm f", "sh -c 'rm f'",
    "bash -c 'ls; rm f'", "bash f", "bash", "bash -s", "bash -i -c ls", 'bash -c "$x"', 'sh -c "ls $x"',
    "bash --rcfile f -c ls", "bash --init-file f -c ls", "busybox rm f", "busybox sh -c 'rm f'", "chroot /mnt rm f",
    "chroot /mnt", "nsenter -t 1 -m", "nsenter -t 1 rm f", "docker exec web rm f", "docker exec web",
    "docker run web ls", "kubectl exec web -- rm f", "kubectl exec web -- sh -c 'rm f'", "ssh host rm f", "ssh host",
    "ssh -o ProxyCommand=x host ls", "ssh -oProxyCommand=x host ls", "ssh -F f host ls", "ssh -L 1:a:2 host ls",
    "ssh host -o ProxyCommand=x ls", "ssh $host ls", 'ssh host "$x"', "ssh host 'ls > f'", "ssh -A host ls",
    "zsh -c 'ls *(e:rm:)'", "zsh -c 'ls $x'", "ksh -c '[ a[1] -eq 0 ]'", "taskset -p 1 2", "taskset -c 0 rm f",
    "timeout 5 env nice rm f", "builtin eval rm", "unbuffer rm f",
]  # fmt: skip
PRIVILEGED = [
    "sudo ls",
    "sudo -n ls",
    "doas ls",
    "su -c ls",
    "su - root -c 'ls'",
    "pkexec ls",
    "runuser -u x ls",
    "env sudo ls",
    "command sudo ls",
    "\\sudo ls",
    "/usr/bin/sudo ls",
    "xargs sudo ls",
    "timeout 5 sudo ls",
    "ls | sudo cat",
    "find . -exec sudo ls \\;",
    "ssh host sudo ls",
    "sudo -l",
    "$(sudo ls)",
]
REMOTE = [
    "ssh host ls",
    "docker exec web ls",
    "kubectl exec web -- ls",
    "sh -c ls",
    "dash -c ls",
    "zsh -c ls",
    "busybox ls",
    "chroot /mnt ls",
    "nsenter -t 1 -m ls",
]
INTERPRETERS = [
    "python -c 'print(1)'",
    "python3 f.py",
    "perl -e 1",
    "ruby -e 1",
    "node -e 1",
    "php -r 1",
    "lua -e 1",
    "python3 -m http.server",
    "python3 -",
    "perl -ne 1 f",
    "node f",
    "java -jar f",
    "go run f",
    "osascript -e 1",
    "pwsh -c ls",
    "tclsh f",
    "expect -c 1",
    "deno run f",
    "python3 -m json.tool a b",
    "awk -f f g",
]
LANGUAGE_READS = [
    "find . -type f -name '*.log' -size +1M -mtime -7 -printf '%p\\n'", "find / -maxdepth 2 -perm 644 -ls",
    "find . \\( -name a -o -name b \\) -print", "find . ! -name a -prune", "find /var/log -newer f -empty",
    "find . -name *.log", "sed -n 1,5p f", "sed -n '/a/,/b/p' f", "sed 's/a/b/g' f", "sed -e 1d -e '$d' f",
    "sed -E 's/(a|b)/\\1/' f", "sed '/^#/d;/^$/d' f", "sed -n '$=' f", "sed '1~2d' f", "sed 's|/a|/b|' f",
    "sed '$!N;s/\\n/ /' f", "sed -n 'x;p;x' f", "sed '1i\\\nheader' f", "sed 10q f", "sed -n '2{p;q}' f",
    "sed '/a/!d' f", "sed 'y/abc/xyz/' f", "sed ':a;N;$!ba;s/\\n/,/g' f", "sed 's/[/]/x/' f # no",
    "awk '{print $1}' f", "awk -F: '{print $1,$NF}' /etc/passwd", "awk '$3 > 80' f",
    "awk 'NR==1 || /x|y/ {print}' f", "awk '{s+=$1} END {print s/NR}' f",
    "awk 'BEGIN {FS=\":\"} {printf \"%s\\n\", $1}' f", "awk -v n=5 'NR<=n' f",
    "awk '{ if ($1 > 5) { print $2 } else { print $3 } }' f", "awk '!seen[$0]++' f", "awk '{print ($1 > 2)}' f",
    "awk '{print | \"cat\"}' f # no", "jq . f", "jq -r '.a[] | .b' f", "jq -c --arg x y '.a == $x' f",
    "jq '.a > 5' f", "yq '.a.b' f", "yq -r .a f",
]  # fmt: skip
LANGUAGE_WRITES = [
    "find . -delete", "find . -fprint f", "find . -fprint0 f", "find . -fls f", "find . -fprintf f %p",
    "find . -name a -delete", "find . -okdir ls \\;", "find . -unknown", "find . -name *", "find -files0-from f",
    "find . -exec", "sed -i s/a/b/ f", "sed -i.bak s/a/b/ f", "sed -ni p f", "sed --in-place s/a/b/ f",
    "sed -n 'w f' g", "sed 's/a/b/w f' g", "sed 's/a/b/gw f' g", "sed '1w f' g", "sed 's/a/rm f/e' g",
    "sed '1e rm f' g", "sed e g", "sed 's/a/b/e' g", "sed -f s g", "sed -e p -e 'w f' g", "sed 'p;w f' g",
    "sed '{w f\n}' g", "sed 's/a/b/;e' g", "sed '/a/w f' g", 'sed "$x" f', "sed 's/a/b/ w f' g", "sed 'W f' g",
    "sed 's/[/]/w f/' g", "sed '\\aXaw f' g", "sed '1!w f' g", "sed -n '/x/{s/a/b/w f\n}' g",
    "sed 'a\\\ntext\nw f' g", "sed -s -i p f", "sed -n -e 'p' --expression='w f' g", "sed 'b;w f' g",
    "sed y/a/b/w f", "sed '1,2w f' g", "sed 's/a/b/mw f' g", "awk 'BEGIN {system(\"rm f\")}'",
    "awk '{print > \"f\"}' g", "awk '{print >> \"f\"}' g", "awk '{print | \"sh\"}' g",
    "awk '{\"rm f\" | getline}' g", "awk '{print |& \"sh\"}' g", "awk '{print $1,\n$2 > \"f\"}' g",
    "awk '{print ($1) > $2}' g", "awk 'BEGIN{while((\"ls\"|getline x)>0) print x}'", "awk -f p g",
    "awk -i inplace '{print}' g", 'awk "$x" f', "awk '@load \"x\"; {print}' g",
    "awk 'BEGIN{f=\"system\"; @f(\"rm\")}'", "awk '{printf(\"a\") > \"f\"}' g",
    "awk 'BEGIN{print \"a\" > \"/inet/tcp/0/h/1\"}'", "awk '{print \"x\" \"y\" > \"f\"}' g",
    "awk 'BEGIN { printf \"a\" | \"sh\" }'", "awk '/a/{print > $1}' g", "awk 'BEGIN{sys\\\ntem(\"rm\")}'",
    "awk '{ getline x < $1 }' g", "awk '{print > \"/dev/stderr\" \"x\"}' g", "awk -E p", "gawk --load=x '{print}' g",
    "gawk -l x '{print}'", "awk '{print 1/2 > \"f/\"}' g", "awk 'BEGIN { system (\"rm\") }'", "jq -i . f", "jq $x f",
    "yq -i .a=1 f", "yq --inplace .a=1 f", "yq eval -i .a f",
]  # fmt: skip
OPTION_WRITES = [
    "sort -o f g",
    "sort -of g",
    "sort --output=f g",
    "sort -uo f g",
    "sort --compress-program=rm f",
    "sort -T /tmp f",
    "uniq a b",
    "xxd a b",
    "tar xf f",
    "tar -cf f g",
    "tar cf f g",
    "tar tf f --to-command=rm",
    "tar -tf f -I rm",
    "tar tf h:f",
    "tar tf f --checkpoint-action=exec=rm",
    "tar --list --file f --use-compress-program rm",
    "git log --output=f",
    "git diff --ext-diff",
    "git grep -O x",
    "git branch a",
    "git tag a",
    "git branch -D a",
    "git stash",
    "git config a b",
    "git remote add a b",
    "git log -p --output f",
    "git reflog expire",
    "git -p log",
    "journalctl --vacuum-size=1M",
    "journalctl --rotate",
    "journalctl --flush",
    "journalctl --cursor-file=f",
    "systemctl --now status a",
    "systemctl set-property a b",
    "gzip f",
    "gzip -d f",
    "xz -t -d f",
    "unzip f",
    "zstd f -o g",
    "unzip -o f",
    "7z x f",
    "history -c",
    "kill 1",
    "set -o history -a",
]
FOREIGN = [
    "git -c a=b log",
    "git --exec-path=/tmp log",
    "git --git-dir=/tmp log",
    "git --config-env=a=b log",
    "systemctl -H host status a",
    "systemctl -M m status a",
    "journalctl --root=/ -n 1",
    "kubectl --kubeconfig f get pods",
    "docker -H tcp://h ps",
    "mysql --defaults-extra-file=f -e 'select 1'",
    "mysql --plugin-dir=d -e 'select 1'",
    "curl --config f http://h",
    "curl --proxy p http://h",
    "sqlite3 -vfs x db 'select 1'",
    "redis-cli -u redis://h info",
    "ssh -F f host ls",
]


def each(commands: list[str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("command", commands)


@requirement("shell:wrappers")
@each(WRAPPED_READS)
def test_a_wrapped_reading_command_is_reading(command: str) -> None:
    assert classify(command).kind == "read", classify(command).rule


@requirement("shell:wrappers")
@each(WRAPPED_WRITES)
def test_a_wrapped_writing_command_is_a_write(command: str) -> None:
    assert classify(command).kind == "write"


@requirement("shell:privilege")
@each(PRIVILEGED)
def test_nothing_with_anothers_rights_is_reading(command: str) -> None:
    assert classify(command).kind == "write"


@requirement("shell:remote-conditional")
@each(REMOTE)
def test_what_runs_elsewhere_is_never_certain(command: str) -> None:
    assert classify(command).intent is Intent.CONDITIONAL


@requirement("shell:interpreters")
@each(INTERPRETERS)
def test_code_in_other_languages_is_a_write(command: str) -> None:
    assert classify(command).kind == "write"


@requirement("shell:own-languages")
@each([command for command in LANGUAGE_READS if not command.endswith("# no")])
def test_scripts_that_only_look_are_reading(command: str) -> None:
    assert classify(command).kind == "read", classify(command).rule


@requirement("shell:own-languages")
@each(LANGUAGE_WRITES)
def test_scripts_that_write_or_run_are_writes(command: str) -> None:
    assert classify(command).kind == "write"


@requirement("shell:writing-options")
@each(OPTION_WRITES)
def test_a_reading_program_with_a_writing_option_is_a_write(command: str) -> None:
    assert classify(command).kind == "write"


@requirement("shell:foreign-options")
@each(FOREIGN)
def test_options_that_name_other_configurations_or_servers_are_writes(command: str) -> None:
    assert classify(command).kind == "write"


@requirement("shell:bounds")
@pytest.mark.parametrize(
    ("command", "category"),
    [
        ("while true; do ls; done", Category.STREAM), ("while read x; do echo $x; done < f", None),
        ("sleep 5", None), ("sleep infinity", Category.STREAM), ("timeout 5 watch ls", None),
        ("timeout 0 watch ls", Category.STREAM), ("redis-cli monitor", Category.STREAM),
        ("ssh -t host ls", Category.REPL), ("tail --follow=name f", Category.STREAM), ("tail -5f f", None),
        ("until false; do ls; done", Category.STREAM),
    ],
)  # fmt: skip
def test_whether_a_command_ends_follows_from_what_it_means(command: str, category: Category | None) -> None:
    assert classify(command).endless is category


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_describes_exactly_the_programs_it_is_registered_for(family: str) -> None:
    assert set(load_family(family)) == set(FAMILIES[family].split())


def test_no_program_is_registered_twice_and_an_unknown_one_is_not_found() -> None:
    names = [name for text in FAMILIES.values() for name in text.split()]
    assert len(names) == len(set(names))
    assert find_program("frobnicate") is None


def test_a_model_that_contradicts_itself_is_not_built() -> None:
    with pytest.raises(ValueError, match="twice"):
        verb(flags="-a", values="-a")
    with pytest.raises(ValueError, match="no option"):
        verb(flags="a")
    with pytest.raises(ValueError, match="not among"):
        verb(flags="-a", bounds="-b")
    with pytest.raises(ValueError, match="described twice"):
        collect(program("a"), ("a", change()))
    assert isinstance(verb(digits=True, bounds="-NUM"), Program)
