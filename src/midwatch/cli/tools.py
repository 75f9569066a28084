"""`midwatch tools`: accepting tools that are no longer what somebody vouched for."""

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from midwatch.cli.ending import DONE, FAILED, run_to_status
from midwatch.cli.flags import config_dir_flag

if TYPE_CHECKING:
    from midwatch.config.load import Config
    from midwatch.domain.tools import ToolDefinition
    from midwatch.store.engine import Store

_MOST_LINES = 200


@click.group(short_help="Accept tools that have changed.")
def tools() -> None:
    """Tools as their servers describe them, and as you vouched for them."""


@tools.command(short_help="Vouch for a server's tools as they are now.")
@click.argument("server")
@click.argument("tool", required=False)
@click.option("--yes", is_flag=True, help="Do not ask.")
@config_dir_flag
def accept(*, server: str, tool: str | None, yes: bool, config_dir: Path | None) -> None:
    """Show what has changed in the tools of SERVER that you vouch for in `kinds`, and accept it.

    The first definition that is seen of a tool is kept. When the server says something else of the tool later on, the
    tool counts as a write until you accept the change here. SERVER is started as an investigation would start it, asked
    for its tools, and stopped; no tool is called.

    Exit status: 0 accepted, or nothing has changed; 1 failed, or you said no; 2 misconfigured.
    """
    sys.exit(run_to_status(lambda: asyncio.run(_accept(config_dir, server=server, tool=tool, yes=yes))))


async def _accept(config_dir: Path | None, *, server: str, tool: str | None, yes: bool) -> int:
    from midwatch.cli.surroundings import open_database, read_all_env
    from midwatch.config.load import load_config
    from midwatch.store.engine import open_store
    from midwatch.store.migrate import upgrade_schema
    from midwatch.telemetry.logs import configure_logs

    env = read_all_env(config_dir, os.environ)
    configure_logs(env.log_level if os.environ.get("LOG_LEVEL") else "warning", env.log_format)
    config = load_config(env.config_dir, environ=os.environ)
    vouched = await _list_vouched(config, server, tool=tool)
    async with open_database(env) as dsn:
        await upgrade_schema(dsn)
        async with open_store(lambda: dsn) as store:
            return await _accept_changes(store, vouched, yes=yes)


async def _list_vouched(config: "Config", server: str, *, tool: str | None) -> "list[ToolDefinition]":
    """Raises NotFound and ToolServerUnavailable."""
    from midwatch.config.builtins import is_own
    from midwatch.domain.errors import NotFound, ToolServerUnavailable
    from midwatch.safety.pins import needs_pin
    from midwatch.tools.workbench import inspect_servers

    if server not in config.mcp_servers:
        raise NotFound("tool server", server)
    if is_own(config.mcp_servers[server]):
        return []
    servers = {server: config.mcp_servers[server]}
    report = (await inspect_servers(servers, environment=os.environ, secret_names=config.secret_names))[server]
    if report.failure is not None:
        raise ToolServerUnavailable(server, report.failure.removeprefix(f"tool server {server}: "))
    found = [
        seen.definition for seen in report.tools if needs_pin(seen.verdict) and tool in (None, seen.definition.name)
    ]
    if tool is not None and not found:
        raise NotFound(f"tool of {server} that `kinds` vouches for, named", tool)
    return found


async def _accept_changes(store: "Store", vouched: "Sequence[ToolDefinition]", *, yes: bool) -> int:
    from midwatch.tools.pins import StoredPins

    pins = StoredPins(store)
    names = await pins.find_changed(vouched)
    changed = [tool for tool in vouched if tool.full_name in names]
    if not changed:
        click.echo("Nothing has changed.")
        return DONE
    for tool in changed:
        await _show_change(store, tool)
    if not yes and not click.confirm(f"Vouch for {'these tools' if len(changed) > 1 else 'this tool'} as it is now?"):
        return FAILED
    await pins.accept(changed)
    click.echo(f"Accepted: {', '.join(tool.full_name for tool in changed)}")
    return DONE


async def _show_change(store: "Store", tool: "ToolDefinition") -> None:
    from midwatch.cli.terminal import clean
    from midwatch.safety.pins import describe_definition
    from midwatch.store.pins import read_pinned

    async with store.connect() as tx:
        before = await read_pinned(tx, tool.server, tool.name)
    lines = _compare(before or {}, describe_definition(tool))
    click.echo(clean("\n".join([f"{tool.full_name} (- vouched for, + now)", *(f"  {line}" for line in lines), ""])))


def _compare(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    import json
    from difflib import unified_diff

    old, new = (json.dumps(side, indent=1, sort_keys=True, ensure_ascii=False).split("\n") for side in (before, now))
    compared = list(unified_diff(old, new, n=1, lineterm=""))[2:]
    lines = [line for line in compared if not line.startswith("@@")]
    return lines if len(lines) <= _MOST_LINES else [*lines[:_MOST_LINES], f"… {len(lines) - _MOST_LINES} more lines"]
