"""What reading costs when there are a hundred times as many sessions: lists, filters, searches and one session."""

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit, urlunsplit

import httpx

from benchmarks.report import Check
from midwatch.api.app import create_app
from midwatch.config.env import read_env
from midwatch.config.load import load_config
from midwatch.store import driver
from midwatch.store.migrate import upgrade_schema
from midwatch.wiring import Plan, open_service

_FEW, _MANY = 1_000, 100_000
_MOST = 3.0
_SESSIONS = "/api/v1/sessions"
_ONE = "00000000-0000-0000-0000-0000000001f4"
"""The five hundredth session."""

# Rare things are the oldest, where a walk from the newest comes last.
_REQUESTS = {
    "the first page": _SESSIONS,
    "a page of a hundred": f"{_SESSIONS}?page_size=100",
    "the tenth page": f"{_SESSIONS}?page=10",
    "sorted by status": f"{_SESSIONS}?sort_by=status&sort_order=asc",
    "sorted by type": f"{_SESSIONS}?sort_by=alert_type&sort_order=asc",
    "sorted by author": f"{_SESSIONS}?sort_by=author",
    "sorted by duration": f"{_SESSIONS}?sort_by=duration",
    "filter: a common status": f"{_SESSIONS}?status=completed",
    "filter: two statuses": f"{_SESSIONS}?status=failed,timed_out",
    "filter: a rare type": f"{_SESSIONS}?alert_type=rare",
    "filter: a rare type, by duration": f"{_SESSIONS}?alert_type=rare&sort_by=duration&sort_order=asc",
    "filter: a chain and a status": f"{_SESSIONS}?chain_id=chain-3&status=failed",
    "filter: dates": f"{_SESSIONS}?start_date=2025-01-01T00:00:00Z&end_date=2025-01-01T10:00:00Z",
    "search: a word everybody has": f"{_SESSIONS}?search=common",
    "search: a word of one in ten": f"{_SESSIONS}?search=often",
    "search: a rare word": f"{_SESSIONS}?search=needle",
    "search: a rare beginning": f"{_SESSIONS}?search=common%20need",
    "search: a word and a filter": f"{_SESSIONS}?search=often&status=failed",
    "one session": f"{_SESSIONS}/{_ONE}",
    "its status": f"{_SESSIONS}/{_ONE}/status",
    "what can be filtered by": f"{_SESSIONS}/filter-options",
    "what runs now": f"{_SESSIONS}/active",
}

_FILL = (
    """
    INSERT INTO alert_sessions (session_id, alert_type, agent_type, alert_data, status, chain_id, chain, author,
                                created_at, started_at, completed_at)
    SELECT lpad(to_hex(n), 32, '0')::uuid, CASE WHEN n <= 50 THEN 'rare' ELSE 'type-' || n % 20 END, 'any',
           'The machine feels slow.',
           CASE n % 20 WHEN 3 THEN 'failed' WHEN 7 THEN 'timed_out' WHEN 11 THEN 'cancelled' ELSE 'completed' END,
           'chain-' || n % 10, '{"stages": [{}]}', 'author-' || n % 50,
           timestamptz '2025-01-01Z' + n * interval '1 min',
           timestamptz '2025-01-01Z' + n * interval '1 min',
           timestamptz '2025-01-01Z' + n * interval '1 min' + (n * 7919 % 3000) * interval '1 second'
    FROM generate_series(1, {sessions}) n
    """,
    "INSERT INTO session_leases (session_id, run_kind) SELECT session_id, 'alert' FROM alert_sessions",
    "INSERT INTO session_feeds (session_id) SELECT session_id FROM alert_sessions",
    """
    INSERT INTO stages (stage_id, session_id, stage_name, stage_index, stage_type, status, expected_agent_count)
    SELECT session_id, session_id, 'look', 1, 'investigation', 'completed', 1 FROM alert_sessions
    """,
    """
    INSERT INTO agent_executions (execution_id, stage_id, session_id, agent_name, agent_index, status, llm_provider,
                                  model_name)
    SELECT session_id, session_id, session_id, 'Watch', 0, 'completed', 'model', 'model' FROM alert_sessions
    """,
    """
    INSERT INTO llm_interactions (interaction_id, session_id, stage_id, execution_id, interaction_type, llm_provider,
                                  model_name, llm_request, input_tokens, output_tokens, estimated_cost_usd)
    SELECT lpad(to_hex(i), 32, '0')::uuid, session_id, session_id, session_id, 'iteration', 'model', 'model', '{}',
           9, 1, CASE WHEN i < 3 THEN 0.01 END
    FROM alert_sessions, generate_series(1, 3) i
    """,
    """
    INSERT INTO session_documents (session_id, headline, content)
    SELECT lpad(to_hex(n), 32, '0')::uuid, array_to_tsvector(ARRAY['common', 'machine']),
           array_to_tsvector(ARRAY['common', 'machine', 'host' || n % 1000, 'trace' || n]
               || CASE WHEN n % 10 = 3 THEN ARRAY['often'] ELSE '{}' END
               || CASE WHEN n <= 50 THEN ARRAY['needle'] ELSE '{}' END)
    FROM generate_series(1, {sessions}) n
    """,
    "VACUUM ANALYZE",
)


@dataclass(frozen=True, slots=True)
class ListFigures:
    """Medians in seconds, by request: with few sessions and with many."""

    times: dict[str, tuple[float, float]]

    @property
    def checks(self) -> list[Check]:
        return [
            Check(what=f"{what}, {_MANY} sessions against {_FEW}", measured=many / few, target=_MOST)
            for what, (few, many) in self.times.items()
        ]


async def measure_lists(config_folder: Path, dsn: str, *, rounds: int) -> ListFigures:
    async with (
        _open_filled(config_folder, dsn, sessions=_FEW) as few,
        _open_filled(config_folder, dsn, sessions=_MANY) as many,
    ):
        return ListFigures({what: await _compare(few, many, path, rounds=rounds) for what, path in _REQUESTS.items()})


async def _compare(few: httpx.AsyncClient, many: httpx.AsyncClient, path: str, *, rounds: int) -> tuple[float, float]:
    """In turn, so that whatever else the machine does falls on both. The first of each warms up."""
    times = [(await _measure(few, path), await _measure(many, path)) for _ in range(rounds + 1)][1:]
    return median(time for time, _ in times), median(time for _, time in times)


async def _measure(http: httpx.AsyncClient, path: str) -> float:
    asked = time.perf_counter()
    (await http.get(path)).raise_for_status()
    return time.perf_counter() - asked


@asynccontextmanager
async def _open_filled(config_folder: Path, dsn: str, *, sessions: int) -> AsyncGenerator[httpx.AsyncClient]:
    """The API of a replica that runs nothing, on a database of its own."""
    filled = await _fill_database(dsn, sessions)
    env = read_env({"DATABASE_URL": filled, "MIDWATCH_HOME": str(config_folder)})
    plan = Plan(config=load_config(config_folder, environ={}), env=env, environ={})
    async with open_service(plan) as service:
        transport = httpx.ASGITransport(create_app(service.state))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            yield http


async def _fill_database(dsn: str, sessions: int) -> str:
    name = f"lists_{sessions}"
    await _execute(dsn, f"CREATE DATABASE {name}")
    filled = urlunsplit(urlsplit(dsn)._replace(path=f"/{name}"))
    await upgrade_schema(filled)
    await _execute(filled, *(statement.replace("{sessions}", str(sessions)) for statement in _FILL))
    return filled


async def _execute(dsn: str, *statements: str) -> None:
    connection = await driver.connect_first(dsn)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()
