"""How the calls of a turn are grouped."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from midwatch.domain.tools import ToolCall, ToolKind
from midwatch.kit.ids import new_id
from midwatch.tools.order import group_calls
from tests.safety.requirements import requirement

KINDS = st.lists(st.sampled_from(ToolKind), max_size=12)
LOOKING = (ToolKind.READ, ToolKind.RESOLVE)


def calls_of(kinds: list[ToolKind]) -> list[ToolCall]:
    return [ToolCall(call_id=new_id(), provider_id="", name=kind, arguments="") for kind in kinds]


def kind_of(call: ToolCall) -> ToolKind:
    return ToolKind(call.name)


def test_neighbouring_reads_run_together_and_every_change_alone() -> None:
    kinds = [ToolKind.READ, ToolKind.RESOLVE, ToolKind.WRITE, ToolKind.WRITE, ToolKind.READ, ToolKind.ASK]
    groups = group_calls(calls_of(kinds), kind_of)
    assert [[call.name for call in group] for group in groups] == [
        ["read", "resolve"],
        ["write"],
        ["write"],
        ["read"],
        ["ask"],
    ]


def test_a_turn_without_calls_has_no_groups() -> None:
    assert group_calls([], kind_of) == []


@requirement("order:writes-alone")
@given(KINDS)
def test_no_call_is_lost_or_moved_and_no_write_has_company(kinds: list[ToolKind]) -> None:
    calls = calls_of(kinds)
    groups = group_calls(calls, kind_of)
    assert [call for group in groups for call in group] == calls
    assert all(len(group) == 1 or all(kind_of(call) in LOOKING for call in group) for group in groups)
    assert not any(kind_of(one[-1]) in LOOKING and kind_of(after[0]) in LOOKING for one, after in pairwise(groups))
