"""Every answer is short and clean, whatever the machine holds."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, BeforeValidator, Field

from midwatch.bundled.host.answers import Answer, Line, Listing, Name, PathText, Tail, fit, tell_time
from midwatch.bundled.host.bounds import MAX_CHARACTERS, show_message, show_name
from midwatch.bundled.host.server import build_server
from midwatch.bundled.host.tail import read_last_lines


class Rows(Listing):
    rows: list[PathText]
    few: list[Name] = Field(default_factory=list[Name])


class Written(Tail):
    lines: list[Line]


@given(st.text(max_size=300), st.integers(min_value=2, max_value=100))
def test_shown_text_is_clean_and_no_longer_than_allowed(text: str, limit: int) -> None:
    for shown in (show_name(text, limit), show_message(text, limit)):
        assert len(shown) <= limit
        assert not set(shown) & set("\x00\x07\x1b\x7f\u202e\u2066")
        shown.encode()
    assert "\n" not in show_name(text, limit)


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("a\nb\tc", "a\ufffdb\ufffdc", "a\nb\tc"),
        ("\x1b[31mred\x1b[0m", "\ufffd[31mred\ufffd[0m", "red"),
        ("half \udcff", "half \ufffd", "half \ufffd"),
        ("evil \u202egnp.exe", "evil \ufffdgnp.exe", "evil \ufffdgnp.exe"),
        ("x" * 50, "x" * 39 + "…", "x" * 39 + "…"),
    ],
)
def test_what_could_mislead_a_reader_is_replaced(text: str, name: str, message: str) -> None:
    assert show_name(text, 40) == name
    assert show_message(text, 40) == message


def test_an_answer_that_fits_is_left_alone() -> None:
    answer = Rows(rows=["a"], total=1)
    assert fit(answer) is answer


@pytest.mark.parametrize("character", ["x", "\\", '"', "\n", "\udcff", "é", "🜁"])
@pytest.mark.parametrize("count", [40, 1000])
def test_a_long_answer_loses_the_end_of_its_longest_list_and_says_so(character: str, count: int) -> None:
    rows = [f"{number} {character * 100_000}" for number in range(count)]
    answer = fit(Rows(rows=rows, few=["kept"], total=count, notes=["n" * 5000] * 3 + [f"{n}" * 999 for n in range(50)]))
    assert len(answer.model_dump_json()) <= MAX_CHARACTERS
    assert answer.truncated
    assert answer.total == count
    assert answer.few == ["kept"]
    assert answer.rows
    assert [row.split()[0] for row in answer.rows] == [str(number) for number in range(len(answer.rows))]
    assert f"`rows` shows {len(answer.rows)} of {count}, to keep the answer short" in answer.notes


def test_of_a_tail_the_newest_lines_stay() -> None:
    answer = fit(Written(lines=[f"{number} {'x' * 400}" for number in range(100)]))
    assert answer.lines[-1].startswith("99 ")
    assert answer.truncated
    assert len(answer.model_dump_json()) <= MAX_CHARACTERS


@pytest.mark.parametrize("timestamp", [-1e18, 0.0, 1763110450.9, 1e18, float("inf")])
def test_any_time_a_file_may_claim_can_be_told(timestamp: float) -> None:
    assert tell_time(timestamp).endswith("Z")


async def answer_shapes() -> list[type[Answer]]:
    server = build_server()
    models = [tool.fn_metadata.output_model for tool in server._tool_manager.list_tools()]  # pyright: ignore[reportPrivateUsage] - the only place that keeps them
    assert all(issubclass(model, Answer) for model in models)
    return models


def texts_without_bound(model: type[BaseModel]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield from (f"{model.__name__}.{name}" for _ in unbounded(field.annotation, tuple(field.metadata)))


def unbounded(annotation: Any, metadata: tuple[Any, ...]) -> Iterator[Any]:
    """The plain texts within an annotation that no cleaner stands before."""
    if annotation is str:
        yield from () if any(isinstance(each, BeforeValidator) for each in metadata) else (annotation,)
    elif is_shape(annotation):
        yield from texts_without_bound(annotation)
    elif get_origin(annotation) is Annotated:
        inner, *cleaners = get_args(annotation)
        yield from unbounded(inner, tuple(cleaners))
    elif get_origin(annotation) is not Literal:
        for inner in get_args(annotation):
            yield from unbounded(inner, ())


def is_shape(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


async def test_no_text_enters_an_answer_without_being_cleaned_and_clipped() -> None:
    class Careless(Answer):
        rows: list[str | None]

    assert list(texts_without_bound(Careless)) == ["Careless.rows"]
    shapes = await answer_shapes()
    assert len(shapes) == 18
    assert [text for shape in shapes for text in texts_without_bound(shape)] == []


def last_lines(tmp_path: Path, content: bytes, *, count: int, contains: str = "", max_bytes: int = 10**9) -> list[str]:
    file = tmp_path / "log"
    file.write_bytes(content)
    handle = os.open(file, os.O_RDONLY)
    try:
        return read_last_lines(handle, size=len(content), count=count, contains=contains, max_bytes=max_bytes).lines
    finally:
        os.close(handle)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"one", ["one"]),
        (b"one\n", ["one"]),
        (b"one\ntwo\nthree\n", ["two", "three"]),
        (b"one\r\ntwo\r\n", ["one", "two"]),
        (b"one\n\n\n", ["", ""]),
        (b"bad \xff byte\n", ["bad \ufffd byte"]),
    ],
)
def test_the_last_lines_of_a_file_are_found(tmp_path: Path, content: bytes, expected: list[str]) -> None:
    assert last_lines(tmp_path, content, count=2) == expected


def test_lines_are_whole_across_the_blocks_they_are_read_in(tmp_path: Path) -> None:
    lines = [f"{number} {'x' * (number % 97)}" for number in range(20_000)]
    assert last_lines(tmp_path, "\n".join(lines).encode(), count=20_001) == lines
    assert last_lines(tmp_path, "\n".join(lines).encode() + b"\n", count=3, contains="19999 X") == lines[-1:]


def test_a_line_of_many_megabytes_is_clipped_from_its_beginning(tmp_path: Path) -> None:
    content = b"before\n" + b"start " + b"x" * 3_000_000 + b"\nafter\n"
    before, long, after = last_lines(tmp_path, content, count=5)
    assert (before, after) == ("before", "after")
    assert long.startswith("start x")
    assert len(long) < 10_000


def test_no_more_is_read_than_allowed(tmp_path: Path) -> None:
    lines = last_lines(tmp_path, b"first\n" + b"y" * 2000 + b"\nlast\n", count=9, max_bytes=1000)
    assert lines == ["last"]
