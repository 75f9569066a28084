"""What a list shows of an alert: the words in it that were written for people."""

import pytest

from midwatch.api.pages.words import first_line


@pytest.mark.parametrize(
    ("alert", "title"),
    [
        ("Disk /var is full\non db1", "Disk /var is full"),
        ("\n---\n  load is high  ", "load is high"),
        ('{\n "status": "firing",\n "summary": "Disk \\"/var\\" is\\nfull"}', 'Disk "/var" is full'),
        ('{"alertname": "DiskFull", "annotations": {"description": "97 % used"}}', "97 % used"),
        ('[{"labels": {"alertname": "DiskFull"}}]', "DiskFull"),
        ('{"summary": "first", "more": {"summary": "second"}}', "first"),
        ('{"summary": " ", "title": "Late"}', "Late"),
        ('{"message": "broken \\x escape"}', "broken \\x escape"),
        ('{"status": "firing", "summary": "cut off in the mid', '{"status": "firing", "summary": "cut off in the mid'),
        ('{\n"host": "db1"}', '"host": "db1"}'),
        ("", "(empty)"),
    ],
)
def test_the_first_words_for_people_are_the_title(alert: str, title: str) -> None:
    assert first_line(alert) == title


def test_a_long_one_is_cut() -> None:
    assert first_line("x" * 500) == "x" * 160 + "…"
