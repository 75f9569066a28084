"""Definitions of tools as they were when they were vouched for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from midwatch.kit import json
from midwatch.store.driver import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenTool:
    server: str
    tool: str
    fingerprint: str
    definition: dict[str, Any]


async def pin_unseen(tx: Tx, tools: Sequence[SeenTool]) -> None:
    """Pins those that have no pin yet. Statements of their own, so that the next one sees who was first."""
    await tx.execute(
        """
        INSERT INTO tool_pins (server_id, tool_name, fingerprint, definition)
        SELECT s, t, f, d::jsonb FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS r(s, t, f, d)
        ORDER BY s, t
        ON CONFLICT (server_id, tool_name) DO NOTHING
        """,
        *_columns(tools),
    )


async def find_changed(tx: Tx, tools: Sequence[SeenTool]) -> list[tuple[str, str]]:
    """Server and name of each tool that is pinned with another definition."""
    servers, names, fingerprints, _ = _columns(tools)
    rows = await tx.fetch(
        """
        SELECT p.server_id, p.tool_name
        FROM unnest($1::text[], $2::text[], $3::text[]) AS r(s, t, f)
        JOIN tool_pins p ON p.server_id = r.s AND p.tool_name = r.t AND p.fingerprint <> r.f
        """,
        servers,
        names,
        fingerprints,
    )
    return [(row["server_id"], row["tool_name"]) for row in rows]


async def read_pinned(tx: Tx, server: str, tool: str) -> dict[str, Any] | None:
    """The definition that was vouched for."""
    found = await tx.fetchval("SELECT definition FROM tool_pins WHERE server_id = $1 AND tool_name = $2", server, tool)
    return None if found is None else json.decode(found)


async def replace_pins(tx: Tx, tools: Sequence[SeenTool]) -> None:
    """A person accepts the definitions as they are now."""
    await tx.execute(
        """
        INSERT INTO tool_pins (server_id, tool_name, fingerprint, definition)
        SELECT s, t, f, d::jsonb FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS r(s, t, f, d)
        ORDER BY s, t
        ON CONFLICT (server_id, tool_name) DO UPDATE SET fingerprint = excluded.fingerprint,
            definition = excluded.definition, pinned_at = clock_timestamp()
        """,
        *_columns(tools),
    )


def _columns(tools: Sequence[SeenTool]) -> tuple[list[str], list[str], list[str], list[str]]:
    return (
        [tool.server for tool in tools],
        [json.clean_text(tool.tool) for tool in tools],
        [tool.fingerprint for tool in tools],
        [json.encode_text(tool.definition) for tool in tools],
    )
