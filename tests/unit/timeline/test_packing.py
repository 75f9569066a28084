"""Notifications: small enough for PostgreSQL whatever is in them, no two alike, and nothing lost by cutting."""

from typing import Any
from uuid import UUID

from hypothesis import example, given
from hypothesis import strategies as st

from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.timeline.flush import News, pack

LIMIT = 7_500
_LETTERS = st.sampled_from(["a", "\x01", "é", "€", "\U0001f525", '"', "\x00", "\ud83d"])
_DELTAS = st.one_of(st.text(max_size=40), st.builds(str.__mul__, _LETTERS, st.integers(0, 9_000)))


def chunk(event_id: str, delta: str) -> dict[str, Any]:
    return {"session_id": str(new_id()), "type": "stream.chunk", "event_id": event_id + "x" * 28, "delta": delta}


def stream(seq: int, deltas: list[str]) -> News:
    return News(seq=seq, transient=[chunk(f"event {number}", delta) for number, delta in enumerate(deltas)])


_NEWS = st.builds(stream, st.integers(0, 2**62), st.lists(_DELTAS, max_size=6))


def unpack(payloads: list[str]) -> dict[UUID, tuple[int, dict[str, str]]]:
    """Per session the highest position that was told, and the texts of its streams put together again."""
    told: dict[UUID, tuple[int, dict[str, str]]] = {}
    for payload in payloads:
        for session, seq, events in json.decode(payload)[1:]:
            highest, texts = told.get(UUID(session), (0, {}))
            for event in events:
                texts[event["event_id"]] = texts.get(event["event_id"], "") + event["delta"]
            told[UUID(session)] = max(highest, seq), texts
    return told


@given(st.lists(_NEWS, min_size=1, max_size=8))
@example([News(seq=1, transient=[chunk("event 0", "\x01" * 5_000)])])
@example([News(seq=1, transient=[chunk("event 0", "x" * 60_000)])])
def test_any_news_fits_and_arrives_whole(items: list[News]) -> None:
    news = {new_id(): item for item in items}
    payloads = pack(news)
    assert all(len(payload.encode()) <= LIMIT for payload in payloads)
    assert len(set(payloads)) == len(payloads)
    assert unpack(payloads) == {
        session: (item.seq, {e["event_id"]: json.clean_text(e["delta"]) for e in item.transient})
        for session, item in news.items()
    }


def test_small_news_of_many_sessions_share_one_notification() -> None:
    news = {new_id(): News(seq=number) for number in range(100)}
    (payload,) = pack(news)
    assert {session: seq for session, (seq, _) in unpack([payload]).items()} == {
        session: item.seq for session, item in news.items()
    }


def test_an_event_that_cannot_be_cut_and_does_not_fit_is_left_out() -> None:
    session = new_id()
    news = {session: News(seq=3, transient=[{"type": "x", "content": "y" * 9_000}, chunk("event 0", "kept")])}
    assert unpack(pack(news)) == {session: (3, {chunk("event 0", "")["event_id"]: "kept"})}
