"""What the shell itself offers: harmless to the world unless it evaluates text or sets what others look at."""

import re
from itertools import pairwise

from midwatch.safety.shell.assignments import sets_variable_safely
from midwatch.safety.shell.programs.answers import changes, reads
from midwatch.safety.shell.programs.build import change, collect, program
from midwatch.safety.shell.programs.model import Call, Judgement
from midwatch.safety.shell.verdict import Category, Finding, Intent, Phase, Risk, read_finding, write_finding
from midwatch.safety.shell.words import Word, names

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OWN = change(risk=Risk.LOW)
_SAFE_SETTINGS = re.compile(r"[-+][eufxvC]*o?|pipefail|errexit|nounset|noglob|xtrace|noclobber|verbose")
_OPERATORS = names("= == != < > -eq -ne -lt -le -gt -ge -nt -ot -ef -a -o )")
_SLEEP = re.compile(r"[0-9]*\.?[0-9]+[smhd]?")


def _say(name: str, words: tuple[Word, ...]) -> Judgement:
    del words
    return reads(name)


def _printf(name: str, words: tuple[Word, ...]) -> Judgement:
    """`-v` assigns, and the name it assigns to may hold a command."""
    first = words[0] if words else Word("")
    if first.text.startswith("-v") or not first.starts_known:
        return changes("builtin:assigns", "printf -v")
    return reads(name)


def _test(name: str, words: tuple[Word, ...]) -> Judgement:
    """`-v` evaluates the index of an array. A word that may be `-v` counts as such where an operator can stand."""
    operands = words[:-1] if name == "[" else words
    evaluated = any(word.text in {"-v", "-R"} or word.splits for word in operands)
    if evaluated or any(not word.starts_known and after.text not in _OPERATORS for word, after in pairwise(operands)):
        return changes("test:evaluates", name)
    return reads(name)


def _read(call: Call) -> Finding | None:
    words = [*call.operands, *call.values("-a")]
    if all(word.known and _IDENTIFIER.fullmatch(word.text) and sets_variable_safely(word.text) for word in words):
        return None
    return write_finding("builtin:assigns", part="read")


def _set(name: str, words: tuple[Word, ...]) -> Judgement:
    if not words:
        return reads(name, sensitive=("an environment",))
    if all(word.known and _SAFE_SETTINGS.fullmatch(word.text) for word in words):
        return reads(name)
    return changes("builtin:settings", name, risk=Risk.LOW)


def _sleep(name: str, words: tuple[Word, ...]) -> Judgement:
    ends = all(word.known and _SLEEP.fullmatch(word.text) for word in words)
    return reads(name, endless=None if ends else Category.STREAM)


def _kill(name: str, words: tuple[Word, ...]) -> Judgement:
    texts = [word.text if word.known else "" for word in words]
    if texts[:1] in (["-l"], ["-L"], ["--list"]):
        return reads(name)
    if len(texts) > 1 and texts[0] == "-0" and all(text.isdecimal() for text in texts[1:]):
        return reads(name)
    return changes("program:writes", name, risk=Risk.HIGH)


def _limits(name: str, words: tuple[Word, ...]) -> Judgement:
    """Options ask; a value sets."""
    if all(word.known and re.fullmatch(r"-[SHabcdefiklmnpqrstuvxPRT]+|--all", word.text) for word in words):
        return reads(name)
    return changes("builtin:settings", name, risk=Risk.LOW)


def _history(call: Call) -> Finding | None:
    del call
    return Finding(Intent.CERTAIN, "read:history", Phase.READ, part="history", sensitive=("shell history",))


def _hash(call: Call) -> Finding | None:
    return None if call.has("-t") or not call.operands else read_finding("read:hash", part="hash")


PROGRAMS = collect(
    ("echo true false :", _say),
    ("exit return break continue", _say),
    ("printf", _printf),
    ("test [", _test),
    ("set", _set),
    ("sleep", _sleep),
    ("kill", _kill),
    ("ulimit", _limits),
    ("umask", _limits),
    program("pwd", flags="-L -P --logical --physical --help --version", inert=True),
    program("cd", flags="-L -P -e -@", operands="text", inert=True, names_only=True),
    program("pushd popd dirs", flags="-n -c -l -p -v", operands="text", digits=True, inert=True),
    program("type", flags="-a -f -P -p -t", operands="text*", inert=True),
    program("hash", flags="-l -t", operands="text*", check=_hash, risk=Risk.LOW),
    program("help", flags="-d -m -s", operands="text*", inert=True),
    program("history", operands="number", check=_history, risk=Risk.LOW),
    program("alias", flags="-p", risk=Risk.LOW),
    program("shopt", flags="-p -q -o", operands="text*", risk=Risk.LOW),
    program("jobs", flags="-l -n -p -r -s", operands="text*", risk=Risk.LOW),
    program("times logname"),
    program("wait", flags="-n -f", operands="number*", inert=True),
    program("shift", operands="number"),
    program("read", flags="-r -s", values="-d -n -N -p -t -u -a", operands="text*", check=_read),
    ("unalias getopts fg bg disown suspend logout mapfile readarray", _OWN),
    ("let eval", change()),
    ("enable bind complete compgen compopt caller fc", change()),
)
