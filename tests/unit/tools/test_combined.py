"""Many toolsets as one."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from midwatch.domain.tools import ClearedCall, ToolDefinition, ToolResult
from midwatch.tools.combined import Combined
from tests.fakes.cleared_calls import cleared_read


@dataclass
class RecordingTools:
    """A toolset that keeps the calls it gets."""

    server: str
    names: tuple[str, ...]
    calls: list[ClearedCall] = field(default_factory=list[ClearedCall])

    async def list_tools(self) -> Sequence[ToolDefinition]:
        return [ToolDefinition(server=self.server, name=name, description="", schema={}) for name in self.names]

    async def call(self, cleared: ClearedCall) -> ToolResult:
        self.calls.append(cleared)
        return ToolResult(content=f"from {self.server}")


@pytest.fixture
def kube() -> RecordingTools:
    return RecordingTools("kube", ("get_pods", "core.v1.logs"))


@pytest.fixture
def files() -> RecordingTools:
    return RecordingTools("files", ("read",))


@pytest.fixture
def combined(kube: RecordingTools, files: RecordingTools) -> Combined:
    return Combined({"kube": kube, "files": files})


async def test_all_tools_are_listed_in_the_order_of_their_servers(combined: Combined) -> None:
    names = [tool.full_name for tool in await combined.list_tools()]
    assert names == ["kube.get_pods", "kube.core.v1.logs", "files.read"]


@pytest.mark.parametrize("name", ["kube.get_pods", "kube.core.v1.logs", "kube.whatever_it_knows"])
async def test_a_call_goes_to_the_server_that_listed_its_tool(
    combined: Combined, kube: RecordingTools, files: RecordingTools, name: str
) -> None:
    call = cleared_read(name)
    assert (await combined.call(call)).content == "from kube"
    assert kube.calls == [call]
    assert files.calls == []


@pytest.mark.parametrize("name", ["cube.get_pods", "get_pods", ""])
async def test_an_unknown_server_is_a_result(combined: Combined, kube: RecordingTools, name: str) -> None:
    result = await combined.call(cleared_read(name))
    assert result.error == "TOOL_NOT_FOUND"
    assert kube.calls == []


async def test_close_names_are_suggested(combined: Combined) -> None:
    result = await combined.call(cleared_read("cube.get_pod"))
    assert "kube.get_pods" in result.content
    assert "files.read" not in result.content


async def test_no_toolsets_are_no_tools() -> None:
    assert await Combined({}).list_tools() == []
    assert (await Combined({}).call(cleared_read("kube.get_pods"))).error == "TOOL_NOT_FOUND"
