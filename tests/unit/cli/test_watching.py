"""Watching a session to its end, and what signals do meanwhile."""

import asyncio
import signal
from dataclasses import dataclass, field

import pytest

from midwatch.cli.live.follow import Item
from midwatch.cli.live.plain import AnalysisOnly, JsonLines
from midwatch.cli.live.server import connect_server
from midwatch.cli.live.watch import Stop, judge, watch
from midwatch.cli.terminal import make_console
from midwatch.kit import json
from tests.fakes.feed_server import FeedServer, serve_feed
from tests.unit.cli.recorded import ANALYSIS, SESSION, run, session, tell
from tests.waiting import eventually


@dataclass(slots=True)
class Notes:
    said: list[str] = field(default_factory=list[str])
    items: list[Item] = field(default_factory=list[Item])

    def take(self, item: Item) -> None:
        self.items.append(item)

    def note(self, text: str) -> None:
        self.said.append(text)


async def never() -> None:
    await asyncio.Event().wait()


async def test_the_first_signal_cancels_the_session_and_the_second_ends_everything() -> None:
    confirmed = {"type": "subscription.confirmed"}
    server = FeedServer(session={"status": "in_progress"}, acts=[[confirmed]])
    notes = Notes()
    async with (
        asyncio.timeout(60),
        serve_feed(server) as url,
        connect_server(url) as client,
        asyncio.TaskGroup() as group,
    ):
        whole = group.create_task(never())
        stop = Stop(whole=whole, is_gentle=True)
        watching = group.create_task(watch(client, SESSION, view=notes, stop=stop))
        await eventually(lambda: server.asked)
        stop(signal.SIGINT)
        await eventually(lambda: ("POST", f"/api/v1/sessions/{SESSION}/cancel") in server.requests)
        assert "being cancelled" in notes.said[0]
        assert not whole.cancelling()
        stop(signal.SIGTERM)
        assert whole.cancelling()
        watching.cancel()
    assert stop.status == 143


async def test_a_signal_before_there_is_anything_ends_everything() -> None:
    async with asyncio.TaskGroup() as group:
        whole = group.create_task(never())
        stop = Stop(whole=whole)
        stop(signal.SIGINT)
        assert whole.cancelling()
    assert (stop.status, stop.asked.is_set()) == (130, False)


@pytest.mark.parametrize(
    ("status", "number", "expected"),
    [
        ("completed", None, 0),
        ("failed", None, 1),
        ("timed_out", None, 1),
        ("cancelled", None, 1),
        ("cancelled", signal.SIGINT, 130),
        ("completed", signal.SIGINT, 0),
    ],
)
async def test_the_exit_status_follows_the_session(status: str, number: signal.Signals | None, expected: int) -> None:
    task = asyncio.current_task()
    assert task is not None
    assert judge({"status": status}, Stop(whole=task, number=number)) == expected


def test_json_lines_hold_every_event_and_one_result(capsys: pytest.CaptureFixture[str]) -> None:
    view = JsonLines()
    for item in run(tell("new.kind", text="\u202e\x9b1m"), estimated_cost_usd=0.5):
        view.take(item)
    view.note("to a person")
    written, complaints = capsys.readouterr()
    lines = [json.decode(line) for line in written.splitlines()]
    assert [line["type"] for line in lines] == ["stage.status", "new.kind", "result"]
    assert lines[1]["text"] == "\u202e\x9b1m"
    assert written.isascii()
    assert lines[2] | {"session_id": SESSION, "estimated_cost_usd": 0.5, "final_analysis": ANALYSIS} == lines[2]
    assert complaints == "to a person\n"


@pytest.mark.parametrize(
    ("ended", "written", "complaint"),
    [
        ({}, ANALYSIS, ""),
        ({"final_analysis": "\x1b[31mred"}, "red\n", ""),
        (
            {"status": "failed", "final_analysis": None, "error_message": "no\x1b[2J"},
            "",
            "the investigation failed: no",
        ),
        ({"status": "timed_out", "final_analysis": None}, "", "the investigation timed out"),
        ({"status": "cancelled", "final_analysis": None}, "", "the investigation was cancelled"),
    ],
)
def test_the_analysis_alone_goes_out_and_failures_go_beside_it(
    ended: dict[str, str], written: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    view = AnalysisOnly(make_console())
    for item in run(**ended):
        view.take(item)
    assert capsys.readouterr() == (written, f"error: {complaint}\n" if complaint else "")


def test_a_session_without_anything_known_does_not_break_a_view(capsys: pytest.CaptureFixture[str]) -> None:
    for view in (JsonLines(), AnalysisOnly(make_console())):
        for item in run(**dict.fromkeys(session())):
            view.take(item)
    assert "Traceback" not in capsys.readouterr().err
