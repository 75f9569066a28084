"""The floor of a call to another process: gRPC alone, one message there and a stream of one message back."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import grpc
import grpc.aio

_REQUEST, _RESPONSE = b"q" * 2_500, b"a" * 600
_SERVICE, _METHOD = "floor.v1.Floor", "Answer"

Answer = grpc.aio.UnaryStreamMultiCallable[bytes, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class BareCall:
    pid: int
    """Of the process that answers."""
    answer: Answer

    async def call(self) -> None:
        async for _ in self.answer(_REQUEST, timeout=60):
            pass


@asynccontextmanager
async def open_bare_call() -> AsyncGenerator[BareCall]:
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "benchmarks.grpc_floor", stdout=PIPE)
    try:
        if process.stdout is None:
            raise RuntimeError("the floor has no output")
        port = int(await process.stdout.readline())
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            path = f"/{_SERVICE}/{_METHOD}"
            answer: Answer = channel.unary_stream(path, request_serializer=bytes, response_deserializer=bytes)
            yield BareCall(pid=process.pid, answer=answer)
    finally:
        process.kill()
        await process.wait()


async def _answer(_: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> None:
    await context.write(_RESPONSE)


async def _serve() -> None:
    server = grpc.aio.server()
    handler = grpc.unary_stream_rpc_method_handler(_answer, request_deserializer=bytes, response_serializer=bytes)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_SERVICE, {_METHOD: handler}),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(port, flush=True)  # noqa: T201 -- standard output is how the measuring process learns of it
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve())
