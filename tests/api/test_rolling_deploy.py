"""Two versions side by side on one database: each does what it can read, and says what it leaves to the other."""

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from midwatch.domain.errors import Misconfigured
from midwatch.queue.claim import Claimant
from midwatch.queue.lease import LeaseTimes
from midwatch.store import driver
from midwatch.store.leases import JOURNAL_FORMAT
from tests.api.edge import CONCLUSION, Edge, call, open_edge, running, write_config
from tests.api.shelf import wait_for_end
from tests.waiting import eventually

NEWER = JOURNAL_FORMAT + 1
NEXT_RELEASE = """
    CREATE TABLE next_things (thing_id uuid PRIMARY KEY);
    ALTER TABLE alert_sessions ADD COLUMN next_word text;
    ALTER TABLE session_leases ADD COLUMN next_word text NOT NULL DEFAULT '';
    ALTER TABLE stages ADD COLUMN next_number integer;
    ALTER TABLE timeline_events ADD COLUMN next_word text;
    ALTER TABLE tool_calls ADD COLUMN next_word text;
    ALTER TABLE replicas ADD COLUMN next_word text;
    UPDATE alembic_version SET version_num = '9999';
"""
"""What a later revision may do: add."""


async def upgrade(dsn: str) -> None:
    connection = await driver.connect(dsn)
    try:
        await connection.execute(NEXT_RELEASE)
    finally:
        await connection.close()


async def test_a_replica_works_on_after_a_newer_one_has_upgraded_the_schema(dsn: str, config_folder: Path) -> None:
    write_config(config_folder, turns=[call("echo", text="dry"), CONCLUSION])
    async with open_edge(config_folder, dsn) as edge, running(edge):
        assert (await wait_for_end(edge, await edge.submit()))["status"] == "completed"
        await upgrade(dsn)
        session = await wait_for_end(edge, await edge.submit())
        assert (session["status"], session["attempts"]) == ("completed", 0)
        assert (await edge.http.get("/health")).json()["status"] == "healthy"
    with pytest.raises(Misconfigured, match="a newer Midwatch made this schema"):
        async with open_edge(config_folder, dsn):
            pass


async def mark_newer(edge: Edge, session_id: str) -> None:
    """As if a newer replica had taken it in."""
    async with edge.store.connect() as tx:
        await tx.execute("UPDATE session_leases SET journal_format = $2 WHERE session_id = $1", UUID(session_id), NEWER)


async def test_a_replica_passes_over_what_it_cannot_read_and_says_so(dsn: str, config_folder: Path) -> None:
    async with open_edge(config_folder, dsn) as edge:
        newer = await edge.submit()
        await mark_newer(edge, newer)
        async with running(edge):
            older = await edge.submit()
            assert (await wait_for_end(edge, older))["status"] == "completed"

            async def look() -> dict[str, Any] | None:
                shown = await edge.show(newer)
                return shown if shown["queue"]["reason"].startswith("a newer version") else None

            shown = await eventually(look)
            assert (shown["status"], shown["lease"]) == ("pending", None)
        claimant = Claimant(
            store=edge.store, owner="new:1", pod_id="new", cap=5, times=LeaseTimes(), journal_format=NEWER
        )
        lease = await claimant.claim()
        assert lease is not None
        assert str(lease.session_id) == newer
