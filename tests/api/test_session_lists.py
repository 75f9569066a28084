"""Lists of sessions: what they hold, how they are filtered, sorted and paged, and what is not a list at all."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from midwatch.domain.session import SessionStatus
from midwatch.kit.ids import new_id
from tests.api.edge import CONCLUSION, Edge, call, open_edge, running, write_config
from tests.api.shelf import SESSIONS, Shelved, shelve, wait_for_end

ITEM_KEYS = {
    *("id", "alert_type", "chain_id", "status", "author", "created_at", "started_at", "completed_at", "duration_ms"),
    *("error_message", "executive_summary", "waiting_for", "current_stage_index", "current_stage_id", "total_stages"),
    *("completed_stages", "failed_stages", "has_parallel_stages", "has_sub_agents", "provider_fallback_count"),
    *("llm_interaction_count", "mcp_interaction_count", "input_tokens", "output_tokens", "total_tokens"),
    *("estimated_cost_usd", "cost_completeness", "unpriced_interaction_count", "chat_message_count"),
    "matched_in_content",
}
ACTIVE_KEYS = {
    *("id", "alert_type", "chain_id", "status", "author", "created_at", "started_at", "current_stage_index"),
    *("current_stage_id", "waiting_for", "lease"),
}
STATUSES = ["pending", "in_progress", "cancelling", "completed", "failed", "cancelled", "timed_out"]

SHELF = {
    "first": Shelved(alert_type="deck", author="ann", minutes=1, seconds=50),
    "second": Shelved(alert_type="engine", chain_id="engine", author="bob", minutes=2, seconds=20),
    "third": Shelved(alert_type="deck", author="ann", minutes=3, seconds=30, status=SessionStatus.FAILED),
    "fourth": Shelved(alert_type="galley", chain_id="deck", author="cid", minutes=4, status=SessionStatus.IN_PROGRESS),
    "fifth": Shelved(alert_type="deck", author="dan", minutes=5, status=SessionStatus.PENDING),
    "sixth": Shelved(alert_type="deck", author="eve", minutes=6, status=SessionStatus.PENDING),
}


class Library:
    def __init__(self, edge: Edge, names: dict[str, str]) -> None:
        self.edge = edge
        self.names = names

    async def ask(self, query: str = "") -> dict[str, Any]:
        answer = await self.edge.http.get(f"{SESSIONS}?{query}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def list(self, query: str = "") -> list[str]:
        return [self.names[item["id"]] for item in (await self.ask(query))["sessions"]]


@pytest.fixture(scope="module")
async def library(edge: Edge) -> Library:
    ids = {await shelve(edge.store, shelved): name for name, shelved in SHELF.items()}
    deleted = await shelve(edge.store, Shelved(alert_type="deleted", minutes=7))
    async with edge.store.connect() as tx:
        await tx.execute(
            "UPDATE alert_sessions SET deleted_at = clock_timestamp() WHERE session_id::text = $1", deleted
        )
    return Library(edge, ids)


async def test_the_newest_come_first_and_deleted_ones_not_at_all(library: Library) -> None:
    body = await library.ask()
    assert body.keys() == {"sessions", "pagination", "cost_estimation_enabled"}
    assert body["cost_estimation_enabled"] is True
    assert all(item.keys() == ITEM_KEYS for item in body["sessions"])
    assert [library.names[item["id"]] for item in body["sessions"]] == list(reversed(SHELF))
    assert body["pagination"] == {
        "page": 1,
        "page_size": 25,
        "total_pages": 1,
        "total_items": 6,
        "total_is_capped": False,
    }


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("status=failed", ["third"]),
        ("status=failed,in_progress", ["fourth", "third"]),
        ("status=failed,%20in_progress,", ["fourth", "third"]),
        ("alert_type=engine", ["second"]),
        ("chain_id=deck&status=completed", ["first"]),
        ("alert_type=nothing", []),
        ("start_date=2025-01-01T12:04:00Z", ["sixth", "fifth", "fourth"]),
        ("end_date=2025-01-01T12:02:00Z", ["second", "first"]),
        ("start_date=2025-01-01T14:02:00%2B02:00&end_date=2025-01-01T12:03:00.5Z", ["third", "second"]),
        ("start_date=2025-01-01T14:06:00+02:00", ["sixth"]),
        ("status=&alert_type=&search=&start_date=", ["sixth", "fifth", "fourth", "third", "second", "first"]),
        ("sort_order=asc&page_size=2", ["first", "second"]),
        ("sort_by=status&sort_order=asc", ["first", "second", "third", "fourth", "fifth", "sixth"]),
        ("sort_by=alert_type&sort_order=desc", ["fourth", "second", "sixth", "fifth", "third", "first"]),
        ("sort_by=author&sort_order=asc&status=completed,failed", ["first", "third", "second"]),
        ("sort_by=duration&sort_order=asc&status=completed,failed", ["second", "third", "first"]),
        ("sort_by=duration&sort_order=asc&page_size=3", ["second", "third", "first"]),
        ("page=2&page_size=4", ["second", "first"]),
        ("page=3&page_size=4", []),
    ],
)
async def test_a_list_holds_what_was_asked_for_in_the_order_asked_for(
    library: Library, query: str, names: list[str]
) -> None:
    assert await library.list(query) == names


@pytest.mark.parametrize(
    ("query", "page", "pages", "total"),
    [
        ("page_size=4", 1, 2, 6),
        ("page=2&page_size=4", 2, 2, 6),
        ("page=9&page_size=4", 9, 2, 6),
        ("page_size=6", 1, 1, 6),
    ],
)
async def test_every_page_knows_how_many_there_are(
    library: Library, query: str, page: int, pages: int, total: int
) -> None:
    pagination = (await library.ask(query))["pagination"]
    assert (pagination["page"], pagination["total_pages"], pagination["total_items"]) == (page, pages, total)


ORDERS = ["created_at", "status", "alert_type", "author", "duration"]
UNREAL = quote("\x00")
SOME_ID = "00000000-0000-0000-0000-000000000001"


@pytest.mark.parametrize(
    ("query", "field", "allowed"),
    [
        ("page=0", "page", None),
        ("page=-1", "page", None),
        ("page=first", "page", None),
        ("page=1.5", "page", None),
        ("page=1000000000", "page", None),
        (f"page={'9' * 5000}", "page", None),
        ("page=401&page_size=25", "page", None),
        ("page=41&page_size=25&search=pump", "page", None),
        ("page_size=0", "page_size", None),
        ("page_size=101", "page_size", None),
        ("sort_by=score", "sort_by", ORDERS),
        ("sort_by=created_at;DROP", "sort_by", ORDERS),
        ("sort_order=up", "sort_order", ["asc", "desc"]),
        ("status=done", "status", STATUSES),
        ("status=completed,done", "status", STATUSES),
        ("start_date=yesterday", "start_date", None),
        ("start_date=2025-01-01", "start_date", None),
        ("start_date=2025-01-01T00:00:00", "start_date", None),
        ("start_date=2025-02-30T00:00:00Z", "start_date", None),
        ("start_date=0001-01-01T00:00:00%2B02:00", "start_date", None),
        ("end_date=9999-12-31T23:59:59-02:00", "end_date", None),
        ("end_date=1735732800", "end_date", None),
        ("search=ab", "search", None),
        ("search=%20%20%20%20", "search", None),
        ("search=%26%7C%21%27%3A%2A", "search", None),
        (f"search=pump{UNREAL}", "search", None),
        (f"search={'a' * 201}", "search", None),
        (f"alert_type=de{UNREAL}ck", "alert_type", None),
        (f"chain_id={UNREAL}", "chain_id", None),
        (f"status={UNREAL}", "status", None),
        ("colour=red", "colour", None),
    ],
)
async def test_a_query_that_makes_no_sense_is_answered_with_the_field_and_what_it_may_be(
    library: Library, query: str, field: str, allowed: list[str] | None
) -> None:
    answer = await library.edge.http.get(f"{SESSIONS}?{query}")
    assert answer.status_code == 400
    problem = answer.json()
    expected = {"message": problem["message"], "code": "invalid", "field": field}
    assert problem == expected | ({"allowed": allowed} if allowed else {})
    assert problem["message"].startswith(f"{field}: ")
    assert len(answer.content) < 500


async def test_active_sessions_and_the_queue_are_shown_apart(library: Library) -> None:
    body = (await library.edge.http.get(f"{SESSIONS}/active")).json()
    assert body.keys() == {"active", "queued"}
    assert [library.names[item["id"]] for item in body["active"]] == ["fourth"]
    assert all(item.keys() == ACTIVE_KEYS for item in body["active"])
    assert [(library.names[item["id"]], item["queue_position"]) for item in body["queued"]] == [
        ("fifth", 1),
        ("sixth", 2),
    ]
    assert body["queued"][0].keys() == {
        *("id", "alert_type", "chain_id", "status", "author", "created_at", "queue_position"),
    }


async def test_filters_offer_what_some_session_has(library: Library) -> None:
    assert (await library.edge.http.get(f"{SESSIONS}/filter-options")).json() == {
        "alert_types": ["deck", "engine", "galley"],
        "chain_ids": ["deck", "engine"],
        "statuses": STATUSES,
    }


async def test_a_finished_session_is_listed_summed_up_and_told_in_short(dsn: str, tmp_path: Path) -> None:
    write_config(tmp_path, turns=[call("echo", text="all is dry"), CONCLUSION])
    async with open_edge(tmp_path, dsn) as edge, running(edge):
        session_id = await edge.submit()
        session = await wait_for_end(edge, session_id)
        (item,) = (await edge.http.get(SESSIONS)).json()["sessions"]
        summary = (await edge.http.get(f"{SESSIONS}/{session_id}/summary")).json()
        status = (await edge.http.get(f"{SESSIONS}/{session_id}/status")).json()
    assert item == {key: session[key] for key in ITEM_KEYS & session.keys()} | {
        "has_sub_agents": False,
        "provider_fallback_count": 0,
        "matched_in_content": False,
    }
    assert (item["llm_interaction_count"], item["mcp_interaction_count"], item["total_tokens"]) == (3, 1, 46)
    assert (item["total_stages"], item["completed_stages"], item["failed_stages"]) == (2, 2, 0)
    assert summary == {
        "session_id": session_id,
        "total_interactions": 4,
        "llm_interactions": 3,
        "mcp_interactions": 1,
        "input_tokens": 40,
        "output_tokens": 6,
        "total_tokens": 46,
        "cost_estimation_enabled": True,
        "estimated_cost_usd": 0.0,
        "cost_completeness": "complete",
        "unpriced_interaction_count": 0,
        "total_duration_ms": session["duration_ms"],
        "chain_statistics": {"total_stages": 2, "completed_stages": 2, "failed_stages": 0, "current_stage_index": None},
    }
    assert status == {
        "id": session_id,
        "status": "completed",
        "final_analysis": "The deck is dry.",
        "executive_summary": "In short: dry.",
        "error_message": None,
    }


@pytest.mark.parametrize("path", ["status", "summary", "trace", f"trace/llm/{SOME_ID}", f"trace/mcp/{SOME_ID}"])
async def test_what_is_read_of_a_session_that_is_not_there_is_not_found(edge: Edge, path: str) -> None:
    unknown = new_id()
    answer = await edge.http.get(f"{SESSIONS}/{unknown}/{path}")
    assert (answer.status_code, answer.json()) == (
        404,
        {"message": f"there is no session {unknown}", "code": "not_found"},
    )
    malformed = await edge.http.get(f"{SESSIONS}/pump%00three/{path}")
    assert (malformed.status_code, malformed.json()["field"]) == (400, "session_id")


async def test_a_long_list_is_counted_to_its_limit_and_says_so(dsn: str, config_folder: Path) -> None:
    async with open_edge(config_folder, dsn) as edge:
        async with edge.store.connect() as tx:
            await tx.execute(
                """
                INSERT INTO alert_sessions (session_id, alert_type, agent_type, alert_data, status, chain_id, chain)
                SELECT gen_random_uuid(), 'deck', 'deck', 'Fog.', 'completed', 'deck', '{"stages": []}'
                FROM generate_series(1, 10001)
                """
            )
        pagination = (await edge.http.get(SESSIONS)).json()["pagination"]
        last = (await edge.http.get(f"{SESSIONS}?page=100&page_size=100")).json()
    assert pagination == {
        "page": 1,
        "page_size": 25,
        "total_pages": 400,
        "total_items": 10_000,
        "total_is_capped": True,
    }
    assert len(last["sessions"]) == 100
