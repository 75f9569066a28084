"""Server-sent events as MCP servers write them."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from midwatch.tools.mcp.events import EventReader, EventTooLarge, ServerEvent

STREAM = (
    b": a comment\r\n\r\nevent: endpoint\r\ndata: /messages?session=1\r\n\r\n"
    b"id: 7\nretry: 250\ndata: one\ndata: two\n\nignored\n\nevent: empty\n\ndata:three\r\rdata: cut off"
)
EVENTS = [
    ServerEvent(kind="endpoint", data=b"/messages?session=1"),
    ServerEvent(kind="message", data=b"one\ntwo"),
    ServerEvent(kind="message", data=b"three"),
]


@example([i for i in range(len(STREAM)) for _ in range(2)])
@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_however_the_bytes_are_cut_the_events_are_the_same(cuts: list[int]) -> None:
    reader = EventReader(1000)
    places = [0, *sorted(cuts), len(STREAM)]
    events = [event for start, end in pairwise(places) for event in reader.feed(STREAM[start:end])]
    assert events == EVENTS
    assert (reader.last_id, reader.retry_ms) == ("7", 250)


def test_what_was_cut_off_does_not_reach_into_the_next_stream() -> None:
    reader = EventReader(1000)
    assert list(reader.feed(b"data: half")) == []
    reader.start_anew()
    assert list(reader.feed(b"data: whole\n\n")) == [ServerEvent(kind="message", data=b"whole")]


@pytest.mark.parametrize("piece", [b"x" * 60, b"data: " + b"x" * 30 + b"\n"])
def test_an_event_without_an_end_is_given_up(piece: bytes) -> None:
    reader = EventReader(100)
    assert list(reader.feed(piece)) == []
    with pytest.raises(EventTooLarge):
        list(reader.feed(piece * 3))
