"""The pipes under MCP: when bytes may leave, what is read, and how a child ends."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from midwatch.domain.errors import LeaseLost
from midwatch.tools.dispatch import guarded
from midwatch.tools.mcp.child import start_child
from midwatch.tools.mcp.losses import ConnectionLost
from midwatch.tools.mcp.transport import StdioLink, open_stdio
from tests.fakes.processes import is_dead_soon
from tests.waiting import eventually

# Reads nothing until the file exists, then copies its input to its output.
SLEEPY_COPY = """
import pathlib, shutil, sys, time
while not pathlib.Path(sys.argv[1]).exists():
    time.sleep(0.005)
shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)
"""

# Reads nothing until it is told to end, then keeps whatever it was sent.
KEEP_AT_END = """
import pathlib, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
print('{"jsonrpc":"2.0","method":"ready"}', flush=True)
signal.sigwait([signal.SIGTERM])
pathlib.Path(sys.argv[1]).write_bytes(sys.stdin.buffer.read())
"""

IGNORE_EVERYTHING = """
import signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
grandchild = subprocess.Popen(["sleep", "600"])
print(grandchild.pid, flush=True)
while True:
    signal.pause()
"""

START_AND_DIE = """
import asyncio, os, signal, sys
from midwatch.tools.mcp.child import start_child

async def main():
    child = await start_child(["sleep", "600"], environment=dict(os.environ))
    print(child.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


STOP = JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled")


@asynccontextmanager
async def linked(*command: str) -> AsyncGenerator[StdioLink]:
    async with (
        asyncio.timeout(60),
        open_stdio(command, environment=dict(os.environ), server_id="test", on_over=lambda: None) as link,
    ):
        yield link


def request(method: str, *, text: str = "") -> SessionMessage:
    return SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=1, method=method, params={"text": text}))


def answer(text: str) -> str:
    return f"import sys; sys.stdout.buffer.write({text.encode()!r}); sys.stdout.flush(); sys.stdin.read()"


async def test_a_tool_call_asks_its_guard_in_the_callers_task_and_other_requests_do_not() -> None:
    asked: list[asyncio.Task[None] | None] = []
    async with linked("cat") as link:
        with guarded(lambda: asked.append(asyncio.current_task())):
            await link.outgoing.send(request("tools/list"))
            assert asked == []
            await link.outgoing.send(request("tools/call"))
            assert asked == [asyncio.current_task()]


async def test_the_guard_is_asked_only_once_the_bytes_can_leave_at_once(tmp_path: Path) -> None:
    asked: list[bool] = []
    awake = tmp_path / "awake"
    async with linked(sys.executable, "-c", SLEEPY_COPY, str(awake)) as link, asyncio.TaskGroup() as group:
        await link.outgoing.send(request("tools/list", text="x" * 1_000_000))
        with guarded(lambda: asked.append(awake.exists())):
            call = group.create_task(link.outgoing.send(request("tools/call")))
        for _ in range(10):
            await asyncio.sleep(0)
        assert asked == []
        awake.touch()
        await call
        assert asked == [True]


async def test_a_refusing_guard_lets_no_byte_out() -> None:
    def refuse() -> None:
        raise LeaseLost

    async with linked("cat") as link:
        with guarded(refuse), pytest.raises(LeaseLost):
            await link.outgoing.send(request("tools/call", text="refused"))
        await link.outgoing.send(request("tools/call", text="later"))
        echoed = (await link.incoming.receive()).message
    assert isinstance(echoed, JSONRPCRequest)
    assert echoed.params == {"text": "later"}


async def test_a_notification_does_not_wait_for_a_child_that_does_not_read(tmp_path: Path) -> None:
    notification = SessionMessage(STOP)
    awake = tmp_path / "awake"
    async with linked(sys.executable, "-c", SLEEPY_COPY, str(awake)) as link:
        await link.outgoing.send(request("tools/list", text="x" * 1_000_000))
        async with asyncio.timeout(1):
            await link.outgoing.send(notification)
        awake.touch()


