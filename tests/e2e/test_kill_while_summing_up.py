"""A replica killed with `kill -9` while a result is summed up: the change it had made is not made again."""

import asyncio
from pathlib import Path

from midwatch.domain.session import SessionStatus
from midwatch.llm.scripted import ScriptedTurn
from tests.fakes.openai_server import Body, Reply, by_turn, serve, stall_after
from tests.feed_reader import reading_feed
from tests.scenes import BRIEF, CONCLUSION, change, look, open_scene
from tests.waiting import eventually

SUMMARY = ScriptedTurn(text="The pump was restarted, at length.", chunk_size=4)
LONG_NAME = "pump " * 5_000


async def test_killed_while_a_change_is_summed_up_the_next_owner_sums_it_up_again(dsn: str, tmp_path: Path) -> None:
    never = asyncio.Event()
    summed_up: list[Body] = []
    script = by_turn([change(LONG_NAME), look("pump"), CONCLUSION])

    def answer(body: Body) -> Reply:
        if "TOOL_OUTPUT" not in body["messages"][-1]["content"]:
            return script(body)
        summed_up.append(body)
        return stall_after(SUMMARY, 3, release=never) if len(summed_up) == 1 else SUMMARY

    async with serve(answer) as model, open_scene(tmp_path, model=model, dsn=dsn, heartbeat_interval=BRIEF) as scene:
        first, _ = await scene.fleet.start("first", "second")
        session_id = await first.submit()
        async with reading_feed(scene.store, session_id) as feed:
            await eventually(lambda: summed_up)
            owner, other = await scene.owner_and_other(session_id)
            (before,) = await scene.calls(session_id)
            await owner.kill()
            assert await scene.ended(session_id) is SessionStatus.COMPLETED
            await feed.check_whole()
            feed.check_streams_closed(transient=False)
        assert before["state"] == "finished"
        assert len(scene.effects("restart")) == 1
        assert len(summed_up) == 2
        read = scene.requests(1)[-1]["messages"][-1]["content"]
        assert read.endswith(SUMMARY.text)
        entries = await other.show_timeline(session_id)
    shown = [entry["content"] for entry in entries if entry["event_type"] == "mcp_tool_summary"]
    assert shown[-1] == SUMMARY.text


async def test_killed_while_the_whole_session_is_summed_up_the_next_owner_sums_it_up_again(
    dsn: str, tmp_path: Path
) -> None:
    whole = ScriptedTurn(text="In short: the pump was restarted.", chunk_size=4)
    cut = stall_after(whole, 3, release=asyncio.Event())
    turns = by_turn([change("pump"), look("pump"), CONCLUSION])
    async with (
        serve(turns, summary=cut) as model,
        open_scene(tmp_path, model=model, dsn=dsn, heartbeat_interval=BRIEF) as scene,
    ):
        first, _ = await scene.fleet.start("first", "second")
        session_id = await first.submit()
        async with reading_feed(scene.store, session_id) as feed:
            await eventually(lambda: model.summaries)
            owner, other = await scene.owner_and_other(session_id)
            model.summary = whole
            await owner.kill()
            assert await scene.ended(session_id) is SessionStatus.COMPLETED
            await feed.check_whole()
            feed.check_streams_closed(transient=False)
        assert len(model.summaries) == 2
        assert len(scene.requests(1)) == len(scene.effects("restart")) == 1
        shown = await other.show(session_id)
    assert (shown["executive_summary"], shown["executive_summary_error"]) == (whole.text, None)
    assert (shown["final_analysis"], shown["attempts"]) == (CONCLUSION.text, 1)
    assert [stage["status"] for stage in shown["stages"]] == ["completed", "completed"]
