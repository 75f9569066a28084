"""Tools that are no longer what the operator vouched for."""

import asyncio
from collections.abc import Mapping

from midwatch.cli.checks.finding import Finding, doubtful
from midwatch.cli.surroundings import has_database, open_database
from midwatch.config.builtins import is_own
from midwatch.config.env import Env
from midwatch.config.mcp import McpServer
from midwatch.domain.errors import MidwatchError
from midwatch.domain.tools import ToolDefinition
from midwatch.safety.pins import needs_pin
from midwatch.store.engine import open_store
from midwatch.store.migrate import inspect_database
from midwatch.store.pins import find_changed
from midwatch.tools.pins import as_seen
from midwatch.tools.workbench import ServerReport


async def check_pins(
    env: Env, servers: Mapping[str, McpServer], reports: Mapping[str, ServerReport], *, patience: float
) -> list[Finding]:
    """Pins nothing. A database that cannot be asked is a finding of its own, elsewhere."""
    vouched = [
        tool.definition
        for name, report in reports.items()
        for tool in report.tools
        if needs_pin(tool.verdict) and not is_own(servers[name])
    ]
    try:
        if not vouched or not has_database(env):
            return []
        async with asyncio.timeout(patience):
            changed = await _find_changed(env, vouched)
    except (MidwatchError, TimeoutError):
        return []
    return [_warn(server, [tool for owner, tool in changed if owner == server]) for server in dict(changed)]


async def _find_changed(env: Env, vouched: list[ToolDefinition]) -> list[tuple[str, str]]:
    async with open_database(env) as dsn:
        if not (await inspect_database(dsn)).schema.is_current:
            return []
        async with open_store(lambda: dsn, min_size=1, max_size=1) as store, store.connect() as tx:
            return sorted(await find_changed(tx, list(map(as_seen, vouched))))


def _warn(server: str, tools: list[str]) -> Finding:
    told = f"{', '.join(tools)}: not what you vouched for any more; counts as a write until you accept the change"
    return doubtful(f"server {server}", told, remedy=f"midwatch tools accept {server}")
