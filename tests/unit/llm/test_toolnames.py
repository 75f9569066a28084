"""Tool names on the wire: legal, told apart, and read back."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from midwatch.domain.tools import ToolDefinition
from midwatch.llm.toolnames import build_names, encode_name

_LEGAL = re.compile(r"[a-zA-Z0-9_-]{1,64}")

servers = st.from_regex(r"[A-Za-z0-9_.-]{1,40}", fullmatch=True)
tool_names = st.from_regex(r"[A-Za-z0-9_./-]{1,128}", fullmatch=True) | st.text(min_size=1, max_size=20)
# Few letters make names that differ only in where dots and underscores stand.
confusable = st.text(alphabet="a_.", min_size=1, max_size=6)


def make_tool(server: str, name: str) -> ToolDefinition:
    return ToolDefinition(server=server, name=name, description="", schema={})


tools = st.builds(make_tool, servers, tool_names) | st.builds(make_tool, confusable, confusable)


@given(st.lists(tools, max_size=30))
@example([make_tool("a__b", "c"), make_tool("a", "b__c"), make_tool("a_", "b"), make_tool("a", "_b")])
def test_every_name_is_legal_and_reads_back_as_the_tool_it_stands_for(offered: list[ToolDefinition]) -> None:
    full_names = {tool.full_name for tool in offered}
    names = build_names(offered)
    wires = {encode_name(full_name) for full_name in full_names}
    assert len(wires) == len(full_names)
    assert all(_LEGAL.fullmatch(wire) for wire in wires)
    assert {names.decode(encode_name(full_name)) for full_name in full_names} == full_names
    assert all(names.decode(encode_name(full_name)) == full_name for full_name in full_names)


@given(st.from_regex(_LEGAL, fullmatch=True))
def test_a_name_the_model_made_up_goes_back_as_the_model_wrote_it(wire: str) -> None:
    assert encode_name(build_names(()).decode(wire)) == wire


@pytest.mark.parametrize(
    ("name", "wire"),
    [
        ("kubernetes.pods_list", "kubernetes__pods_list"),
        ("a.b__c", "a__b__c"),
        ("k8s-prod.get-pods", "k8s-prod__get-pods"),
    ],
)
def test_an_ordinary_name_stays_readable(name: str, wire: str) -> None:
    assert encode_name(name) == wire


@pytest.mark.parametrize("name", ["a__b.c", "a.b.c", "a.b c", "s." + "x" * 80, "über.tool", ""])
def test_a_name_that_has_no_plain_form_gets_a_stable_digest(name: str) -> None:
    wire = encode_name(name)
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,47}_[0-9a-f]{16}", wire)
    assert "__" not in wire
    assert encode_name(name) == wire


def test_names_that_differ_only_in_case_stay_apart() -> None:
    spellings = ["getPods", "getpods", "GETPODS", "get.Pods", "get.pods"]
    names = build_names([make_tool("s", spelling) for spelling in spellings])
    assert sorted(names.by_wire.values()) == sorted(f"s.{spelling}" for spelling in spellings)
    digested = [encode_name(f"s.{spelling}") for spelling in spellings[3:]]
    assert len({wire.lower() for wire in digested}) == 2


def test_a_made_up_name_is_spelt_with_a_dot_and_never_split_further() -> None:
    names = build_names([make_tool("a__b", "c")])
    assert names.decode("shell__rm__all") == "shell.rm__all"
    assert names.decode("nonsense") == "nonsense"
    assert names.decode(encode_name("a__b.c")) == "a__b.c"
