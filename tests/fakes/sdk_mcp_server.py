"""The official SDK's server over any transport, to show that our client speaks with the real thing."""

import argparse
import asyncio
import socket

from mcp.server.mcpserver import Image, MCPServer
from mcp_types import ToolAnnotations
from pydantic import BaseModel

server = MCPServer("sdk", log_level="CRITICAL")


class Weather(BaseModel):
    place: str
    wind: int


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def echo(text: str) -> str:
    """Says it again."""
    return text


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def weather(place: str) -> Weather:
    return Weather(place=place, wind=7)


@server.tool()
def picture() -> Image:
    return Image(data=b"12345", format="png")


@server.tool()
def stumble() -> str:
    raise ValueError("over a rope")


async def serve(listener: socket.socket, *, kind: str, as_json: bool) -> None:
    import uvicorn  # noqa: PLC0415 - start-up time

    app = server.sse_app() if kind == "sse" else server.streamable_http_app(json_response=as_json)
    settings = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)
    await uvicorn.Server(settings).serve(sockets=[listener])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--transport", choices=["stdio", "http", "sse"], default="stdio")
    parser.add_argument("--json", action="store_true", help="answer in JSON where events would do")
    options = parser.parse_args()
    if options.transport == "stdio":
        server.run()
        return
    # Named by its protocol: asyncio sends small packets at once only on sockets that are known to be TCP.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    print(listener.getsockname()[1], flush=True)  # noqa: T201 - whoever started this waits for the port
    asyncio.run(serve(listener, kind=options.transport, as_json=options.json))


if __name__ == "__main__":
    main()
