"""Guards on the text of a command, before anything is parsed."""

import re

from midwatch.safety.shell.verdict import Finding, Phase, Risk, write_finding

LONGEST = 32 * 1024
"""Characters. What is longer is no command that a person would read."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
# Everything that is invisible, steers the direction of text, looks like a blank without being one, or is not a
# character at all; our own placeholders are among them.
_DECEPTIVE = re.compile(
    "[\x80-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164"
    "\ud800-\udfff\ue000-\uf8ff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\U0001d173-\U0001d17a\U000e0000-\U0010ffff]"
)


def guard_text(command: str) -> Finding | None:
    """A finding when the text itself is reason enough to refuse."""
    if len(command) > LONGEST:
        return _refuse("guard:too-long")
    if _CONTROL.search(command):
        return _refuse("guard:control-character")
    if not command.isascii() and _DECEPTIVE.search(command):
        return _refuse("guard:deceptive-character")
    return None


def _refuse(rule: str) -> Finding:
    return write_finding(rule, phase=Phase.GUARD, risk=Risk.HIGH)
