"""A tool that changes after somebody vouched for it: the doctor says so, and a person looks and accepts."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from midwatch.domain.session import SessionStatus
from midwatch.kit import json
from tests.commands import run_midwatch
from tests.fakes.openai_server import by_turn, serve
from tests.safety.requirements import requirement
from tests.scenes import CONCLUSION, look, open_scene

PROGRAM = Path(__file__).parents[1] / "fakes" / "talkative_server.py"


class Deck:
    """A folder whose one server describes its tools as a file says."""

    def __init__(self, folder: Path, dsn: str) -> None:
        self.folder, self.dsn = folder, dsn
        self.descriptions = folder / "descriptions"
        command = {"command": sys.executable, "args": [str(PROGRAM), str(folder / "none"), str(self.descriptions)]}
        server = {"transport": {"type": "stdio", **command}, "kinds": {"read": ["*"]}, "run_as": "self"}
        stages = [{"name": "watch", "agents": [{"name": "Mate"}]}]
        main = {
            "defaults": {"llm_provider": "demo", "alert_type": "deck"},
            "mcp_servers": {"deck": server},
            "agents": {"Mate": {"mcp_servers": ["deck"]}},
            "agent_chains": {"deck": {"alert_types": ["deck"], "stages": stages}},
        }
        (folder / "midwatch.yaml").write_text(json.encode_text(main))
        (folder / "llm-providers.yaml").write_text("llm_providers: {}\n")
        self.describe({})

    def describe(self, descriptions: Mapping[str, str]) -> None:
        self.descriptions.write_text(json.encode_text(descriptions))

    def run(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return run_midwatch(*arguments, "--config-dir", self.folder, stdin=stdin, DATABASE_URL=self.dsn, COLUMNS="300")


@pytest.fixture
def deck(tmp_path: Path, dsn: str) -> Deck:
    return Deck(tmp_path, dsn)


@requirement("kind:changed-is-unknown")
def test_a_change_is_found_shown_and_accepted(deck: Deck) -> None:
    first = deck.run("tools", "accept", "deck")
    assert (first.returncode, first.stdout) == (0, "Nothing has changed.\n"), first.stderr
    assert "accept" not in deck.run("doctor").stdout

    deck.describe({"UPPER": "Deletes everything"})
    examined = deck.run("doctor")
    assert "UPPER: not what you vouched for any more" in " ".join(examined.stdout.split())
    assert f"midwatch tools accept deck --config-dir {deck.folder}" in examined.stdout

    declined = deck.run("tools", "accept", "deck", "UPPER", stdin="n\n")
    assert declined.returncode == 1
    assert declined.stdout.splitlines()[:5] == [
        "deck.UPPER (- vouched for, + now)",
        '    "annotations": {},',
        '  - "description": "Says its arguments again",',
        '  + "description": "Deletes everything",',
        '    "name": "UPPER",',
    ]

    accepted = deck.run("tools", "accept", "deck", "--yes")
    assert (accepted.returncode, accepted.stdout.splitlines()[-1]) == (0, "Accepted: deck.UPPER")
    assert "tool_definition_accepted" in accepted.stderr
    assert "accept" not in deck.run("doctor").stdout


@pytest.mark.parametrize(
    ("arguments", "error"),
    [(["dock"], "there is no tool server dock"), (["deck", "lower"], "there is no tool of deck")],
)
def test_what_is_not_there_cannot_be_accepted(deck: Deck, arguments: list[str], error: str) -> None:
    refused = deck.run("tools", "accept", *arguments)
    assert refused.returncode == 2
    assert error in refused.stderr


@requirement("kind:changed-is-unknown")
async def test_a_session_says_which_tool_has_changed_and_treats_it_as_a_write(dsn: str, tmp_path: Path) -> None:
    async with serve(by_turn([look("pump"), CONCLUSION])) as model, open_scene(tmp_path, model=model, dsn=dsn) as scene:
        await scene.fetch(
            "INSERT INTO tool_pins (server_id, tool_name, fingerprint, definition) VALUES ('deck', 'lookup', 'x', '{}')"
        )
        (replica,) = await scene.fleet.start("only")
        session_id = await replica.submit()
        assert await scene.ended(session_id) is SessionStatus.COMPLETED
        unverified, changed = sorted((await replica.show(session_id))["warnings"])
        assert changed.startswith("tool deck.lookup is not what it was")
        assert unverified == "changed, and not looked at since: mcp:deck"
        (verdict,) = await scene.fetch("SELECT verdict FROM tool_calls")
        assert json.decode(verdict["verdict"])["rule"] == "pin:changed"
        shown = (await replica.http.get("/api/v1/system/warnings")).json()["warnings"]
        assert [told["category"] for told in shown] == ["mcp_tool_changed"]
        servers = (await replica.http.get("/api/v1/system/mcp-servers")).json()["servers"]
        assert [server["healthy"] for server in servers if server["id"] == "deck"] == [True]
