"""Long answers in a line that a tired person can skim."""

import pytest

from midwatch.cli.live.digest import digest_arguments, digest_result, format_seconds, read_refusal


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ('{"used_bytes": 1610612736, "used_percent": 97.25, "name": "x"}', "used 1.5 GiB · used 97.25 % · name x"),
        ('{"total": 12345, "pid": 12345, "load": 0.5}', "pid 12345 · load 0.5 · total 12,345"),
        (
            '{"free_bytes": 0, "small_bytes": 12, "huge_bytes": 1152921504606846976}',
            "free 0 B · small 12 B · huge 1024.0 PiB",
        ),
        ('{"notes": [], "truncated": false, "why": null, "name": ""}', ""),
        ('{"truncated": true, "tags": ["a"], "ports": [22, 80]}', "tags: a · ports: 2 (22, …) · truncated"),
        ('{"memory": {"total_bytes": 1024}, "disks": [{"on": "/"}]}', "memory (total 1.0 KiB) · disks: 1 (on /)"),
        ("[]", "none"),
        ('[{"a": 1}, {"a": 2}]', "2 (a 1)"),
        ("12", "12"),
        ("\n\n  it leaks \nbadly", "it leaks"),
        ("", ""),
        ("{broken", "{broken"),
    ],
)
def test_a_result_becomes_a_line(content: str, line: str) -> None:
    assert digest_result(content) == line


@pytest.mark.parametrize(
    ("written", "line"),
    [
        ("{}", ""),
        ("", ""),
        (None, ""),
        ('{"path": "/var",\n "limit": 3}', '{"path":"/var","limit":3}'),
        ("{not json\n at all", "{not json at all"),
    ],
)
def test_arguments_become_a_line(written: object, line: str) -> None:
    assert digest_arguments(written) == line


def test_a_refusal_is_taken_apart() -> None:
    told = '{"error": {"code": "X", "message": "no", "hint": "read\\nfirst"}}'
    assert read_refusal(told) == ("no", "read first")
    assert read_refusal("just no") == ("just no", "")
    assert read_refusal('["odd"]') == ('["odd"]', "")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "<0.1 s"),
        (0.24, "0.2 s"),
        (9.94, "9.9 s"),
        (10.2, "10 s"),
        (59.6, "1 min 0 s"),
        (61, "1 min 1 s"),
        (3725, "1 h 2 min"),
    ],
)
def test_durations_are_as_exact_as_people_need(seconds: float, words: str) -> None:
    assert format_seconds(seconds) == words
