"""The official SDK's server over any transport, to show that our client speaks with the real thing."""

import argparse
import asyncio
import socket

from mcp.server.mcpserver import Context, Image, MCPServer
from mcp_types import LoggingMessageNotification, LoggingMessageNotificationParams, ToolAnnotations
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


@server.tool()
async def labour(ctx: Context) -> str:
    await ctx.report_progress(1, 2, "half of it")
    line = LoggingMessageNotificationParams(level="info", data="so far so good")
    await ctx.session.send_notification(LoggingMessageNotification(params=line), related_request_id=ctx.request_id)
    # A line that comes together with the answer may come after it.
    await asyncio.sleep(0.1)
    return "done"


@server.tool()
async def grow(ctx: Context) -> str:
    server.add_tool(echo, name="grown")
    await ctx.session.send_tool_list_changed()
    return "another tool is there"


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
