"""The `.env` file: a small language with few surprises."""

from pathlib import Path

import pytest

from midwatch.config.dotenv import with_dotenv
from midwatch.domain.errors import Misconfigured


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=b", "b"),
        ("export A=b", "b"),
        ("A = b ", "b"),
        ("A=", ""),
        ("A=b # comment", "b"),
        ("A=# comment", ""),
        ("A=b#c", "b#c"),
        ('A="b # c" # comment', "b # c"),
        (r'A="one\ntwo \"x\" \\"', 'one\ntwo "x" \\'),
        (r"A='one\n $B'", r"one\n $B"),
        ("A=b=c", "b=c"),
    ],
)
def test_a_line_gives_a_value(tmp_path: Path, line: str, value: str) -> None:
    (tmp_path / ".env").write_text(f"# first\n\n{line}\n", encoding="utf-8")
    assert with_dotenv(tmp_path, {}) == {"A": value}


def test_the_environment_wins(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=file\nB=file\n", encoding="utf-8")
    assert with_dotenv(tmp_path, {"A": "environment"}) == {"A": "environment", "B": "file"}


def test_no_file_changes_nothing(tmp_path: Path) -> None:
    assert with_dotenv(tmp_path, {"A": "b"}) == {"A": "b"}


@pytest.mark.parametrize("line", ["hunter2", "A='hunter2", 'A="hunter2', "A='hunter2' x", "1A=hunter2"])
def test_a_line_that_says_nothing_is_told_without_repeating_it(tmp_path: Path, line: str) -> None:
    (tmp_path / ".env").write_text(f"OK=1\n{line}\n", encoding="utf-8")
    with pytest.raises(Misconfigured) as caught:
        with_dotenv(tmp_path, {})
    assert caught.value.problems == (".env:2: expected NAME=value, with quotes that end on the same line",)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / ".env").mkdir()
    with pytest.raises(Misconfigured, match="cannot be read"):
        with_dotenv(tmp_path, {})
