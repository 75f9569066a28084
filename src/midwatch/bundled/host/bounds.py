"""How much the server says and how long it looks, and text from the machine made fit to show."""

import re

MAX_CHARACTERS = 12_000
"""Of one answer, as JSON."""
SAMPLE_SECONDS = 0.5
"""How long processors and processes are watched in order to say how busy they are."""

_ESCAPE_SEQUENCES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_INVISIBLE = "\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff"
_NOT_IN_MESSAGES = re.compile(f"[{_INVISIBLE}]")
_NOT_IN_NAMES = re.compile(f"[\t\n{_INVISIBLE}]")


def show_name(text: str, limit: int) -> str:
    """One line: whatever could move a cursor, turn the writing or is no character at all becomes U+FFFD."""
    return clip(_NOT_IN_NAMES.sub("\ufffd", text[: limit + 1]), limit)


def show_message(text: str, limit: int) -> str:
    """Like a name, but lines and tabs may stay, and colours go without a trace."""
    plain = _ESCAPE_SEQUENCES.sub("", text[: 4 * limit]).replace("\r\n", "\n")
    return clip(_NOT_IN_MESSAGES.sub("\ufffd", plain), limit)


def clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def percent(part: float, whole: float) -> float:
    return round(100 * part / whole, 1) if whole else 0.0
