"""Only the chosen tools are there."""

import pytest

from midwatch.domain.safety import SafetyMode
from midwatch.domain.tools import ToolCall
from midwatch.kit.ids import new_id
from midwatch.safety.policy import Stance
from midwatch.tools.gate import Gate
from midwatch.tools.selected import Selected
from tests.fakes.call_journal import FakeCallJournal
from tests.fakes.cleared_calls import cleared_read
from tests.fakes.toolset import FakeToolset, define_tool
from tests.settled import settle


@pytest.fixture
def tools() -> FakeToolset:
    names = ("kube.get_pods", "kube.core.v1.logs", "kube.delete_pod", "files.read")
    return FakeToolset(*map(define_tool, names), log=[])


@pytest.fixture
def selected(tools: FakeToolset) -> Selected:
    return Selected(inner=tools, chosen={"kube": frozenset({"get_pods", "core.v1.logs", "not_offered"})})


async def test_of_a_server_with_a_choice_only_the_chosen_tools_are_listed(selected: Selected) -> None:
    names = [tool.full_name for tool in await selected.list_tools()]
    assert names == ["kube.get_pods", "kube.core.v1.logs", "files.read"]


@pytest.mark.parametrize("name", ["kube.get_pods", "kube.core.v1.logs", "files.read", "files.whatever_it_knows"])
async def test_a_chosen_tool_is_called(selected: Selected, tools: FakeToolset, name: str) -> None:
    call = cleared_read(name)
    assert (await selected.call(call)).content == f"ran {name}"
    assert tools.calls == [call]


@pytest.mark.parametrize("name", ["kube.delete_pod", "kube.get_pods.now", "kube.", "kube"])
async def test_a_tool_that_was_not_chosen_is_not_called(selected: Selected, tools: FakeToolset, name: str) -> None:
    assert (await selected.call(cleared_read(name))).error == "TOOL_NOT_FOUND"
    assert tools.calls == []


async def test_tools_that_were_not_chosen_are_not_suggested(selected: Selected) -> None:
    content = (await selected.call(cleared_read("kube.delete_pods"))).content
    assert "kube.get_pods" in content
    assert "kube.delete_pod," not in content
    assert not content.endswith("kube.delete_pod.")


async def test_without_a_choice_everything_is_there(tools: FakeToolset) -> None:
    selected = Selected(inner=tools, chosen={})
    assert await selected.list_tools() == list(tools.tools)


async def test_the_gate_refuses_what_was_not_chosen(selected: Selected, tools: FakeToolset) -> None:
    journal = FakeCallJournal()
    gate = Gate(inner=selected, journal=journal, stance=Stance(mode=SafetyMode.ENFORCE), rules={})
    call = ToolCall(call_id=new_id(), provider_id="p", name="kube.delete_pod", arguments="{}")
    assert (await settle(gate, call)).error == "TOOL_NOT_FOUND"
    assert journal.log == ["refuse kube.delete_pod TOOL_NOT_FOUND"]
    assert tools.calls == []
