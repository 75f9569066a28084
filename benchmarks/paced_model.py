"""A model that takes its time: each turn is streamed evenly over some seconds.

In a process of its own, so that nobody is charged for it. It ends with its input.
"""

import argparse
import asyncio
import sys

from benchmarks.workload import SERVER
from midwatch.domain.messages import Usage
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from tests.fakes.openai_events import list_events

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_SAID = b'"role":"assistant"'
_WORDS = "I look at the next host of the list and compare it with those before, one after another. "
_USAGE = Usage(input_tokens=1000, output_tokens=200)
_CHUNK = 5


def write_turn(number: int, *, iterations: int) -> list[bytes]:
    """Calls a tool so many times, and then says the same for ever: that concludes, and sums up."""
    text = f"Step {number}: {_WORDS * 2}"
    call = ScriptedCall(name=f"{SERVER}.lookup", arguments={"key": f"host-{number}"})
    turn = ScriptedTurn(text=text, usage=_USAGE, chunk_size=_CHUNK, calls=(call,) if number < iterations else ())
    return [b"%x\r\n%s\r\n" % (len(event), event) for event in list_events(turn, number=number)]


class Paced:
    def __init__(self, *, iterations: int, seconds: float) -> None:
        self._turns = [write_turn(number, iterations=iterations) for number in range(iterations + 1)]
        self._seconds = seconds

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                await self._answer(await reader.readexactly(_read_length(head)), writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, body: bytes, writer: asyncio.StreamWriter) -> None:
        events = self._turns[min(body.count(_SAID), len(self._turns) - 1)]
        loop = asyncio.get_running_loop()
        began = loop.time()
        writer.write(_HEAD)
        for number, event in enumerate(events, start=1):
            writer.write(event)
            await asyncio.sleep(began + self._seconds * number / len(events) - loop.time())
        writer.write(b"0\r\n\r\n")
        await writer.drain()


def _read_length(head: bytes) -> int:
    line = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    return int(line.partition(b":")[2])


async def _serve(options: argparse.Namespace) -> None:
    model = Paced(iterations=options.iterations, seconds=options.seconds)
    server = await asyncio.start_server(model.serve, "127.0.0.1", 0, backlog=512, limit=1 << 24)
    sys.stdout.write(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--iterations", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    asyncio.run(_serve(parser.parse_args()))
