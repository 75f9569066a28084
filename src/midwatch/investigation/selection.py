"""The selection that came with an alert, put in place of what the configuration says about tool servers."""

from collections.abc import Mapping
from dataclasses import replace

from midwatch.config.mcp import McpServer
from midwatch.config.resolve import ExecutionSettings
from midwatch.domain.errors import NotFound
from midwatch.domain.selection import McpSelection


def apply_selection(
    settings: ExecutionSettings, selection: McpSelection | None, *, servers: Mapping[str, McpServer]
) -> ExecutionSettings:
    """The selected servers and the instructions of no others. Raises NotFound when a selected one is gone."""
    if selection is None:
        return settings
    names = tuple(server.name for server in selection.servers)
    for name in names:
        if name not in servers:
            raise NotFound("MCP server", name)
    told = {name: servers[name].instructions for name in names}
    return replace(settings, servers=names, server_instructions={name: text for name, text in told.items() if text})


def list_chosen_tools(selection: McpSelection | None) -> Mapping[str, frozenset[str]]:
    return {} if selection is None else selection.chosen_tools
