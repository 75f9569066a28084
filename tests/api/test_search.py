"""Finding a session by what was said in it."""

from pathlib import Path

import pytest

from midwatch.domain.session import SessionStatus
from midwatch.store.search import gather_words, index_documents, write_query
from midwatch.upkeep.index_documents import index_waiting
from tests.api.edge import CONCLUSION, Edge, call, open_edge, running, write_config
from tests.api.shelf import SESSIONS, Shelved, shelve, wait_for_end, write_on
from tests.waiting import eventually


class Finder:
    def __init__(self, edge: Edge, names: dict[str, str]) -> None:
        self.edge = edge
        self.names = names

    async def find(self, search: str, **filters: str) -> list[tuple[str, bool]]:
        answer = await self.edge.http.get(SESSIONS, params={"search": search, "sort_order": "asc", **filters})
        assert answer.status_code == 200, answer.text
        found = answer.json()
        assert found["pagination"]["total_items"] == len(found["sessions"])
        return [(self.names[item["id"]], item["matched_in_content"]) for item in found["sessions"]]


@pytest.fixture(scope="module")
async def finder(edge: Edge) -> Finder:
    shelf = {
        "pump": Shelved(alert="Bilge pump at 10.0.0.15 runs hot: payment-service_7f9c.", author="ann", minutes=1),
        "fog": Shelved(alert="Fog over the HÄFEN.", alert_type="engine", minutes=2),
        "leak": Shelved(alert="Water below.", minutes=3, status=SessionStatus.FAILED),
    }
    names = {await shelve(edge.store, shelved): name for name, shelved in shelf.items()}
    ids = {name: session_id for session_id, name in names.items()}
    await write_on(edge.store, ids["leak"], timeline="The hull valve near the pump is open.")
    await write_on(
        edge.store, ids["fog"], final_analysis="It will lift by sunrise.", timeline="A barometer reads 1013."
    )
    await index_waiting(edge.store)
    return Finder(edge, names)


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("bilge", [("pump", False)]),
        ("BILGE Pump", [("pump", False)]),
        ("pump", [("pump", False), ("leak", True)]),
        ("pum", [("pump", False), ("leak", True)]),
        ("ump", []),
        ("bil pump", []),
        ("pump bil", [("pump", False)]),
        ("bilge valve", []),
        ("water valve", [("leak", True)]),
        ("häfen", [("fog", False)]),
        ("Ha\u0308fen", [("fog", False)]),
        ("sunrise", [("fog", False)]),
        ("engine", [("fog", False)]),
        ("ann", [("pump", False)]),
        ("barometer", [("fog", True)]),
        ("10.0.0.15", [("pump", False)]),
        ("10.0.0.16", []),
        ("payment-serv", [("pump", False)]),
        ("payment:service", [("pump", False)]),
        ("the hot pump", []),
        ("of hot pump", [("pump", False)]),
        ("pump' | 'fog", []),
        ("nothing%' OR '1'='1", []),
    ],
)
async def test_all_words_must_be_there_and_the_last_may_be_cut_short(
    finder: Finder, search: str, found: list[tuple[str, bool]]
) -> None:
    assert await finder.find(search) == found


async def test_a_search_goes_together_with_filters_and_orders(finder: Finder) -> None:
    assert await finder.find("pump", status="failed") == [("leak", True)]
    assert await finder.find("pump", sort_by="status") == [("pump", False), ("leak", True)]
    assert await finder.find("pump", end_date="2025-01-01T12:01:00Z", page_size="1") == [("pump", False)]


async def test_a_session_is_found_soon_after_it_came_and_again_by_what_was_found_out(dsn: str, tmp_path: Path) -> None:
    write_config(tmp_path, turns=[call("echo", text="seaweed in the intake"), CONCLUSION])
    async with open_edge(tmp_path, dsn) as edge:
        session_id = await edge.submit("Rudder stuck.")
        await index_waiting(edge.store)
        assert await find_ids(edge, "rudder") == [session_id]
        assert await find_ids(edge, "seaweed") == []
        async with running(edge):
            await wait_for_end(edge, session_id)
            assert await eventually(lambda: find_ids(edge, "seaweed")) == [session_id]


async def find_ids(edge: Edge, search: str) -> list[str]:
    answer = await edge.http.get(SESSIONS, params={"search": search})
    return [item["id"] for item in answer.json()["sessions"]]


async def test_only_one_indexes_at_a_time(dsn: str, config_folder: Path) -> None:
    async with open_edge(config_folder, dsn) as edge:
        await edge.submit()
        async with edge.store.begin() as one, edge.store.begin() as other:
            assert await index_documents(one, limit=10) == 1
            assert await index_documents(other, limit=10) == 0


async def test_the_largest_alert_with_the_strangest_words_can_be_indexed(dsn: str, config_folder: Path) -> None:
    async with open_edge(config_folder, dsn) as edge:
        words = " ".join(f"{number:x}\ufdfa" for number in range(20_000, 70_000))
        session_id = await shelve(edge.store, Shelved(alert="beacon " + words))
        await write_on(edge.store, session_id, timeline=words * 3)
        await index_waiting(edge.store)
        assert await find_ids(edge, "beacon") == [session_id]


def test_words_of_a_text_are_counted_once_up_to_a_limit() -> None:
    assert gather_words(["The pump, the PUMP: pump.three"]) == ["the", "pump", "pump.three", "three"]
    assert sum(len(word) for word in gather_words(f"{number:08x}" for number in range(200_000))) <= 600_000


def test_a_search_without_a_word_is_none() -> None:
    assert write_query("a b c") is None
    assert write_query("'':* & |") is None
