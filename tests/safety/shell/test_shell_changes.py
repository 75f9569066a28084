"""No change of dress turns a write into a read, and no reading part excuses a writing one."""

import shlex
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from midwatch.safety.shell.classify import classify
from tests.safety.requirements import requirement

WRITES = [
    ["rm", "-rf", "/tmp/x"], ["mv", "a", "b"], ["chmod", "777", "f"], ["kill", "-9", "1"],
    ["systemctl", "restart", "nginx"], ["docker", "rm", "-f", "web"], ["kubectl", "delete", "pod", "web"],
    ["find", ".", "-name", "x", "-delete"], ["sort", "-o", "f", "g"], ["sed", "-i", "s/a/b/", "f"], ["tee", "f"],
    ["dd", "if=a", "of=b"], ["git", "push"], ["curl", "-X", "POST", "http://h"], ["psql", "-c", "drop table t"],
    ["awk", 'BEGIN{system("id")}'], ["python3", "-c", "print(1)"], ["sudo", "ls"],
    ["journalctl", "--vacuum-size=1M"], ["uniq", "a", "b"], ["frobnicate", "now"], ["date", "-s", "now"],
    ["ip", "link", "set", "eth0", "down"], ["tar", "xf", "f"], ["bash", "f"], ["crontab", "-r"],
    ["mount", "/dev/sda", "/mnt"], ["xargs", "rm"], ["env", "rm", "f"], ["nohup", "reboot"],
]  # fmt: skip
READS = ["ls -la", "cat f", "ps aux", "df -h", "echo hi", "grep x f", "true", "head -1 f", "git log", "wc -l f", "date"]

Dress = Callable[[str], str]
AROUND: list[Dress] = [
    lambda text: f"{text}; ls", lambda text: f"ls; {text}", lambda text: f"ls && {text}",
    lambda text: f"ls || {text}", lambda text: f"ls & {text}", lambda text: f"{text} &", lambda text: f"ls\n{text}",
    lambda text: f"{text}\nls", lambda text: f"ls | {text}", lambda text: f"{text} | cat",
    lambda text: f"ls |& {text}", lambda text: f"({text})", lambda text: f"{{ {text}; }}", lambda text: f"! {text}",
    lambda text: f"echo $({text})", lambda text: f'echo "$({text})"', lambda text: f"cat <({text})",
    lambda text: f"x=$({text})", lambda text: f"if {text}; then ls; fi",
    lambda text: f"if ls; then {text}; else ls; fi", lambda text: f"for i in a b; do {text}; done",
    lambda text: f"while read l; do {text}; done < f", lambda text: f"case a in a) {text};; esac",
    lambda text: f"f() {{ {text}; }}; f", lambda text: f"time {text}", lambda text: f"nice {text}",
    lambda text: f"timeout 5 {text}", lambda text: f"env LC_ALL=C {text}", lambda text: f"nohup {text}",
    lambda text: f"LC_ALL=C {text}", lambda text: f"bash -c {shlex.quote(text)}",
    lambda text: f"sh -c {shlex.quote(text)}", lambda text: f"ssh host {shlex.quote(text)}",
    lambda text: f"watch {shlex.quote(text)}", lambda text: f"docker exec web {text}",
    lambda text: f"kubectl exec web -- {text}", lambda text: f"stdbuf -oL {text}",
    lambda text: f"{text} 2>/dev/null", lambda text: f"{text} >/dev/null 2>&1", lambda text: f"{text} # ls",
    lambda text: f"  {text}  ", lambda text: f"cat <<EOF\n$({text})\nEOF", lambda text: f"ls; # x\n{text}",
    lambda text: f"[ -f x ] && {text}", lambda text: f"[[ -n a ]] && {text}", lambda text: f"command {text}",
    lambda text: f"ls {'x ' * 20}; {text}", lambda text: f"ls \\\n -l; {text}",
    lambda text: f"until {text}; do ls; done", lambda text: f"echo ${{x:-$({text})}}", lambda text: f"a=($({text}))",
    lambda text: f"cat <<< $({text})", lambda text: f"nsenter -t 1 -m {text}", lambda text: f"busybox {text}",
    lambda text: f"setsid {text}", lambda text: f"exec {text}",
]  # fmt: skip


def in_single(word: str) -> str:
    return shlex.quote(word) if "'" in word else f"'{word}'"


