"""Calls that failed, as results the model can act on. The codes are stable: journal and dashboard branch on them."""

from collections.abc import Iterable
from difflib import get_close_matches
from enum import StrEnum

from midwatch.domain.tools import ToolResult


class FailureCode(StrEnum):
    TOOL_NOT_FOUND = "TOOL_NOT_FOUND"
    TOOL_ERROR = "TOOL_ERROR"
    """The tool or its server said that the call failed."""
    PROTOCOL_ERROR = "PROTOCOL_ERROR"
    """The server's answer is not what its protocol allows."""
    TIMEOUT = "TIMEOUT"
    TRANSPORT_ERROR = "TRANSPORT_ERROR"
    """The connection to the server broke, or could not be made."""
    NOT_DISPATCHED = "NOT_DISPATCHED"
    """The call was never sent."""
    CANCELLED_BY_PERSON = "CANCELLED_BY_PERSON"
    """A person watching the session ended this one call."""


def tool_not_found(name: str, *, known: Iterable[str]) -> ToolResult:
    close = get_close_matches(name, list(known), n=5)
    hint = f" Close names: {', '.join(close)}." if close else ""
    return ToolResult(content=f"There is no tool {name}.{hint}", error=FailureCode.TOOL_NOT_FOUND)
