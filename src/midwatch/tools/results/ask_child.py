"""Puts a question about a result to a process that is ended when it takes too long, or when nobody waits any more."""

import asyncio
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from midwatch.domain.tools import ToolResult
from midwatch.kit.json import encode
from midwatch.kit.process import die_with_parent
from midwatch.tools.failure import FailureCode
from midwatch.tools.results.bounds import LONGEST_WAIT
from midwatch.tools.results.child import REFUSED

_PROGRAM = ("-I", "-m", "midwatch.tools.results.child")
_TOO_MUCH = "This asks for more time or memory than a question may take. Ask for something simpler or narrower."


async def ask_child(name: str, content: bytes, arguments: Mapping[str, Any]) -> ToolResult:
    """Never raises but when it is cancelled."""
    question = encode({"name": name, "arguments": arguments})
    try:
        process = await _start()
    except OSError:
        return ToolResult(content="Results cannot be looked into just now; try again.", error=FailureCode.TOOL_ERROR)
    try:
        async with asyncio.timeout(LONGEST_WAIT):
            answer, _ = await process.communicate(question + b"\n" + content)
    except TimeoutError:
        return ToolResult(content=_TOO_MUCH, error=FailureCode.TIMEOUT)
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    match process.returncode:
        case 0:
            return ToolResult(content=answer.decode())
        case _ if process.returncode == REFUSED:
            return ToolResult(content=answer.decode(), error=FailureCode.TOOL_ERROR)
        case _:
            return ToolResult(content=_TOO_MUCH, error=FailureCode.TIMEOUT)


async def _start() -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *_PROGRAM,
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env={},
        cwd="/",
        start_new_session=True,
        preexec_fn=die_with_parent(signal.SIGTERM),
    )
