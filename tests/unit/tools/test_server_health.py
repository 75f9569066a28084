"""The monitor with real servers: what it sees, what it warns of, and that warnings go by themselves."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from midwatch.config.mcp import Kinds, McpServer, StdioTransport
from midwatch.tools.health import HealthMonitor
from midwatch.tools.sightings import Sighting, Sightings
from midwatch.tools.workbench import Opening, open_server_scope
from tests.fakes.mcp_process import fake_mcp_server
from tests.waiting import eventually

TALKATIVE = Path(__file__).parents[2] / "fakes" / "talkative_server.py"
OPENING = Opening(environment={"PATH": os.environ["PATH"]}, init_timeout=10)


@asynccontextmanager
async def watching(server: McpServer, *, limit: float = 5) -> AsyncGenerator[Sightings]:
    """The monitor looks at it all the time."""
    sightings = Sightings()
    async with asyncio.timeout(30), open_server_scope(OPENING) as shared, asyncio.TaskGroup() as group:
        monitor = HealthMonitor(
            servers={"deck": server},
            sightings=sightings,
            shared=shared,
            open_scope=lambda: open_server_scope(OPENING),
            interval=0.05,
            limit=limit,
        )
        watch = group.create_task(monitor.run())
        yield sightings
        watch.cancel()


def talkative(trouble: Path, **changes: object) -> McpServer:
    server = fake_mcp_server(str(trouble), program=TALKATIVE)
    return server.model_copy(update={"kinds": Kinds(read=("check",)), "health_check_tool": "check", **changes})


async def seen(sightings: Sightings, *, healthy: bool) -> Sighting:
    def look() -> Sighting | None:
        found = sightings.seen.get("deck")
        return found if found is not None and found.healthy is healthy else None

    return await eventually(look)


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children()}


@pytest.mark.parametrize("shared", [False, True])
async def test_a_server_is_seen_with_its_tools_over_one_session(tmp_path: Path, *, shared: bool) -> None:
    before = children()
    async with watching(talkative(tmp_path / "none", shared=shared)) as sightings:
        first = await seen(sightings, healthy=True)
        (process,) = children() - before
        await eventually(lambda: sightings.seen["deck"].last_check > first.last_check)
        assert children() - before == {process}
    assert "check" in [tool.name for tool in first.tools]
    assert first.error is None
    assert children() == before


async def test_a_failing_check_is_warned_of_until_it_is_over(tmp_path: Path) -> None:
    trouble = tmp_path / "trouble"
    trouble.touch()
    async with watching(talkative(trouble)) as sightings:
        failed = await seen(sightings, healthy=False)
        (warning,) = sightings.warnings.show()
        assert "TOOL_ERROR: all is lost" in (failed.error or "")
        assert (warning.server_id, warning.category) == ("deck", "mcp_server_unavailable")
        trouble.unlink()
        await seen(sightings, healthy=True)
        assert sightings.warnings.show() == []


async def test_a_check_that_may_change_something_is_not_called(tmp_path: Path) -> None:
    trouble = tmp_path / "trouble"
    trouble.touch()
    async with watching(talkative(trouble, kinds=None)) as sightings:
        found = await seen(sightings, healthy=True)
    assert "kinds.read" in (found.error or "")


async def test_a_server_that_does_not_start_is_unhealthy_and_one_that_is_killed_comes_back(tmp_path: Path) -> None:
    missing = McpServer(transport=StdioTransport(type="stdio", command="/nonexistent/server"))
    async with watching(missing) as sightings:
        assert (await seen(sightings, healthy=False)).tools == ()
    before = children()
    async with watching(talkative(tmp_path / "none")) as sightings:
        await seen(sightings, healthy=True)
        (process,) = children() - before
        psutil.Process(process).kill()
        await eventually(lambda: (children() - before) - {process})
        await seen(sightings, healthy=True)


async def test_a_server_that_does_not_answer_in_time_is_unhealthy(tmp_path: Path) -> None:
    before = children()
    async with watching(talkative(tmp_path / "none"), limit=0.5) as sightings:
        await seen(sightings, healthy=True)
        (process,) = children() - before
        psutil.Process(process).suspend()
        found = await seen(sightings, healthy=False)
    assert "no answer within 0.5 s" in (found.error or "")
