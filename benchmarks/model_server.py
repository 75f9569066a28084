"""Providers of all protocols in a process of their own, so that nobody is charged for them. It ends with its input."""

import asyncio
import json
import sys
from contextlib import AsyncExitStack

from midwatch.domain.messages import Usage
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from tests.fakes.protocols import ALL
from tests.fakes.provider_server import serve_dialect

_ANSWER = ScriptedTurn(
    thinking="The load is high but steady, and the disks are half empty. Nobody has touched the machine for days.",
    text="I look at the next host of the list and compare it with those before, one after another, until one differs.",
    calls=(ScriptedCall(name="deck.lookup", arguments={"key": "host-7"}),),
    usage=Usage(input_tokens=1000, output_tokens=40),
    chunk_size=5,
)


async def _serve() -> None:
    async with AsyncExitStack() as stack:
        addresses: dict[str, str] = {}
        for spoken in ALL:
            serving = serve_dialect(lambda _: _ANSWER, dialect=spoken.dialect, record=False)
            addresses[spoken.name] = spoken.address(await stack.enter_async_context(serving))
        sys.stdout.write(json.dumps(addresses) + "\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_serve())
