"""What a stored result is called, by those who show it and by those who open it again."""

from uuid import UUID

RESULT_SERVER = "result"
"""The id under which the tools that open stored results are offered. No tool server can have it."""

_TAIL = 8


def name_result(call_id: UUID) -> str:
    """Short enough to be copied by a model: the end of a call's id is random."""
    return f"r{call_id.hex[-_TAIL:]}"


def read_name(name: str) -> str | None:
    """The end of the call's id, as hexadecimal digits; None of what is no such name."""
    tail = name.strip().strip("[]()<>`'\"").lower().removeprefix("r")
    is_tail = len(tail) == _TAIL and all(digit in "0123456789abcdef" for digit in tail)
    return tail if is_tail else None
