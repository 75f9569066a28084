"""What differs from one Gemini model to the next, as data. The longest beginning of a model's name decides."""

import re
from collections.abc import Mapping
from typing import Any

_THINKING: Mapping[str, Mapping[str, Any] | None] = {
    "": {"thinkingLevel": "HIGH"},
    "gemini-2.5-pro": {"thinkingBudget": 32_768},
    "gemini-2.5-flash": {"thinkingBudget": 24_576},
    "gemini-2.5-flash-image": None,
    "gemini-2.0": None,
    "gemini-1": None,
    "gemma": None,
}
"""How much a model is to think; none for those that refuse to be told."""

_BEFORE_SIGNATURES = re.compile(r"gemini-[12]\b|gemma")


def choose_thinking(model: str) -> dict[str, Any] | None:
    beginning = max((known for known in _THINKING if model.startswith(known)), key=len)
    chosen = _THINKING[beginning]
    return None if chosen is None else {**chosen, "includeThoughts": True}


def demands_signatures(model: str) -> bool:
    """From Gemini 3 on, a function call without a signature in the history makes the whole request fail."""
    return _BEFORE_SIGNATURES.match(model) is None
