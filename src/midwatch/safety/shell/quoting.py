"""Quote and escape removal, and brace expansion, as bash does them."""

import re
from itertools import product

from midwatch.safety.shell.refusal import Beyond

OPEN, CLOSE, COMMA = "\ue000", "\ue001", "\ue002"
"""Unquoted braces and commas on their way to brace expansion. The source cannot hold these characters."""

_BARE = re.compile(r"(?:[^\s;|&<>()`$\"'\\]|\\[^\n]|\\\n)*", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_GLOB = re.compile(r"[*?\[]")
_QUOTED = re.compile(r"(?:[^\"\\`$]|\\.|\$(?![A-Za-z_0-9{(@*#?$!\[-]))*", re.DOTALL)
_QUOTED_ESCAPE = re.compile(r"\\([$`\"\\]|\n)")
_ANSI = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_ANSI_LETTERS = {"a": 7, "b": 8, "e": 27, "E": 27, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_BRACE = re.compile(f"{OPEN}([^{OPEN}{CLOSE}]*){CLOSE}")
_RANGE = re.compile(r"(-?\d{1,6})\.\.(-?\d{1,6})(?:\.\.(-?\d{1,6}))?|([A-Za-z])\.\.([A-Za-z])")
MOST_WORDS = 512


def remove_from_bare(text: str) -> tuple[str, bool]:
    """An unquoted word with its braces marked, and whether it holds a glob."""
    if not _BARE.fullmatch(text):
        raise Beyond("parse:odd-word", text)
    if "\\" not in text:
        return _mark(text), _GLOB.search(text) is not None
    glob = _GLOB.search(_ESCAPE.sub("", text)) is not None
    parts = _ESCAPE.split(text)
    return "".join(_mark(part) if index % 2 == 0 else part.replace("\n", "") for index, part in enumerate(parts)), glob


def _mark(text: str) -> str:
    return text.replace("{", OPEN).replace("}", CLOSE).replace(",", COMMA)


def unmark(text: str) -> str:
    return text.replace(OPEN, "{").replace(CLOSE, "}").replace(COMMA, ",")


def remove_from_quoted(text: str) -> str:
    """What stands between double quotes."""
    if not _QUOTED.fullmatch(text):
        raise Beyond("parse:odd-string", text)
    if "\\" not in text:
        return text
    return _QUOTED_ESCAPE.sub(lambda match: "" if match[1] == "\n" else match[1], text)


def remove_from_raw(text: str) -> str:
    if len(text) < 2 or text[0] != "'" or text[-1] != "'" or "'" in text[1:-1]:  # noqa: PLR2004 -- two quotes
        raise Beyond("parse:odd-string", text)
    return text[1:-1]


def remove_from_ansi(text: str) -> str:
    """What `$'...'` means."""
    if not text.startswith("$'") or not text.endswith("'"):
        raise Beyond("parse:odd-string", text)
    return _ANSI.sub(_decode_ansi, text[2:-1])


def _decode_ansi(match: re.Match[str]) -> str:
    hexadecimal, short, long, octal, control, other = match.groups()
    if control is not None:
        raise Beyond("guard:control-character", match[0])
    if other is not None:
        return chr(_ANSI_LETTERS[other]) if other in _ANSI_LETTERS else _keep_other(other)
    digits, number_system = (octal, 8) if octal else (hexadecimal or short or long, 16)
    code = int(digits, number_system)
    if code == 0 or code > 0x7E:  # noqa: PLR2004 -- bytes of unfinished characters are nobody's everyday command
        raise Beyond("guard:control-character", match[0])
    return chr(code)


def _keep_other(letter: str) -> str:
    """Bash keeps the backslash before a letter that it does not know."""
    return letter if letter in "\\'\"?" else f"\\{letter}"


def expand_braces(marked: str) -> list[str] | None:
    """The words it becomes, or None when that is more than this understands."""
    if OPEN not in marked:
        return [unmark(marked)]
    pieces = _BRACE.split(marked)
    choices: list[list[str]] = []
    for index, piece in enumerate(pieces):
        found = [piece] if index % 2 == 0 else _choices(piece)
        if found is None:
            return None
        choices.append(found)
    if _has_open_list(pieces[::2]):
        return None
    size = 1
    for found in choices:
        size *= len(found)
    if size > MOST_WORDS:
        return None
    return [unmark("".join(parts)) for parts in product(*choices)]


def _has_open_list(outside: list[str]) -> bool:
    """Nested or unclosed braces, of which only those without a list are plain text."""
    left = "".join(outside)
    return (OPEN in left or CLOSE in left) and (COMMA in left or ".." in left or len(outside) > 1)


def _choices(inner: str) -> list[str] | None:
    if COMMA in inner:
        return inner.split(COMMA)
    match = _RANGE.fullmatch(inner)
    if match is None:
        return [f"{OPEN}{inner}{CLOSE}"] if ".." not in inner else None
    return _letters(match[4], match[5]) if match[4] else _numbers(match)


def _letters(first: str, last: str) -> list[str] | None:
    if first.isupper() != last.isupper():
        return None  # what stands between Z and a are signs with a meaning
    low, high = sorted((ord(first), ord(last)))
    found = [chr(code) for code in range(low, high + 1)]
    return found if first <= last else found[::-1]


def _numbers(match: re.Match[str]) -> list[str] | None:
    first, last, step = int(match[1]), int(match[2]), abs(int(match[3] or 1)) or 1
    if abs(last - first) // step > MOST_WORDS:
        return None
    width = max(len(match[1]), len(match[2])) if "0" in {match[1].lstrip("-")[0], match[2].lstrip("-")[0]} else 0
    numbers = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    return [str(number).zfill(width) for number in numbers]
