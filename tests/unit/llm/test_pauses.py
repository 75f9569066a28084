"""The pause a provider asks for, in all the ways it is written."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from midwatch.kit import json
from midwatch.llm.failures import refused_by_status, reported_in_stream
from midwatch.llm.pauses import read_pause

NOW = "Wed, 21 Oct 2026 07:28:00 GMT"
NAMED = {"code": 429, "details": [{"@type": "a"}, 7, {"retryDelay": "34.1s"}]}


@pytest.mark.parametrize(
    ("headers", "error", "pause"),
    [
        ({"retry-after": "7"}, None, 7.0),
        ({"retry-after": " 0.5 "}, None, 0.5),
        ({"retry-after": "0"}, None, 0.0),
        ({"retry-after": "86400"}, None, 86_400.0),
        ({"retry-after-ms": "1500", "retry-after": "2"}, None, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "2"}, None, 2.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:45 GMT", "date": NOW}, None, 45.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:27:00 GMT", "date": NOW}, None, 0.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:45 -0000", "date": NOW}, None, 45.0),
        ({}, NAMED, 34.1),
        ({"retry-after": "3"}, NAMED, 3.0),
        ({"retry-after": "soon"}, NAMED, 34.1),
        ({}, {"details": [{"retryDelay": "soon"}]}, None),
        ({}, {"details": "none"}, None),
        ({}, None, None),
        ({"retry-after": "-1"}, None, None),
        ({"retry-after": "nan"}, None, None),
        ({"retry-after": "inf"}, None, None),
        ({"retry-after": "Wed, 99 Oct 2026 07:28:45 GMT"}, None, None),
        ({"retry-after": ""}, None, None),
    ],
)
def test_a_pause_is_read_as_it_was_meant(headers: dict[str, str], error: object, pause: float | None) -> None:
    assert read_pause(headers, error) == pause


def test_without_the_providers_clock_a_date_is_read_by_ours() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    pause = read_pause({"retry-after": date}, None)
    assert pause is not None
    assert 3_000 < pause <= 3_600


def test_a_failure_carries_the_pause_unshortened() -> None:
    refused = refused_by_status(429, b"{}", api_key=None, headers={"retry-after": "3600"})
    reported = reported_in_stream(NAMED, api_key=None)
    delayed = refused_by_status(429, json.encode({"error": NAMED}), api_key=None)
    assert (refused.retry_after, reported.retry_after, delayed.retry_after) == (3_600.0, 34.1, 34.1)
