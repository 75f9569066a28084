"""Checks for programs whose words make a sentence rather than a list of options."""

import re

from midwatch.safety.shell.programs.model import Call, Check
from midwatch.safety.shell.verdict import Finding, Risk, write_finding

_WORD = re.compile(r"[^\s;|&`$]+")


def say(*phrases: str, risk: Risk = Risk.HIGH) -> Check:
    """The operands together must be one of these patterns, with one blank between words."""
    patterns = [re.compile(phrase) for phrase in phrases]

    def check(call: Call) -> Finding | None:
        sentence = " ".join(word.text for word in call.operands)
        plain = all(word.known and _WORD.fullmatch(word.text) for word in call.operands)
        if plain and any(pattern.fullmatch(sentence) for pattern in patterns):
            return None
        return write_finding("verb:unknown", risk=risk, part=f"{call.program} {sentence}")

    return check


def keep_values(names: str, pattern: str, *, risk: Risk = Risk.HIGH) -> Check:
    """Every value of these options must look like this."""
    allowed = re.compile(pattern)

    def check(call: Call) -> Finding | None:
        if all(word.known and allowed.fullmatch(word.text) for word in call.values(names)):
            return None
        return write_finding("option:writes", risk=risk, part=call.program)

    return check


def keep_operands(pattern: str, *, risk: Risk = Risk.HIGH) -> Check:
    """Every operand must look like this."""
    allowed = re.compile(pattern)

    def check(call: Call) -> Finding | None:
        if all(word.known and allowed.fullmatch(word.text) for word in call.operands):
            return None
        return write_finding("operands:foreign", risk=risk, part=call.program)

    return check
