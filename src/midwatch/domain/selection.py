"""What whoever sends an alert may say about tools: these servers, these of their tools, and nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedServer:
    name: str
    tools: tuple[str, ...] | None = None
    """None: all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeTools:
    """Tools that a model's provider runs itself. None: nothing was said."""

    google_search: bool | None = None
    code_execution: bool | None = None
    url_context: bool | None = None

    def as_json(self) -> dict[str, bool]:
        said = {
            "google_search": self.google_search,
            "code_execution": self.code_execution,
            "url_context": self.url_context,
        }
        return {name: wanted for name, wanted in said.items() if wanted is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class McpSelection:
    """Takes the place of every server that the configuration gives to an agent; without servers there are none."""

    servers: tuple[SelectedServer, ...] = ()
    native_tools: NativeTools = NativeTools()

    @property
    def is_empty(self) -> bool:
        return not self.servers and not self.native_tools.as_json()

    @property
    def chosen_tools(self) -> dict[str, frozenset[str]]:
        """By server; one that is missing here shows all its tools."""
        return {server.name: frozenset(server.tools) for server in self.servers if server.tools is not None}

    def as_json(self) -> dict[str, Any]:
        """In the shape of the wire, which is also how it is stored."""
        native = self.native_tools.as_json()
        return {"servers": [_server_as_json(server) for server in self.servers]} | (
            {"native_tools": native} if native else {}
        )

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        return cls(
            servers=tuple(_server_from_json(server) for server in stored["servers"]),
            native_tools=NativeTools(**stored.get("native_tools", {})),
        )


def _server_as_json(server: SelectedServer) -> dict[str, Any]:
    return {"name": server.name} if server.tools is None else {"name": server.name, "tools": list(server.tools)}


def _server_from_json(stored: Mapping[str, Any]) -> SelectedServer:
    tools: Sequence[str] | None = stored.get("tools")
    return SelectedServer(name=stored["name"], tools=None if tools is None else tuple(tools))
