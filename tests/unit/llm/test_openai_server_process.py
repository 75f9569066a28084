"""The loopback server as a process of its own, as process tests and the benchmark start it."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

from midwatch.domain.messages import AssistantMessage, Message, UserMessage
from midwatch.llm.http import new_http_client
from midwatch.llm.model import ModelRequest, TextChunk
from midwatch.llm.providers.openai.client import open_chat_completions

ROOT = Path(__file__).parents[3]


@asynccontextmanager
async def run_server(*options: str) -> AsyncGenerator[tuple[Process, str]]:
    program = (sys.executable, "-m", "tests.fakes.openai_server", *options)
    process = await asyncio.create_subprocess_exec(*program, stdout=PIPE, cwd=ROOT)
    try:
        yield process, (await read_line(process)).removeprefix("listening on ")
    finally:
        process.kill()
        await process.wait()


async def read_line(process: Process) -> str:
    assert process.stdout is not None
    return (await process.stdout.readline()).decode().strip()


async def ask(base_url: str, *messages: Message) -> str:
    async with new_http_client() as http:
        model = open_chat_completions(provider="local", name="gpt", base_url=base_url, api_key=None, http=http)
        request = ModelRequest(messages=messages, tools=(), agent="A")
        async with aclosing(model.stream(request)) as chunks:
            return "".join([chunk.text async for chunk in chunks if isinstance(chunk, TextChunk)])


async def test_a_held_turn_is_answered_once_the_file_is_gone(tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text("turns: [{text: one}, {text: two}]")
    hold = tmp_path / "hold"
    hold.touch()
    options = ("--script", str(script), "--delay-ms", "1", "--hold-turn", "1", "--hold-file", str(hold))
    async with asyncio.timeout(30), run_server(*options) as (process, base_url):
        question = UserMessage(text="go")
        assert await ask(base_url, question) == "one"
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(ask(base_url, question, AssistantMessage(text="one")))
            assert await read_line(process) == "holding turn 1"
            assert not asking.done()
            hold.unlink()
        assert asking.result() == "two"
