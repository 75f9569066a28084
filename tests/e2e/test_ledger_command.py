"""`midwatch ledger`, and `investigate --record`: what left, and the same investigation again without a provider."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from midwatch.config.mcp import OURSELVES
from midwatch.domain.messages import Usage
from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from midwatch.store.driver import Row
from midwatch.store.engine import Store
from tests.commands import run_midwatch
from tests.fakes.mcp_process import FAKE_SERVER
from tests.fakes.openai_server import SUMMARY, OpenAIServer, by_turn, serve
from tests.replicas import open_fleet

ALERT = "The bilge pump runs hot.\n"
TURNS = (
    ScriptedTurn(
        thinking="Ich schaue – „gleich“ \x1b[31m nach: \x85\u2028 yes",
        text="I look.\n  - first: [a]\n\ttabs, and trailing blanks  ",
        calls=(
            ScriptedCall(name="deck.lookup", arguments={"key": "a", "n": [1, 2.5, None, True]}),
            ScriptedCall(name="deck.fail", arguments={"message": "no: such pump"}),
        ),
        usage=Usage(input_tokens=120, output_tokens=30, thinking_tokens=9, cache_read_tokens=64),
    ),
    ScriptedTurn(text="", calls=(ScriptedCall(name="deck.lookup", arguments='{ "key" : "b" }'),)),
    ScriptedTurn(text="The deck is dry; 1e3 litres were pumped.", usage=Usage(input_tokens=300, output_tokens=12)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    session_id: str
    model: OpenAIServer
    config: Path
    script: Path

    @property
    def received(self) -> list[bytes]:
        """The question for a summary comes last."""
        return [request.data for request in (*self.model.requests, *self.model.summaries)]


def write_config(folder: Path, provider: dict[str, Any], *, stages: Sequence[str] = ("watch",)) -> Path:
    folder.mkdir()
    transport = {"type": "stdio", "command": sys.executable, "args": [str(FAKE_SERVER)]}
    main = {
        "defaults": {"llm_provider": "main", "alert_type": "deck"},
        "mcp_servers": {"deck": {"transport": transport, "kinds": {"read": ["*"]}, "run_as": OURSELVES}},
        "agents": {"Mate": {"mcp_servers": ["deck"]}},
        "agent_chains": {
            "deck": {
                "alert_types": ["deck"],
                "stages": [{"name": stage, "agents": [{"name": "Mate"}]} for stage in stages],
            }
        },
    }
    (folder / "midwatch.yaml").write_text(json.encode_text(main), encoding="utf-8")
    (folder / "llm-providers.yaml").write_text(
        json.encode_text({"llm_providers": {"main": provider}}), encoding="utf-8"
    )
    return folder


async def run(*arguments: str | Path, dsn: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return await asyncio.to_thread(
        run_midwatch, *arguments, stdin=stdin, DATABASE_URL=dsn, MIDWATCH_HOME="/nonexistent", PYTHONUTF8="1"
    )


async def investigate(*arguments: str | Path, dsn: str) -> str:
    """The session's id."""
    done = await run("investigate", "-", "--json", *arguments, dsn=dsn, stdin=ALERT)
    assert (done.returncode, done.stderr) == (0, "")
    return json.decode(done.stdout.splitlines()[-1])["session_id"]


@asynccontextmanager
async def record(tmp_path: Path, dsn: str) -> AsyncGenerator[Recorded]:
    script = tmp_path / "incident.yaml"
    async with serve(by_turn(TURNS)) as model:
        config = write_config(tmp_path / "real", {"type": "openai", "model": "fake", "base_url": model.base_url})
        session_id = await investigate("--config-dir", config, "--record", script, dsn=dsn)
        yield Recorded(session_id=session_id, model=model, config=config, script=script)


async def read_timeline(store: Store, session_id: str) -> list[tuple[Any, ...]]:
    async with store.connect() as tx:
        rows: list[Row] = list(
            await tx.fetch(
                "SELECT t.event_type, t.status, t.sequence_number, x.content, t.metadata, c.tool_name, c.arguments "
                "FROM timeline_events t LEFT JOIN texts x USING (session_id, text_id) "
                "LEFT JOIN tool_calls c ON c.call_id = t.call_id "
                "WHERE t.session_id = $1 ORDER BY t.sequence_number",
                UUID(session_id),
            )
        )
        usage = await tx.fetch(
            "SELECT input_tokens, output_tokens, thinking_tokens, cache_read_tokens FROM llm_interactions "
            "WHERE session_id = $1 ORDER BY interaction_id",
            UUID(session_id),
        )
    return [tuple(row) for row in (*rows, *usage)]


async def test_a_recorded_investigation_is_played_again_without_a_provider(
    dsn: str, store: Store, tmp_path: Path
) -> None:
    async with record(tmp_path, dsn) as recorded:
        asked = len(recorded.received)
    replay = write_config(tmp_path / "replay", {"type": "scripted", "script": str(recorded.script)})
    session_id = await investigate("--config-dir", replay, dsn=dsn)
    timeline = await read_timeline(store, recorded.session_id)
    assert asked == len(TURNS) + 1
    assert {"llm_thinking", "llm_response", "llm_tool_call", "final_analysis"} <= {entry[0] for entry in timeline}
    assert await read_timeline(store, session_id) == timeline
    assert len(recorded.received) == asked


