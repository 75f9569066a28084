"""The beginning and the end of a text that is too long to be read at once. Pure."""

from collections.abc import Callable

_TAIL = 4
"""One part of so many is taken from the end: in a log that is where the news is."""
_NEAR = 200
"""Characters within which a cut is moved to the end of a line."""


def cut_middle(text: str, *, most: int, explain: Callable[[int], str]) -> str:
    """At most so many characters; where some are left out, `explain` says so and is told how many."""
    if len(text) <= most:
        return text
    room = max(most - len(explain(len(text))) - 2, 0)
    tail = _begin_line(text[len(text) - room // _TAIL :] if room >= _TAIL else "")
    head = _end_line(text[: room - room // _TAIL])
    return f"{head}\n{explain(len(text) - len(head) - len(tail))}\n{tail}"


def _end_line(head: str) -> str:
    end = head.rfind("\n", max(len(head) - _NEAR, 0))
    return head if end < 0 else head[:end]


def _begin_line(tail: str) -> str:
    begin = tail.find("\n", 0, _NEAR)
    return tail[begin + 1 :]