async def test_a_call_the_child_has_not_taken_is_not_completed_while_stopping(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    async with linked(sys.executable, "-c", KEEP_AT_END, str(kept)) as link:
        await link.incoming.receive()
        await link.outgoing.send(request("tools/call", text="x" * 1_000_000))
    assert 0 < len(kept.read_bytes()) < 1_000_000


async def check_not_sent(link: StdioLink) -> None:
    with pytest.raises(ConnectionLost) as lost:
        await link.outgoing.send(request("tools/call"))
    assert not lost.value.sent
    with pytest.raises(anyio.ClosedResourceError):
        await link.outgoing.send(SessionMessage(STOP))


async def test_nothing_is_sent_to_a_child_that_is_gone() -> None:
    async with linked("true") as link:
        with pytest.raises(anyio.EndOfStream):
            await link.incoming.receive()
        assert link.is_over
        await check_not_sent(link)


async def test_a_child_that_takes_no_more_input_is_over_before_it_ends() -> None:
    async with linked(sys.executable, "-c", "import os, time; os.close(0); time.sleep(600)") as link:
        assert not link.is_over

        async def is_refused() -> bool:
            try:
                await link.outgoing.send(SessionMessage(STOP))
            except anyio.ClosedResourceError:
                return True
            return False

        await eventually(is_refused)
        assert link.is_over
        await check_not_sent(link)


async def test_messages_come_whole_however_they_are_cut() -> None:
    program = """
import sys, time
for piece in ('{"jsonrpc":"2.0",', '"id":7,"result":{}}', '\\n{"jsonrpc":"2.0","id":8,"result":{}}\\n{"json'):
    print(piece, end="", flush=True)
    time.sleep(0.02)
"""
    async with linked(sys.executable, "-c", program) as link:
        messages = [message.message async for message in link.incoming]
    assert messages == [JSONRPCResponse(jsonrpc="2.0", id=number, result={}) for number in (7, 8)]


@pytest.mark.parametrize(
    "ignored",
    ["not JSON", "[1, 2]", "null", '{"id": true, "result": 1}', '{"id": 1, "method": 5}', "[" * 100_000, "\\u0000", ""],
)
async def test_lines_that_are_no_messages_are_skipped(ignored: str) -> None:
    good = '{"jsonrpc":"2.0","id":7,"result":{}}'
    async with linked(sys.executable, "-c", answer(f"{ignored}\n{good}\n")) as link:
        assert (await link.incoming.receive()).message == JSONRPCResponse(jsonrpc="2.0", id=7, result={})


@pytest.mark.parametrize("broken", ['"result": "text"', '"result": null', '"error": "text"', '"error": {"code": "x"}'])
async def test_a_broken_answer_still_reaches_the_one_who_waits_for_it(broken: str) -> None:
    async with linked(sys.executable, "-c", answer(f'{{"jsonrpc":"2.0","id":7,{broken}}}\n')) as link:
        assert (await link.incoming.receive()).message == JSONRPCResponse(jsonrpc="2.0", id=7, result={})


async def test_broken_text_costs_its_characters_only() -> None:
    line = b'{"jsonrpc":"2.0","id":7,"result":{"text":"a\xff\\ud800b"}}\n'
    program = f"import sys; sys.stdout.buffer.write({line!r})"
    async with linked(sys.executable, "-c", program) as link:
        message = (await link.incoming.receive()).message
    assert isinstance(message, JSONRPCResponse)
    assert message.result == {"text": "a��b"}


async def test_a_message_that_never_ends_is_given_up_before_it_eats_the_memory() -> None:
    async with linked("head", "-c", "40000000", "/dev/zero") as link:
        with pytest.raises(anyio.EndOfStream):
            await link.incoming.receive()
        assert link.failure is not None
        assert "10485760" in link.failure


async def test_a_stubborn_child_and_what_it_started_are_killed() -> None:
    child = await start_child([sys.executable, "-c", IGNORE_EVERYTHING], environment=dict(os.environ))
    grandchild = await child.read_line()
    assert grandchild is not None
    async with asyncio.timeout(60):
        await child.stop()
    assert is_dead_soon(child.pid)
    assert is_dead_soon(int(grandchild))


async def test_a_stop_that_is_cancelled_still_kills() -> None:
    child = await start_child([sys.executable, "-c", IGNORE_EVERYTHING], environment=dict(os.environ))
    assert await child.read_line() is not None
    async with asyncio.timeout(1), asyncio.TaskGroup() as group:
        stopping = group.create_task(child.stop())
        await asyncio.sleep(0)
        stopping.cancel()
    assert stopping.cancelled()
    assert is_dead_soon(child.pid)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can tell a child of its parent's death")
def test_a_killed_owner_leaves_no_server_behind() -> None:
    command = [sys.executable, "-c", START_AND_DIE]
    owner = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, timeout=20)
    assert owner.returncode == -signal.SIGKILL
    assert is_dead_soon(int(owner.stdout))
