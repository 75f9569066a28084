"""sed: its scripts are read command by command, since some of them write files or run programs."""

import re
from collections.abc import Callable
from dataclasses import replace

from midwatch.safety.shell.programs.answers import changes, reads, secrets_in
from midwatch.safety.shell.programs.arguments import Reading, read_arguments
from midwatch.safety.shell.programs.build import collect, verb
from midwatch.safety.shell.programs.model import Judgement
from midwatch.safety.shell.words import Word

_SED = verb(
    flags="-n --quiet --silent -E -r --regexp-extended -s --separate -u --unbuffered -z --null-data --debug --posix"
    " --sandbox --help --version",
    values="-e --expression -l --line-length",
    writes="-i --in-place -I",
    foreign="-f --file --follow-symlinks",
    operands="text path*",
    operands_with={"-e --expression": "path*"},
)
_STRICT = replace(_SED, style="stop")
_ADDRESS = re.compile(r"\s*(?:\$|[0-9]+(?:~[0-9]+)?)")
_AFTER_ADDRESS = re.compile(r"\s*!?\s*")
_STEP = re.compile(r"\s*,\s*(?:[+~][0-9]+)?")
_ALONE = frozenset("=dDgGhHxnNpPzF{}l")
_FLAGS = re.compile(r"[gpiImM0-9]*")
_END = re.compile(r"[ \t]*(?:[;\n]|\Z|(?=[}#]))")


def _sed(name: str, words: tuple[Word, ...]) -> Judgement:
    """Some versions read options behind operands and some do not, so that one's file is the other's script."""
    scripts, files = _split(read_arguments(name, _SED, words))
    others, _ = _split(read_arguments(name, _STRICT, words))
    for found in (scripts, others):
        if any(not script.known for script in found):
            return changes("expansion:code", "sed")
        refusal = inspect_script("\n".join(script.text for script in found))
        if refusal:
            return changes(refusal, "sed")
    return reads(name, sensitive=secrets_in(files))


def _split(reading: Reading) -> tuple[list[Word], list[Word]]:
    scripts = [value for key in ("-e", "--expression") for value in reading.options.get(key, ()) if value is not None]
    return (scripts, reading.operands) if scripts else (reading.operands[:1], reading.operands[1:])


def inspect_script(script: str) -> str | None:
    """The rule that makes it a write, or None when every command only edits what flows through."""
    at = 0
    while at < len(script):
        if script[at] in " \t\n;":
            at += 1
            continue
        found = _skip_addresses(script, at)
        if found is None or found >= len(script):
            return "sed:unread"
        after = _skip_command(script, found)
        if after is None:
            return "sed:command"
        at = after
    return None


def _skip_addresses(script: str, at: int) -> int | None:
    first = _skip_address(script, at)
    if first is None:
        return None
    if first != at and (step := _STEP.match(script, first)):
        second = step.end()
        if step[0].rstrip()[-1:] == ",":
            last = _skip_address(script, second)
            if last is None or last == second:
                return None
            second = last
        first = second
    bang = _AFTER_ADDRESS.match(script, first)
    return bang.end() if bang else first


def _skip_address(script: str, at: int) -> int | None:
    """Behind one address; `at` itself when there is none; None when it cannot be read."""
    if match := _ADDRESS.match(script, at):
        return match.end()
    if script[at : at + 1] == "/":
        end = _skip_until(script, at + 1, "/")
    elif script[at : at + 1] == "\\" and at + 1 < len(script):
        end = _skip_until(script, at + 2, script[at + 1])
    else:
        return at
    if end is None:
        return None
    while script[end : end + 1] in {"I", "M"}:
        end += 1
    return end


def _skip_until(script: str, at: int, delimiter: str) -> int | None:
    """Behind the next delimiter that is neither escaped nor in brackets. A newline is nobody's everyday delimiter."""
    bracket = False
    while at < len(script):
        sign = script[at]
        if sign == "\n":
            return None
        if sign == "\\":
            at += 2
            continue
        if sign == delimiter:
            # Whether brackets protect the delimiter differs between versions.
            return None if bracket else at + 1
        if sign == "[" and not bracket:
            bracket = True
            at += _opening_of_bracket(script, at)
            continue
        if bracket and script[at : at + 2] in {"[:", "[.", "[="}:
            at = script.find(script[at + 1] + "]", at + 2)
            if at < 0:
                return None
            at += 2
            continue
        bracket = bracket and sign != "]"
        at += 1
    return None


def _opening_of_bracket(script: str, at: int) -> int:
    """`]` right behind the opening belongs to the set."""
    length = 1 + (script[at + 1 : at + 2] == "^")
    return length + (script[at + length : at + length + 1] == "]")


def _skip_command(script: str, at: int) -> int | None:
    """Behind the command at this place, or None when it is not one of those that only edit."""
    sign, after = script[at], at + 1
    if sign in _ALONE:
        return _skip_alone(script, after, sign)
    if sign in _ARGUMENTS:
        match = _ARGUMENTS[sign].match(script, after)
        return _skip_end(script, match.end() if match else after)
    skip = _SKIPS.get(sign)
    return skip(script, after) if skip else None


def _skip_alone(script: str, at: int, sign: str) -> int | None:
    if sign == "{":
        return at
    if sign == "l":
        while script[at : at + 1].isdigit():
            at += 1
    return _skip_end(script, at)


def _skip_end(script: str, at: int) -> int | None:
    match = _END.match(script, at)
    return match.end() if match else None


def _skip_substitute(script: str, at: int) -> int | None:
    """The flags `w` and `e` write and run; they are not among those allowed."""
    end = _skip_pair(script, at)
    if end is None:
        return None
    match = _FLAGS.match(script, end)
    return _skip_end(script, match.end() if match else end)


def _skip_translate(script: str, at: int) -> int | None:
    end = _skip_pair(script, at)
    return None if end is None else _skip_end(script, end)


def _skip_pair(script: str, at: int) -> int | None:
    delimiter = script[at : at + 1]
    if not delimiter or delimiter.isalnum() or delimiter in "\\\n; ":
        return None
    middle = _skip_until(script, at + 1, delimiter)
    return None if middle is None else _skip_replacement(script, middle, delimiter)


def _skip_replacement(script: str, at: int, delimiter: str) -> int | None:
    while at < len(script):
        if script[at] == "\\":
            at += 2
            continue
        if script[at] == delimiter:
            return at + 1
        if script[at] == "\n":
            return None
        at += 1
    return None


def _skip_text(script: str, at: int) -> int | None:
    """Text to add runs to the end of the line; a backslash at its end is more than we read."""
    end = script.find("\n", at)
    end = len(script) if end < 0 else end
    line = script[at:end]
    if line.endswith("\\"):
        second = script.find("\n", end + 1)
        second = len(script) if second < 0 else second
        return None if script[end + 1 : second].endswith("\\") or line.strip() != "\\" else second
    return end


def _skip_comment(script: str, at: int) -> int:
    end = script.find("\n", at)
    return len(script) if end < 0 else end


_ARGUMENTS = {
    **dict.fromkeys("qQ", re.compile(r"\s*[0-9]*")),
    **dict.fromkeys(":btT", re.compile(r"[^;\n}]*")),
}
_SKIPS: dict[str, Callable[[str, int], int | None]] = {
    "s": _skip_substitute,
    "y": _skip_translate,
    **dict.fromkeys("aic", _skip_text),
    "#": _skip_comment,
}

PROGRAMS = collect(("sed gsed", _sed))
