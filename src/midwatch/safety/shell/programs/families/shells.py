"""Shells, remote shells and interpreters: a shell's text is judged by itself, any other language is beyond us."""

import re

from midwatch.safety.shell.programs.answers import changes, reads
from midwatch.safety.shell.programs.arguments import read_arguments
from midwatch.safety.shell.programs.build import collect, verb
from midwatch.safety.shell.programs.destinations import host_of
from midwatch.safety.shell.programs.model import Judgement, Nested
from midwatch.safety.shell.verdict import Category, Risk
from midwatch.safety.shell.words import Word

_SHORT = re.compile(r"-[eufxlv]*c[eufxlv]*")
_BEFORE = re.compile(r"-[eufxlv]+|--norc|--noprofile|--posix|--login|--noediting")
_SIMPLE = re.compile(r"[A-Za-z0-9 _./:,@%+|;&\"'-]*")
"""Text that means the same in every shell."""
_SETTINGS = frozenset({"pipefail", "errexit", "nounset", "xtrace"})


def _shell(name: str, words: tuple[Word, ...]) -> Judgement:
    """Only `-c TEXT`; a script, standard input or a prompt could be anything."""
    rest = list(words)
    while rest and rest[0].known and rest[0].text in {"--version", "--help"}:
        return reads(name)
    login = False
    while rest and rest[0].known:
        option = rest[0].text
        if _SHORT.fullmatch(option):
            return _run_text(name, rest[1:], login=login or "l" in option)
        if option == "-o" and len(rest) > 1 and rest[1].text in _SETTINGS:
            rest = rest[2:]
        elif _BEFORE.fullmatch(option):
            login = login or option == "--login" or (not option.startswith("--") and "l" in option)
            rest = rest[1:]
        else:
            break
    endless = None if rest else Category.REPL
    return changes("shell:unseen-code", name, risk=Risk.HIGH, endless=endless)


def _run_text(name: str, rest: list[Word], *, login: bool) -> Judgement:
    if not rest:
        return reads(name)
    text = rest[0]
    bash = name == "bash"
    if name not in {"bash", "sh", "dash", "ash"} and not (text.known and _SIMPLE.fullmatch(text.text)):
        return changes("shell:foreign", name)
    return reads(name, nested=(Nested((text,), text=True, conditional=not bash or login, bash=bash),))


_SSH = verb(
    flags="-4 -6 -C -n -q -T -v -x -a -k -t -V",
    values="-p -l -o -c -m -b -B -J -e",
    paths="-i",
    writes="-A -D -E -f -F -g -G -I -K -L -M -N -O -P -Q -R -S -s -W -w -X -Y -y",
    style="stop",
    tty="-t",
    operands="text shell",
    names_only=True,
)
_SSH_SETTINGS = re.compile(
    r"(?:StrictHostKeyChecking|ConnectTimeout|ConnectionAttempts|BatchMode|LogLevel|ServerAliveInterval|ServerAliveCountMax"
    r"|PasswordAuthentication|PreferredAuthentications|User|Port|IdentitiesOnly|AddressFamily|Compression|RequestTTY"
    r"|NumberOfPasswordPrompts|UserKnownHostsFile=/dev/null)(?:[= ][^=]*)?",
    re.IGNORECASE,
)


def _ssh(name: str, words: tuple[Word, ...]) -> Judgement:
    reading = read_arguments(name, _SSH, words)
    settings = [value for value in reading.options.get("-o", ()) if value is not None]
    if any(not (value.known and _SSH_SETTINGS.fullmatch(value.text)) for value in settings):
        return changes("option:foreign", "ssh -o")
    jumps = [value for value in reading.options.get("-J", ()) if value is not None]
    if not reading.operands:
        return reads(name)
    host, *command = reading.operands
    if not host.known or any(not value.known for _, value in reading.values):
        return changes("egress:unknown", name)
    if any(word.text.startswith("-") for word in (host, *command[:1])):
        return changes("option:unknown", f"ssh {host.text}")
    return _enter_host(name, host, command, jumps=jumps, tty=bool(reading.tty))


def _enter_host(name: str, host: Word, command: list[Word], *, jumps: list[Word], tty: bool) -> Judgement:
    egress = tuple(host_of(word.text) for word in (*jumps, host))
    if not command:
        return changes("operands:no-command", f"ssh {host.text}", endless=Category.REPL)
    nested = Nested(tuple(command), text=True, targets=(f"host:{host_of(host.text)}",), conditional=True, bash=False)
    endless = Category.REPL if tty else None
    return reads(name, conditional=True, egress=egress, nested=(nested,), endless=endless)


def _python(name: str, words: tuple[Word, ...]) -> Judgement:
    texts = [word.text if word.known else "" for word in words]
    if texts in (["--version"], ["-V"], ["-VV"], ["--help"], ["-h"]):
        return reads(name)
    if texts[:2] == ["-m", "json.tool"] and len(texts) <= 3 and not any(t.startswith("-") for t in texts[2:]):  # noqa: PLR2004
        return reads(name, conditional=True)
    return _beyond(name, words)


def _beyond(name: str, words: tuple[Word, ...]) -> Judgement:
    return changes("interpreter:code", name, endless=None if words else Category.REPL)


def _other(name: str, words: tuple[Word, ...]) -> Judgement:
    texts = [word.text if word.known else "" for word in words]
    if texts in (["--version"], ["--help"]) or texts in _VERSIONS.get(name, ()):
        return reads(name)
    if name == "go" and texts[:1] == ["env"] and all(_GO_NAME.fullmatch(text) for text in texts[1:]):
        return reads(name)
    return _beyond(name, words)


_GO_NAME = re.compile(r"[A-Z0-9_]+")
_VERSIONS: dict[str, list[list[str]]] = {
    "perl": [["-v"], ["-V"]],
    "ruby": [["-v"]],
    "node": [["-v"]],
    "nodejs": [["-v"]],
    "php": [["-v"], ["-m"], ["-i"], ["--modules"], ["--ini"]],
    "java": [["-version"]],
    "javac": [["-version"]],
    "go": [["version"], ["env"]],
    "lua": [["-v"]],
    "deno": [["-V"]],
    "rustc": [["-V"], ["-vV"]],
    "dotnet": [["--info"], ["--list-sdks"], ["--list-runtimes"]],
    "R": [],
}

_PYTHONS = (
    "python python2 python3 python3.8 python3.9 python3.10 python3.11 python3.12 python3.13 python3.14 pypy pypy3"
)
_OTHERS = (
    "perl ruby irb pry node nodejs deno bun php lua luajit java javac go rustc dotnet R Rscript julia ghci scala"
    " tclsh expect ipython bpython groovy jshell erl iex clj sbcl guile racket ocaml swift osascript pwsh"
    " powershell"
)

PROGRAMS = collect(
    ("sh bash dash ash zsh ksh mksh fish rbash", _shell),
    ("ssh", _ssh),
    (_PYTHONS, _python),
    (_OTHERS, _other),
)
