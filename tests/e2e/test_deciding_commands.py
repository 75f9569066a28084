"""`midwatch approvals`, `midwatch stop`, and a person at the terminal who is asked: as people meet them."""

import hashlib
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from midwatch.kit import json
from midwatch.kit.ids import new_id
from tests.api.edge import CONCLUSION, call, write_config
from tests.fakes.mcp_process import FAKE_SERVER, read_effects
from tests.programs import PROGRAM, make_environ, run_program
from tests.replicas import Fleet, Replica, open_fleet
from tests.terminals import CTRL_C, open_terminal
from tests.waiting import eventually

TURNS = [
    call("echo", text="before"),
    call("restart", name="pump \u202e"),
    call("echo", text="after"),
    CONCLUSION,
]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A script that looks, changes something, looks and concludes, where every change needs a yes."""
    folder = tmp_path / "config"
    folder.mkdir()
    write_config(folder, turns=TURNS)
    path = folder / "midwatch.yaml"
    main = json.decode(path.read_text(encoding="utf-8"))
    options = [str(FAKE_SERVER), "--effects", str(tmp_path / "effects")]
    main["mcp_servers"]["deck"] |= {
        "transport": {"type": "stdio", "command": sys.executable, "args": options},
        "kinds": {"read": ["echo"], "write": ["restart"]},
    }
    main["safety"] = {"control_level": "controlled"}
    path.write_text(json.encode_text(main), encoding="utf-8")
    return folder


@pytest.fixture
def alert(tmp_path: Path) -> Path:
    path = tmp_path / "alert.txt"
    path.write_text("The bilge pump runs hot.\n", encoding="utf-8")
    return path


@pytest.fixture
async def fleet(dsn: str, config: Path, tmp_path: Path) -> AsyncGenerator[Fleet]:
    async with open_fleet(tmp_path, config_dir=config, environ={"DATABASE_URL": dsn}) as fleet:
        yield fleet


async def find_waiting(replica: Replica) -> dict[str, Any]:
    async def look() -> dict[str, Any] | None:
        listed = (await replica.http.get("/api/v1/approvals", params={"state": "waiting"})).json()["approvals"]
        return listed[0] if listed else None

    return await eventually(look)


async def has_ended(replica: Replica, session_id: Any) -> dict[str, Any] | None:
    session = await replica.show(session_id)
    return session if session["status"] == "completed" else None


async def test_an_approver_decides_at_a_server(fleet: Fleet, tmp_path: Path, home: Path) -> None:
    (replica,) = await fleet.start("first")
    url = str(replica.http.base_url)
    session_id = await replica.submit()
    approval_id = (await find_waiting(replica))["approval_id"]
    listed = run_program("approvals", "list", "--server", url, home=home)
    assert approval_id in listed.stdout
    assert "deck.restart" in listed.stdout
    shown = run_program("approvals", "show", approval_id, "--server", url, home=home)
    assert '"name": "pump \\u202e"' in shown.stdout
    assert "level:controlled" in shown.stdout
    assert "which nobody has checked" in shown.stdout
    refused = run_program("approvals", "approve", approval_id, "--server", url, home=home)
    assert refused.returncode == 2
    assert "--token-file" in refused.stderr
    secret = str(fleet.home / "approver.token")
    done = run_program("approvals", "approve", approval_id, "--server", url, "--token-file", secret, home=home)
    assert (done.returncode, done.stdout) == (0, "approved: deck.restart\n")
    await eventually(lambda: has_ended(replica, session_id))
    assert len(read_effects(tmp_path / "effects")) == 1
    again = run_program("approvals", "deny", approval_id, "--server", url, "--token-file", secret, home=home)
    assert (again.returncode, again.stdout) == (2, "")
    assert "the approval is approved" in again.stderr
    assert "Nothing waits" in run_program("approvals", "list", "--server", url, home=home).stdout


async def test_an_approver_decides_in_the_database(dsn: str, fleet: Fleet, tmp_path: Path, home: Path) -> None:
    (replica,) = await fleet.start("first")
    session_id = await replica.submit()
    approval_id = (await find_waiting(replica))["approval_id"]
    assert approval_id in run_program("approvals", "list", home=home, DATABASE_URL=dsn).stdout
    done = run_program("approvals", "deny", approval_id, "--reason", "not now", home=home, DATABASE_URL=dsn)
    assert (done.returncode, done.stdout) == (0, "denied: deck.restart\n")
    await eventually(lambda: has_ended(replica, session_id))
    assert read_effects(tmp_path / "effects") == []
    shown = run_program("approvals", "show", approval_id, home=home, DATABASE_URL=dsn)
    assert shown.stdout.rstrip().endswith(": not now")
    missing = run_program("approvals", "show", str(new_id()), home=home, DATABASE_URL=dsn)
    assert (missing.returncode, missing.stdout) == (2, "")


async def test_every_change_is_stopped_and_allowed_again(dsn: str, home: Path) -> None:
    def stop(*arguments: str) -> tuple[int, str]:
        result = run_program("stop", *arguments, home=home, DATABASE_URL=dsn)
        return result.returncode, result.stdout or result.stderr

    run_program("db", "upgrade", home=home, DATABASE_URL=dsn)
    assert stop("--status") == (0, "Changes are not stopped.\n")
    assert stop()[0] == 2
    status, said = stop("--reason", "wrong pumps")
    assert status == 0
    assert "Every change is stopped since" in said
    assert "wrong pumps" in said
    assert "wrong pumps" in stop("--status")[1]
    assert stop("--lift", "--reason", "rules corrected")[0] == 0
    assert stop("--status") == (0, "Changes are not stopped.\n")
    status, said = stop("--lift")
    assert status == 2
    assert "no emergency stop is active" in said


async def test_whoever_sits_at_the_terminal_is_asked_and_says_yes(
    dsn: str, config: Path, alert: Path, home: Path, tmp_path: Path
) -> None:
    environ = make_environ(home, {"DATABASE_URL": dsn, "LANG": "C.UTF-8"})
    command = (PROGRAM, "investigate", alert, "--config-dir", config)
    async with open_terminal(*command, environ=environ) as terminal:
        shown = await terminal.see("Approve? [y/N]")
        assert "deck.restart needs a yes" in shown
        assert '"name": "pump \\u202e"' in shown
        terminal.press(b"y\n")
        await terminal.see("Reason, or Enter for none:")
        terminal.press(b"it is stuck\n")
        assert await terminal.end() == 0
    assert "approved by" in terminal.shown
    assert "it is stuck" in terminal.shown
    assert len(read_effects(tmp_path / "effects")) == 1


async def test_whoever_sits_at_the_terminal_sees_by_which_files_a_command_acts(
    dsn: str, config: Path, alert: Path, home: Path, tmp_path: Path
) -> None:
    script, mark = tmp_path / "fix.sh", tmp_path / "mark"
    script.write_text(f"touch {mark}\n", encoding="utf-8")
    write_config(config, turns=[call("shell", command=f"bash {script}"), call("echo", text="after"), CONCLUSION])
    path = config / "midwatch.yaml"
    main = json.decode(path.read_text(encoding="utf-8"))
    options = [str(FAKE_SERVER), "--shell", "--runs"]
    main["mcp_servers"]["deck"] |= {
        "transport": {"type": "stdio", "command": sys.executable, "args": options},
        "kinds": {"read": ["echo", "shell"]},
    }
    main["safety"] = {"control_level": "controlled"}
    path.write_text(json.encode_text(main), encoding="utf-8")
    environ = make_environ(home, {"DATABASE_URL": dsn, "LANG": "C.UTF-8"})
    async with open_terminal(PROGRAM, "investigate", alert, "--config-dir", config, environ=environ) as terminal:
        shown = "".join((await terminal.see("Approve? [y/N]")).split())
        assert f"withfile{script}sha256{hashlib.sha256(script.read_bytes()).hexdigest()}" in shown
        terminal.press(b"y\n")
        await terminal.see("Reason, or Enter for none:")
        terminal.press(b"\n")
        assert await terminal.end() == 0
    assert mark.exists()


async def test_enter_alone_is_a_no(dsn: str, config: Path, alert: Path, home: Path, tmp_path: Path) -> None:
    environ = make_environ(home, {"DATABASE_URL": dsn, "LANG": "C.UTF-8"})
    command = (PROGRAM, "investigate", alert, "--config-dir", config)
    async with open_terminal(*command, environ=environ) as terminal:
        await terminal.see("Approve? [y/N]")
        terminal.press(b"\n")
        await terminal.see("Reason, or Enter for none:")
        terminal.press(b"\n")
        assert await terminal.end() == 0
    assert "denied by" in terminal.shown
    assert "APPROVAL_DENIED" in terminal.shown
    assert read_effects(tmp_path / "effects") == []


async def test_ctrl_c_at_the_question_cancels_and_decides_nothing(
    dsn: str, config: Path, alert: Path, home: Path, tmp_path: Path
) -> None:
    environ = make_environ(home, {"DATABASE_URL": dsn, "LANG": "C.UTF-8"})
    command = (PROGRAM, "investigate", alert, "--config-dir", config)
    async with open_terminal(*command, environ=environ) as terminal:
        await terminal.see("Approve? [y/N]")
        terminal.press(CTRL_C)
        assert await terminal.end() == 130
    assert "Traceback" not in terminal.shown
    listed = run_program("approvals", "list", "--state", "all", home=home, DATABASE_URL=dsn).stdout
    assert "cancelled" in listed
    assert read_effects(tmp_path / "effects") == []


async def test_without_a_terminal_nobody_is_asked_and_somebody_else_can_decide(
    dsn: str, config: Path, alert: Path, home: Path, fleet: Fleet
) -> None:
    (replica,) = await fleet.start("first")
    session_id = await replica.submit(alert.read_text(encoding="utf-8"))
    approval_id = (await find_waiting(replica))["approval_id"]
    run_program("approvals", "approve", approval_id, home=home, DATABASE_URL=dsn)
    await eventually(lambda: has_ended(replica, session_id))
    followed = run_program(
        "investigate", "--follow", str(session_id), "--config-dir", config, home=home, DATABASE_URL=dsn
    )
    assert followed.returncode == 0
    assert "Approve?" not in followed.stdout
    assert "? waiting for approval: deck.restart" in followed.stdout
    assert f"midwatch approvals show {approval_id}" in followed.stdout
    assert "approved by" in followed.stdout
