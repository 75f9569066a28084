"""What a person sees of a long result: its summary as it is written, and all of it on demand."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.llm.scripted import ScriptedTurn
from midwatch.store.results import KEPT
from midwatch.upkeep.expire_results import expire_old_results
from tests.api.edge import CONCLUSION, Edge, call, open_edge, running, write_config
from tests.api.shelf import SESSIONS, wait_for_end
from tests.api.watcher import delivering, watching, working
from tests.fakes.openai_server import in_order, serve, stall_after

SUMMARY = {"text": "All is well on deck.", "chunk_size": 4, "usage": {"input_tokens": 900, "output_tokens": 10}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_config(tmp_path)
    script = {"agents": {"Mate": [call("report", bytes=100_000), CONCLUSION], "summarizer": [SUMMARY]}}
    (tmp_path / "script.yaml").write_text(json.encode_text(script), encoding="utf-8")
    return tmp_path


@pytest.fixture
async def edge(dsn: str, folder: Path) -> AsyncGenerator[Edge]:
    async with open_edge(folder, dsn) as edge, running(edge):
        yield edge


async def run(edge: Edge) -> str:
    session_id = await edge.submit()
    await wait_for_end(edge, session_id)
    return session_id


async def get(edge: Edge, session_id: str, path: str) -> Any:
    answer = await edge.http.get(f"{SESSIONS}/{session_id}/trace{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def find_interaction(edge: Edge, session_id: str, kind: str) -> dict[str, Any]:
    """The call of the tool, or the call of the model that summed it up."""
    (stage, *_) = (await get(edge, session_id, ""))["stages"]
    items = stage["executions"][0][f"{kind}_interactions"]
    (item,) = [item for item in items if kind == "mcp" or item["interaction_type"] == "summarization"]
    return await get(edge, session_id, f"/{kind}/{item['id']}")


async def test_the_trace_has_the_call_that_summed_up(edge: Edge) -> None:
    session_id = await run(edge)
    detail = await find_interaction(edge, session_id, "llm")
    assert detail["llm_response"]["text"] == SUMMARY["text"]
    assert (detail["input_tokens"], detail["output_tokens"]) == (900, 10)
    assert detail["conversation"] == []
    request = detail["llm_request"]
    assert (request["server_name"], request["tool_name"], request["messages_count"]) == ("deck", "report", 2)


async def test_the_whole_result_is_read_where_the_trace_says(edge: Edge) -> None:
    session_id = await run(edge)
    detail = await find_interaction(edge, session_id, "mcp")
    result = detail["tool_result"]
    assert (result["is_whole"], result["is_kept"]) == (False, True)
    assert len(result["content"]) <= 32_000
    answer = await edge.http.get(f"{SESSIONS}/{session_id}/trace/mcp/{detail['id']}/result")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert len(answer.text) == result["characters"] > 90_000
    assert json.decode(answer.text)["total"] > 800


async def test_a_short_result_is_there_as_well(dsn: str, tmp_path: Path) -> None:
    write_config(tmp_path, turns=[call("echo", text="all is dry"), CONCLUSION])
    async with open_edge(tmp_path, dsn) as edge, running(edge):
        session_id = await run(edge)
        detail = await find_interaction(edge, session_id, "mcp")
        answer = await edge.http.get(f"{SESSIONS}/{session_id}/trace/mcp/{detail['id']}/result")
    assert answer.text == "all is dry"
    assert detail["tool_result"] == {
        "content": "all is dry",
        "is_error": False,
        "characters": 10,
        "is_whole": True,
        "is_kept": True,
    }


async def age(edge: Edge, by: timedelta) -> None:
    async with edge.store.connect() as tx:
        await tx.execute("UPDATE tool_results SET stored_at = stored_at - $1::interval", by)
    await expire_old_results(edge.store)


async def test_a_long_result_is_kept_for_seven_days_and_then_gone(edge: Edge) -> None:
    session_id = await run(edge)
    detail = await find_interaction(edge, session_id, "mcp")
    path = f"{SESSIONS}/{session_id}/trace/mcp/{detail['id']}/result"
    await age(edge, KEPT - timedelta(minutes=5))
    assert (await edge.http.get(path)).status_code == 200
    await age(edge, timedelta(minutes=6))
    gone = await edge.http.get(path)
    assert (gone.status_code, gone.json()["code"]) == (410, "gone")
    left = (await get(edge, session_id, f"/mcp/{detail['id']}"))["tool_result"]
    assert left == detail["tool_result"] | {"is_kept": False}


async def test_a_result_is_found_only_in_its_session(edge: Edge) -> None:
    one, other = await run(edge), await run(edge)
    mcp, llm = await find_interaction(edge, one, "mcp"), await find_interaction(edge, one, "llm")
    paths = [f"{other}/trace/mcp/{mcp['id']}", f"{one}/trace/mcp/{new_id()}", f"{one}/trace/mcp/{llm['id']}"]
    missed = [await edge.http.get(f"{SESSIONS}/{path}/result") for path in paths]
    assert [answer.status_code for answer in missed] == [404] * 3


def let_others_sum_up(folder: Path, base_url: str) -> None:
    """The agent keeps to its script; whoever sums up is asked over HTTP."""
    main = json.decode((folder / "midwatch.yaml").read_bytes())
    main["defaults"]["summarization"] = {"llm_provider": "short"}
    providers = json.decode((folder / "llm-providers.yaml").read_bytes())
    providers["llm_providers"]["short"] = {"type": "openai", "model": "small", "base_url": base_url}
    (folder / "midwatch.yaml").write_text(json.encode_text(main), encoding="utf-8")
    (folder / "llm-providers.yaml").write_text(json.encode_text(providers), encoding="utf-8")


async def test_a_summary_is_shown_while_it_is_written(dsn: str, folder: Path) -> None:
    release = asyncio.Event()
    written = stall_after(ScriptedTurn(text="All is well on deck.", chunk_size=4), 2, release=release)
    async with serve(in_order([written])) as model:
        let_others_sum_up(folder, model.base_url)
        async with open_edge(folder, dsn) as edge, delivering(edge), watching(edge) as watcher:
            session_id = await edge.submit()
            await watcher.subscribe(f"session:{session_id}")
            async with working(edge):
                heard = await watcher.hear_until(type="timeline_event.created", event_type="mcp_tool_summary")
                begun = heard[-1]
                chunk = (await watcher.hear_until(type="stream.chunk", event_id=begun["event_id"]))[-1]
                release.set()
                rest = await watcher.hear_until(type="session.status", status="completed")
    assert (begun["status"], begun["content"]) == ("streaming", "")
    assert begun["metadata"].pop("original_tokens") > 20_000
    assert begun["metadata"] == {
        "server_name": "deck",
        "tool_name": "report",
        "summarization_model": "small",
        "summarization_provider": "short",
    }
    assert "All is well on deck.".startswith(chunk["delta"])
    (ended,) = [event for event in rest if event["type"] == "timeline_event.completed" and is_of(event, begun)]
    assert (ended["status"], ended["content"]) == ("completed", "All is well on deck.")
    assert any(event.get("phase") == "distilling" for event in heard)


def is_of(event: dict[str, Any], begun: dict[str, Any]) -> bool:
    return event["event_id"] == begun["event_id"]
