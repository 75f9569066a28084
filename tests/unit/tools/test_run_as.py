"""Whom tool servers run as."""

import os
import pwd
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from midwatch.config.builtins import build_host_servers
from midwatch.config.mcp import OURSELVES, McpServer, StdioTransport
from midwatch.domain.errors import ToolServerUnavailable
from midwatch.kit.users import User, find_nobody, find_user, may_become
from midwatch.tools.mcp.child import start_child
from midwatch.tools.mcp.identity import choose_user, move_in
from midwatch.tools.mcp.server import open_mcp_server
from tests.fakes.mcp_process import FAKE_SERVER

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can start programs as somebody else")
ME = pwd.getpwuid(os.geteuid()).pw_name


def server(run_as: str | None, command: str = sys.executable) -> McpServer:
    transport = StdioTransport(type="stdio", command=command, args=(str(FAKE_SERVER),))
    return McpServer(transport=transport, run_as=run_as)


async def look_at(config: McpServer) -> dict[str, list[str]]:
    """What the kernel says of a child that runs as this server would."""
    user = choose_user("fake", config)
    child = await start_child(["cat", "/proc/self/status"], environment={"PATH": "/usr/bin:/bin"}, user=user)
    try:
        lines: list[str] = []
        while (line := await child.read_line()) is not None:
            lines.append(line.decode())
    finally:
        await child.stop()
    return {name: rest.split() for name, _, rest in (line.partition(":") for line in lines)}


@pytest.fixture
def in_a_group() -> Generator[None]:
    before = os.getgroups()
    os.setgroups([*before, 4321])
    yield
    os.setgroups(before)


@as_root
@pytest.mark.usefixtures("in_a_group")
@pytest.mark.parametrize("run_as", [None, "nobody"])
async def test_roots_children_are_nobody_and_in_no_group_of_ours(run_as: str | None) -> None:
    status = await look_at(server(run_as))
    nobody = find_nobody()
    assert status["Uid"] == [str(nobody.uid)] * 4
    assert status["Gid"] == [str(nobody.gid)] * 4
    assert status["Groups"] == []
    assert status["CapEff"] == ["0000000000000000"]


@pytest.mark.parametrize("run_as", [OURSELVES, ME])
async def test_a_child_may_keep_our_user_when_that_is_written(run_as: str) -> None:
    assert (await look_at(server(run_as)))["Uid"] == [str(os.geteuid())] * 4


@as_root
async def test_a_program_another_user_may_not_start_says_as_whom(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    program = tmp_path / "server"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    with pytest.raises(ToolServerUnavailable, match=r"as user nobody \(see run_as\): Permission denied"):
        async with open_mcp_server("fake", server(None, str(program)), environment={}):
            pytest.fail("it is not open")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may become anybody")
def test_whoever_is_no_root_becomes_nobody_else() -> None:
    assert choose_user("fake", server(None)) is None
    with pytest.raises(ToolServerUnavailable, match=r"only root may start it as user root \(see run_as\)"):
        choose_user("fake", server("root"))


def test_our_own_server_keeps_our_user_to_see_the_whole_machine() -> None:
    assert choose_user("midwatch-host", build_host_servers()["midwatch-host"]) is None


def test_a_user_that_does_not_exist_is_named() -> None:
    with pytest.raises(ToolServerUnavailable, match='there is no user "keelhauled"'):
        choose_user("fake", server("keelhauled"))


def test_users_are_found_by_name_and_number() -> None:
    assert find_user(ME) == find_user(str(os.geteuid()))
    assert find_user("keelhauled") is None


@as_root
def test_only_root_may_become_another() -> None:
    root = find_user("root")
    assert root is not None
    assert may_become(find_nobody())
    child = os.fork()
    if child == 0:
        os.setuid(find_nobody().uid)
        os._exit(may_become(root))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_another_users_home_is_its_own_unless_written() -> None:
    user = User(name="deck", uid=7, gid=7, home="/home/deck")
    ours = {"HOME": "/root", "USER": "root", "PATH": "/bin"}
    assert move_in(ours, user, written={}) == {"HOME": "/home/deck", "USER": "deck", "PATH": "/bin"}
    assert move_in({"PATH": "/bin"}, user, written={}) == {"PATH": "/bin"}
    assert move_in(ours, user, written={"HOME": "/data"})["HOME"] == "/data"
