"""The official SDK's server over stdio, to show that our client speaks with the real thing."""

from mcp.server.mcpserver import Image, MCPServer
from mcp_types import ToolAnnotations
from pydantic import BaseModel

server = MCPServer("sdk")


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


if __name__ == "__main__":
    server.run()
