"""A loopback server that speaks OpenAI's streaming chat completions over real HTTP, from a script."""

import argparse
import asyncio
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from midwatch.llm.scripted import ScriptedTurn, load_turns
from tests.fakes.openai_events import list_events
from tests.fakes.provider_server import (
    SUMMARY,
    Answer,
    BeforeTurn,
    Body,
    Cut,
    Dialect,
    ProviderServer,
    Received,
    Reply,
    Status,
    Stream,
    hold_turn,
    hold_turn_while,
    in_order,
    say,
    serve_dialect,
)

__all__ = [
    "SUMMARY",
    "Answer",
    "Body",
    "Cut",
    "OpenAIServer",
    "Received",
    "Reply",
    "Status",
    "Stream",
    "by_turn",
    "count_turns",
    "cut_after",
    "from_script",
    "hold_turn",
    "in_order",
    "malformed_after",
    "serve",
    "stall_after",
]


def count_turns(body: Body) -> int:
    return sum(message["role"] == "assistant" for message in body["messages"])


def _list_events(turn: ScriptedTurn, number: int) -> list[bytes]:
    return list_events(turn, number=number)


OpenAIServer = ProviderServer
CHAT_COMPLETIONS = Dialect(path="/chat/completions", count_turns=count_turns, list_events=_list_events)

by_turn = CHAT_COMPLETIONS.by_turn
from_script = CHAT_COMPLETIONS.from_script
cut_after = CHAT_COMPLETIONS.cut_after
stall_after = CHAT_COMPLETIONS.stall_after
malformed_after = CHAT_COMPLETIONS.malformed_after


def serve(
    answer: Answer,
    *,
    port: int = 0,
    before_turn: BeforeTurn | None = None,
    delay: float = 0.0,
    record: bool = True,
    summary: Reply = SUMMARY,
) -> AbstractAsyncContextManager[ProviderServer]:
    return serve_dialect(
        answer,
        dialect=CHAT_COMPLETIONS,
        port=port,
        before_turn=before_turn,
        delay=delay,
        record=record,
        summary=summary,
    )


async def _serve_forever(options: argparse.Namespace) -> None:
    before = None
    if options.hold_file is not None:
        before = hold_turn_while(options.hold_turn, is_held=options.hold_file.exists)
    answer = from_script(load_turns(options.script))
    delay = options.delay_ms / 1000
    async with serve(answer, port=options.port, before_turn=before, delay=delay, record=False) as server:
        say(f"listening on {server.base_url}")
        await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="Serves scripted chat completions on 127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path, required=True)
    parser.add_argument("--delay-ms", type=float, default=0.0, help="think time before each answer")
    parser.add_argument("--hold-turn", type=int, default=0, help="the turn to hold, counted from 0")
    parser.add_argument("--hold-file", type=Path, help="hold that turn while this file exists")
    asyncio.run(_serve_forever(parser.parse_args()))


if __name__ == "__main__":
    main()
