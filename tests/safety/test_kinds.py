"""Kinds: who decides what a tool does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midwatch.domain.tools import ToolDefinition, ToolKind
from midwatch.safety.kinds import KindVerdict, OperatorKinds, decide_kind
from tests.safety.requirements import requirement

NAMES = st.text(alphabet="abc_*?[]", max_size=6)
KINDS = st.builds(
    OperatorKinds,
    read=st.lists(NAMES, max_size=3).map(tuple),
    write=st.lists(NAMES, max_size=3).map(tuple),
    resolve=st.lists(NAMES, max_size=3).map(tuple),
    default=st.none() | st.sampled_from(ToolKind),
)
HINTS = st.sampled_from([None, True, False])


def tool(name: str = "get_pods", hint: bool | None = None) -> ToolDefinition:  # noqa: FBT001 - the thing under test
    return ToolDefinition(server="k8s", name=name, description="", schema={}, read_only_hint=hint)


def verdict(kind: ToolKind, *, proven: bool, rule: str) -> KindVerdict:
    return KindVerdict(kind=kind, proven=proven, rule=rule)


UNKNOWN = verdict(ToolKind.WRITE, proven=False, rule="unknown")


@requirement("kind:unknown-is-write")
@pytest.mark.parametrize("trusted", [True, False])
def test_a_tool_nobody_knows_is_a_write(trusted: bool) -> None:  # noqa: FBT001 - a parameter
    assert decide_kind(tool(), kinds=OperatorKinds(), trust_annotations=trusted) == UNKNOWN
    assert decide_kind(None, kinds=OperatorKinds(default=ToolKind.READ), trust_annotations=trusted) == UNKNOWN


@requirement("kind:operator-first")
@pytest.mark.parametrize("hint", [None, True, False])
def test_a_glob_is_proof_whatever_the_server_says(hint: bool | None) -> None:  # noqa: FBT001 - a parameter
    kinds = OperatorKinds(read=("get_*",), default=ToolKind.WRITE)
    found = decide_kind(tool(hint=hint), kinds=kinds, trust_annotations=True)
    assert found == verdict(ToolKind.READ, proven=True, rule="operator:read:get_*")


@requirement("kind:operator-first")
def test_globs_look_at_the_tools_own_name_and_its_case() -> None:
    for glob in ("k8s.*", "GET_*"):
        assert decide_kind(tool(), kinds=OperatorKinds(read=(glob,)), trust_annotations=False) == UNKNOWN


@requirement("kind:strictest-glob")
def test_of_several_matching_globs_the_strictest_wins() -> None:
    kinds = OperatorKinds(read=("get_*", "*"), write=("*_pods",), resolve=("*",))
    assert decide_kind(tool(), kinds=kinds, trust_annotations=False).rule == "operator:write:*_pods"
    kinds = OperatorKinds(read=("get_*",), resolve=("*",))
    assert decide_kind(tool(), kinds=kinds, trust_annotations=False).kind is ToolKind.READ
    assert decide_kind(tool("find"), kinds=kinds, trust_annotations=False).kind is ToolKind.RESOLVE


@requirement("kind:default-is-raised")
@pytest.mark.parametrize("default", [ToolKind.READ, ToolKind.RESOLVE])
def test_a_default_of_reading_yields_to_a_server_that_calls_its_tool_a_change(default: ToolKind) -> None:
    kinds = OperatorKinds(default=default)
    raised = decide_kind(tool(hint=False), kinds=kinds, trust_annotations=False)
    assert raised == verdict(ToolKind.WRITE, proven=False, rule="annotation:raised")
    for hint in (None, True):
        kept = decide_kind(tool(hint=hint), kinds=kinds, trust_annotations=False)
        assert kept == verdict(default, proven=True, rule=f"operator:default:{default}")


@requirement("kind:operator-first")
@pytest.mark.parametrize("default", [ToolKind.WRITE, ToolKind.ASK])
def test_a_cautious_default_is_not_lowered_by_annotations(default: ToolKind) -> None:
    found = decide_kind(tool(hint=True), kinds=OperatorKinds(default=default), trust_annotations=True)
    assert found == verdict(ToolKind.WRITE, proven=True, rule=f"operator:default:{default}")


@requirement("kind:annotations-untrusted", "kind:annotations-unproven")
def test_a_servers_word_counts_only_when_it_is_trusted_and_proves_nothing() -> None:
    assert decide_kind(tool(hint=True), kinds=OperatorKinds(), trust_annotations=False) == UNKNOWN
    trusted = decide_kind(tool(hint=True), kinds=OperatorKinds(), trust_annotations=True)
    assert trusted == verdict(ToolKind.READ, proven=False, rule="annotation:trusted")


@requirement("kind:annotations-untrusted")
@pytest.mark.parametrize("trusted", [True, False])
def test_a_server_that_calls_its_tool_a_change_is_believed(trusted: bool) -> None:  # noqa: FBT001 - a parameter
    found = decide_kind(tool(hint=False), kinds=OperatorKinds(), trust_annotations=trusted)
    assert found == verdict(ToolKind.WRITE, proven=False, rule="annotation:write")


@requirement("kind:names-its-rule", "kind:annotations-unproven")
@given(NAMES, HINTS, KINDS, st.booleans())
def test_every_verdict_names_its_rule_and_only_the_operator_proves(
    name: str,
    hint: bool | None,  # noqa: FBT001 - drawn by Hypothesis
    kinds: OperatorKinds,
    trusted: bool,  # noqa: FBT001 - drawn by Hypothesis
) -> None:
    found = decide_kind(tool(name, hint), kinds=kinds, trust_annotations=trusted)
    assert found.rule
    assert found.proven is found.rule.startswith("operator:")
    assert found.kind is not ToolKind.ASK


@requirement("kind:annotations-untrusted")
@given(NAMES, HINTS, KINDS)
def test_untrusted_annotations_never_lower_a_kind(name: str, hint: bool | None, kinds: OperatorKinds) -> None:  # noqa: FBT001 - drawn
    silent = decide_kind(tool(name), kinds=kinds, trust_annotations=False)
    spoken = decide_kind(tool(name, hint), kinds=kinds, trust_annotations=False)
    assert spoken.kind in (silent.kind, ToolKind.WRITE)