def in_double(word: str) -> str:
    return '"' + "".join(f"\\{sign}" if sign in '"\\$`' else sign for sign in word) + '"'


def escaped(word: str) -> str:
    return "".join(f"\\{sign}" if sign.isascii() and sign != "\n" else sign for sign in word)


def in_codes(word: str) -> str:
    return "$'" + "".join(f"\\x{ord(sign):02x}" for sign in word) + "'"


def split_in_two(word: str) -> str:
    middle = len(word) // 2
    return f"{in_single(word[:middle])}{in_double(word[middle:])}"


def with_empty(word: str) -> str:
    return f"''{in_double(word)}\"\""


WRITINGS: list[Dress] = [shlex.quote, in_single, in_double, escaped, in_codes, split_in_two, with_empty]
BLANKS = [" ", "  ", "\t", " \\\n", " \t "]


@st.composite
def written(draw: st.DrawFn) -> str:
    """A writing command with every word dressed up in some way."""
    words = draw(st.sampled_from(WRITES))
    parts = [draw(st.sampled_from(WRITINGS))(word) for word in words]
    text = parts[0]
    for part in parts[1:]:
        text += draw(st.sampled_from(BLANKS)) + part
    return text


@st.composite
def wrapped(draw: st.DrawFn) -> str:
    text = draw(written())
    for dress in draw(st.lists(st.sampled_from(AROUND), max_size=4)):
        text = dress(text)
    return text


@requirement("shell:metamorphic", "shell:quoting")
@settings(max_examples=400, deadline=None)
@given(written())
def test_a_writing_command_stays_one_however_its_words_are_written(command: str) -> None:
    assert not classify(command).reads


@requirement("shell:metamorphic", "shell:every-command")
@settings(max_examples=600, deadline=None)
@given(wrapped())
def test_no_construct_built_around_a_writing_part_is_read(command: str) -> None:
    assert not classify(command).reads


@requirement("shell:metamorphic")
@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from(READS), max_size=4),
    wrapped(),
    st.lists(st.sampled_from(READS), max_size=4),
    st.sampled_from(["; ", " && ", "\n", " & ", " | ", " || "]),
)
def test_no_number_of_reading_commands_outweighs_one_that_writes(
    before: list[str], write: str, after: list[str], between: str
) -> None:
    assert not classify(between.join([*before, write, *after])).reads


@requirement("shell:metamorphic")
@settings(max_examples=300, deadline=None)
@given(st.sampled_from(READS), st.sampled_from([shlex.quote, in_single, in_double, escaped]), st.sampled_from(BLANKS))
def test_a_reading_command_is_known_however_its_words_are_written(command: str, writing: Dress, blank: str) -> None:
    assert classify(blank.join(map(writing, shlex.split(command)))).reads


PLAIN_WORDS = [
    "ls", "rm", "cat", "-l", "-o", "f", "a=b", "sort", "if", "then", "fi", "time", "export", "x=1", "%s", "+x",
    "--a=b", "sudo", "for", "in", "do", "done", "a,b", "nice", "timeout", "5", "git", "log", "'a b'", '"c;d"',
    "x'y'", "2>/dev/null", ">/dev/null", "2>&1", "{}", "\\\\;", "*", "a*", "find", "-exec", "~/x", "?", "''", '"',
    "2>/dev/nullx", "&>/dev/null", "{}x", "1", "2",
]  # fmt: skip


@requirement("shell:one-verdict")
@settings(max_examples=500, deadline=None)
@given(
    st.lists(st.sampled_from([*PLAIN_WORDS, "|", "&&", "||", ";"]), min_size=1, max_size=8),
    st.sampled_from([" ", "  "]),
)
def test_plain_words_are_judged_alike_with_and_without_a_tree(words: list[str], blank: str) -> None:
    text = blank.join(words)
    with_tree = classify(f"{text}\n")
    assert (classify(text).intent, classify(text).risk) == (with_tree.intent, with_tree.risk)


@requirement("shell:one-verdict")
@settings(max_examples=500, deadline=None)
@given(st.text(max_size=60) | st.text("lsrm -;|&<>()$`'\"\\\n{}[]=*#!x", max_size=40))
def test_any_text_gets_a_verdict(command: str) -> None:
    assert classify(command).kind in {"read", "write"}
