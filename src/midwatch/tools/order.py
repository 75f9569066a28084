"""In which order the calls of one turn run: reads side by side, changes one after another, as the model wrote them."""

from collections.abc import Callable, Iterable
from itertools import groupby

from midwatch.domain.tools import ToolCall, ToolKind


def group_calls(calls: Iterable[ToolCall], kind_of: Callable[[ToolCall], ToolKind]) -> list[list[ToolCall]]:
    """Groups run one after another; the calls of a group may run together."""
    groups: list[list[ToolCall]] = []
    for looks_only, run in groupby(calls, key=lambda call: kind_of(call) in (ToolKind.READ, ToolKind.RESOLVE)):
        together = list(run)
        groups += [together] if looks_only else [[call] for call in together]
    return groups
