"""Looking into a long result: lines as grep shows them, passages, and JMESPath over JSON. Always a bounded answer."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midwatch.tools.results.bounds import MOST_CHARACTERS, Unanswerable
from midwatch.tools.results.excerpt import cut_middle
from midwatch.tools.results.passage import show_characters, show_lines
from midwatch.tools.results.query import query
from midwatch.tools.results.search import search

LOG = "\n".join(f"{number:03} {'ERROR valve' if number % 40 == 0 else 'all is well'}" for number in range(1, 101))
_TEXTS = st.text(st.sampled_from("ab\n.*[(é "), max_size=300)
_ROOM = MOST_CHARACTERS + 300


def test_a_search_shows_numbered_lines_with_their_neighbours() -> None:
    assert search(LOG, text="ERROR", context=1) == (
        "2 found in 100 lines; these are 1 to 2:\n"
        "39- 039 all is well\n40: 040 ERROR valve\n41- 041 all is well\n--\n"
        "79- 079 all is well\n80: 080 ERROR valve\n81- 081 all is well"
    )


def test_neighbours_are_shown_once() -> None:
    found = search("a\nhot\nb\nhot\nc", text="hot", context=2)
    assert found.splitlines()[1:] == ["1- a", "2: hot", "3- b", "4: hot", "5- c"]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"text": "error"}, 0),
        ({"text": "error", "ignore_case": True}, 2),
        ({"pattern": "^0[48]0"}, 2),
        ({"pattern": "well$"}, 98),
        ({"text": "^0[48]0"}, 0),
        ({"pattern": "x*"}, 0),
    ],
)
def test_a_search_is_for_a_text_as_it_stands_or_for_a_pattern(arguments: dict[str, Any], found: int) -> None:
    answer = search(LOG, **arguments)
    assert answer.startswith(f"{found} found in 100 lines" if found else "Nothing found in 100 lines")


def test_a_search_goes_on_where_it_had_stopped() -> None:
    first = search(LOG, text="well", context=0, limit=3)
    assert first.startswith("98 found in 100 lines; these are 1 to 3 (go on with skip=3):\n1: ")
    assert search(LOG, text="well", context=0, limit=1, skip=3).endswith(":\n4: 004 all is well")
    assert search(LOG, text="well", context=0, skip=98) == "98 found in 100 lines."


def test_of_a_long_line_only_what_is_around_each_match_is_shown() -> None:
    line = "x" * 5_000 + "HOT" + "y" * 5_000 + "HOT" + "z" * 5_000
    header, first, second = search(line, text="HOT").splitlines()
    assert header.startswith("2 found in 1 lines")
    assert first.startswith(f"1, character 5,001: …{'x' * 150}HOT{'y' * 150}…")
    assert second.startswith("1, character 10,004: …")
    assert len(first) < 400


def test_a_match_in_the_middle_of_many_bytes_is_found_by_its_character() -> None:
    assert "1, character 1,001: " in search("é" * 1000 + "HOT" + "é" * 1000, text="HOT")


@pytest.mark.parametrize("arguments", [{}, {"text": "a", "pattern": "b"}, {"pattern": "("}, {"pattern": "a(?=b)"}])
def test_a_search_for_nothing_or_for_something_impossible_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(Unanswerable):
        search(LOG, **arguments)


@given(content=_TEXTS, wanted=st.text(st.sampled_from("ab.*[(é"), min_size=1, max_size=4))
def test_whatever_stands_in_a_text_is_found_and_nothing_else(content: str, wanted: str) -> None:
    lines = [number for number, line in enumerate(content.split("\n"), start=1) if wanted in line]
    answer = search(content, text=wanted, context=0, limit=100)
    assert [int(row.split(":")[0]) for row in answer.splitlines()[1:] if row != "--"] == lines[:100]


@given(content=_TEXTS, pattern=_TEXTS, context=st.integers(0, 20), limit=st.integers(1, 100))
def test_a_search_is_bounded_whatever_is_asked(content: str, pattern: str, context: int, limit: int) -> None:
    try:
        answer = search(content * 100, pattern=pattern, context=context, limit=limit)
    except Unanswerable:
        return
    assert len(answer) <= _ROOM


def test_lines_are_counted_from_either_end() -> None:
    assert show_lines(LOG, from_line=2, lines=2) == "lines 2 to 3 of 100:\n002 all is well\n003 all is well"
    assert show_lines(LOG, from_line=-1) == "lines 100 to 100 of 100:\n100 all is well"
    assert show_lines(LOG, from_line=-500, lines=1).startswith("lines 1 to 1 of 100")
    assert show_lines(LOG, from_line=101) == "There are only 100 lines."


def test_lines_that_do_not_fit_tell_where_to_go_on() -> None:
    content = "a\n" + "b" * 50_000
    answer = show_lines(content, from_line=2, lines=1)
    assert len(answer) <= MOST_CHARACTERS
    (at,) = re.findall(r"from_character=(\d+)\)", answer)
    rest = show_characters(content, from_character=int(at), characters=10)
    assert answer.count("b") + 3 == int(at)
    assert rest.endswith("b" * 10)


@given(content=st.text(min_size=1, max_size=200), step=st.integers(1, 50))
def test_passages_read_one_after_another_are_the_whole(content: str, step: int) -> None:
    at, read = 1, ""
    while at <= len(content):
        told, _, passage = show_characters(content, from_character=at, characters=step).partition(":\n")
        read += passage
        at += len(passage)
        assert ("go on with from_character" in told) is (at <= len(content))
    assert read == content


def test_characters_are_counted_from_either_end() -> None:
    assert show_characters("abcdef", from_character=-2) == "characters 5 to 6 of 6:\nef"
    assert show_characters("abcdef", from_character=7) == "There are only 6 characters."
    assert len(show_characters("x" * 50_000, characters=50_000)) <= MOST_CHARACTERS


PUMPS = json.dumps({"pumps": [{"name": f"p{n}", "hot": n == 3} for n in range(5)]})


@pytest.mark.parametrize(
    ("expression", "answer"),
    [("pumps[?hot].name", '[\n "p3"\n]'), ("length(pumps)", "5"), ("pumps[0].name", '"p0"')],
)
def test_json_is_asked_for_a_part_of_itself(expression: str, answer: str) -> None:
    assert query(PUMPS, expression=expression) == answer


def test_json_on_every_line_is_a_list() -> None:
    assert query('{"a": 1}\n\n{"a": 2}\n', expression="[*].a | sum(@)") == "3"


def test_what_is_not_there_is_said_with_what_is() -> None:
    assert query(PUMPS, expression="valves") == "null: nothing there. An object with the fields pumps."


def test_an_answer_that_is_too_long_is_cut_and_says_how_much_there_is() -> None:
    answer = query(json.dumps(["x" * 100] * 1000), expression="@")
    assert len(answer) <= MOST_CHARACTERS
    assert "A list of 1,000." in answer


def test_a_short_expression_that_names_the_same_a_million_times_is_cut_too() -> None:
    answer = query('["x"]', expression="|".join(["[@,@]"] * 25))
    assert len(answer) <= MOST_CHARACTERS


@pytest.mark.parametrize(
    ("content", "expression"),
    [
        ("not JSON", "a"),
        (PUMPS[:-5], "a"),
        ("[" * 100_000, "a"),
        (PUMPS, "pumps[?"),
        (PUMPS, "no_such_function(@)"),
        (PUMPS, "abs('a')"),
        (PUMPS, "[" * 3_000),
        (PUMPS, "!" * 5_000 + "a"),
    ],
)
def test_a_query_that_makes_no_sense_is_refused(content: str, expression: str) -> None:
    with pytest.raises(Unanswerable):
        query(content, expression=expression)


def explain(left_out: int) -> str:
    return f"[{left_out} more]"


@given(content=st.text(max_size=2_000), most=st.integers(40, 1_000))
def test_a_cut_text_keeps_its_beginning_and_its_end_and_counts_the_rest(content: str, most: int) -> None:
    cut = cut_middle(content, most=most, explain=explain)
    assert len(cut) <= most
    if len(content) <= most:
        assert cut == content
        return
    (left_out,) = [int(number) for number in re.findall(r"\[(\d+) more\]", cut) if f"\n[{number} more]\n" in cut][:1]
    head, _, tail = cut.partition(f"\n[{left_out} more]\n")
    assert content.startswith(head)
    assert content.endswith(tail)
    assert len(head) + len(tail) + left_out == len(content)


def test_a_cut_goes_between_lines_where_one_ends_nearby() -> None:
    head, _, tail = cut_middle("line\n" * 1000, most=500, explain=explain).partition("\n[")
    assert head.endswith("\nline")
    assert tail.partition("]\n")[2].startswith("line\n")
