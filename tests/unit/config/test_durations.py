"""Lengths of time are written the way Go writes them, or as seconds."""

from datetime import timedelta

import pytest

from midwatch.config.duration import parse_duration
from midwatch.config.queue import Queue


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("500ms", 0.5),
        ("1s", 1),
        ("1m30s", 90),
        ("2h", 7200),
        ("1h2m3s4ms", 3723.004),
        ("1.5m", 90),
        (".5s", 0.5),
        ("250us", 0.00025),
        ("250µs", 0.00025),
        (" 10s ", 10),
        ("0s", 0),
        ("0", 0),
        ("90", 90),
        ("0.25", 0.25),
        (90, 90),
        (1.5, 1.5),
        (timedelta(seconds=3), 3),
    ],
)
def test_a_length_of_time_is_understood(written: object, seconds: float) -> None:
    assert parse_duration(written) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "written",
    ["", "soon", "-1s", "1x", "1s2", "1 s", "s", "1d", -1, True, None, [], float("inf"), float("nan"), "9" * 30],
)
def test_anything_else_is_refused_without_repeating_it(written: object) -> None:
    with pytest.raises(
        ValueError, match=r"^expected a length of time such as 500ms, 1m30s or 2h, or a number of seconds$"
    ):
        parse_duration(written)


def test_durations_survive_the_way_to_json_and_back() -> None:
    queue = Queue.model_validate({"poll_interval": "1m30s", "poll_interval_jitter": "250ms", "orphan_threshold": "5m"})
    assert Queue.model_validate(queue.model_dump(mode="json")) == queue