async def test_an_agent_that_works_in_two_stages_is_played_again_in_both(
    dsn: str, store: Store, tmp_path: Path
) -> None:
    told = iter([*TURNS, ScriptedTurn(text="I look again.", calls=TURNS[0].calls), ScriptedTurn(text="Still dry.")])
    script, stages = tmp_path / "incident.yaml", ("watch", "second watch")
    async with serve(lambda _: next(told)) as model:
        entry = {"type": "openai", "model": "fake", "base_url": model.base_url}
        config = write_config(tmp_path / "real", entry, stages=stages)
        recorded = await investigate("--config-dir", config, "--record", script, dsn=dsn)
    replay = write_config(tmp_path / "replay", {"type": "scripted", "script": str(script)}, stages=stages)
    played = await investigate("--config-dir", replay, dsn=dsn)
    timeline = await read_timeline(store, recorded)
    concluded = [entry[3] for entry in timeline if entry[0] == "final_analysis"]
    assert concluded == [TURNS[-1].text, "Still dry.", SUMMARY.text]
    assert await read_timeline(store, played) == timeline


async def test_the_ledger_lists_what_left_and_prints_it_byte_for_byte(dsn: str, tmp_path: Path) -> None:
    async with record(tmp_path, dsn) as recorded:
        shown = await run("ledger", recorded.session_id, dsn=dsn)
        listed = await run("ledger", recorded.session_id, "--json", dsn=dsn)
        requests = json.decode(listed.stdout)["requests"]
        printed = [await run("ledger", recorded.session_id, "--call", each["id"], dsn=dsn) for each in requests]
    assert [done.stdout.encode() for done in printed] == recorded.received
    assert {done.returncode for done in (shown, listed, *printed)} == {0}
    host = recorded.model.base_url.removeprefix("http://").removesuffix("/v1")
    *lines, last = shown.stdout.splitlines()[1:]
    for request, body, line in zip(requests, recorded.received, lines, strict=True):
        mark, day, time, *rest = line.split()
        assert (mark, f"{day}T{time}") == ("✓", request["sent_at"][:19])
        assert rest == ["main", host, f"{len(body):,}", sha256(body).hexdigest()[:12], request["id"]]
    assert last.startswith(f"4 requests, {sum(map(len, recorded.received)):,} bytes.")


async def test_the_ledger_of_a_server_is_read_over_its_api(dsn: str, tmp_path: Path) -> None:
    async with record(tmp_path, dsn) as recorded:
        here = await run("ledger", recorded.session_id, dsn=dsn)
        async with open_fleet(tmp_path, config_dir=recorded.config, environ={"DATABASE_URL": dsn}) as fleet:
            [replica] = await fleet.start("watch")
            url = str(replica.http.base_url)
            there = await run("ledger", recorded.session_id, "--server", url, dsn="postgresql://127.0.0.1:1/none")
            last = json.decode((await run("ledger", recorded.session_id, "--json", dsn=dsn)).stdout)["requests"][-1]
            body = await run("ledger", recorded.session_id, "--call", last["id"], "--server", url, dsn=dsn)
            unknown = await run("ledger", recorded.session_id, "--call", str(new_id()), "--server", url, dsn=dsn)
    assert (there.returncode, there.stdout) == (0, here.stdout)
    assert body.stdout.encode() == recorded.received[-1]
    assert unknown.returncode == 2
    assert unknown.stderr.startswith("error: there is no request ")


async def test_a_body_that_was_tampered_with_is_told(dsn: str, store: Store, tmp_path: Path) -> None:
    async with record(tmp_path, dsn) as recorded:
        async with store.connect() as tx:
            await tx.execute("UPDATE outbound_requests SET literal = set_byte(literal, 3, 33) WHERE base_id IS NULL")
        shown = await run("ledger", recorded.session_id, dsn=dsn)
        first = json.decode((await run("ledger", recorded.session_id, "--json", dsn=dsn)).stdout)["requests"][0]
        body = await run("ledger", recorded.session_id, "--call", first["id"], dsn=dsn)
    assert shown.returncode == 1
    assert "✗" in shown.stdout
    assert (body.returncode, body.stdout) == (2, "")
    assert "does not add up" in body.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ledger", str(new_id())], "there is no session"),
        (["ledger", str(new_id()), "--call", str(new_id())], "there is no request"),
        (["ledger", str(new_id()), "--call", str(new_id()), "--json"], "leave out --json or --call"),
        (["investigate", "-", "--record", "x.yaml", "--server", "http://x"], "leave out --record or --server"),
        (["investigate", "-", "--record", "/"], "is a directory"),
    ],
)
async def test_what_cannot_be_shown_is_said(dsn: str, arguments: list[str], words: str) -> None:
    done = await run(*arguments, dsn=dsn, stdin=ALERT)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
