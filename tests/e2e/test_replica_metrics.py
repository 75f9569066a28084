"""Counters of replicas, when one of them is killed and another goes on."""

from pathlib import Path

from midwatch.domain.session import SessionStatus
from tests.fakes.openai_server import by_turn, serve
from tests.scenes import CONCLUSION, call, look, open_scene
from tests.scraping import scrape
from tests.waiting import eventually


async def test_whoever_takes_a_session_over_counts_that_and_its_end(dsn: str, tmp_path: Path) -> None:
    hold = tmp_path / "hold"
    hold.touch()
    turns = by_turn([call("made_up"), call("slow_write", name="pump", hold=str(hold)), look("a"), CONCLUSION])
    async with serve(turns) as model, open_scene(tmp_path, model=model, dsn=dsn, heartbeat_interval="2s") as scene:
        first, _ = await scene.fleet.start("first", "second")
        session_id = await first.submit()
        await eventually(lambda: scene.effects("slow_write"))
        owner, other = await scene.owner_and_other(session_id)
        before, idle = await scrape(owner.http), await scrape(other.http)
        await owner.kill()
        hold.unlink()
        status = await scene.ended(session_id)
        after = await scrape(other.http)
    assert status is SessionStatus.COMPLETED
    assert before.of("midwatch_ai_refusals_total") == {("TOOL_NOT_FOUND", "other"): 1}
    assert (before.value("midwatch_workers_active"), idle.value("midwatch_workers_active")) == (1, 0)
    recovered = "midwatch_orphans_recovered_total"
    assert after.value(recovered) == idle.value(recovered) + 1
    assert after.of("midwatch_ai_refusals_total") == {}
    assert after.of("midwatch_sessions_terminal_total") == {("deck", "completed"): 1}
