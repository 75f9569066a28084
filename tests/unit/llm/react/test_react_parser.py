"""Thoughts, actions and answers out of plain text, however a model writes them down."""

from json import dumps

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midwatch.kit import json
from midwatch.llm.react.arguments import read_arguments
from midwatch.llm.react.parser import ReactParser, Said, Section, Wish


def read(text: str, *, size: int = 10_000) -> tuple[Wish, list[Said]]:
    parser = ReactParser()
    said = [said for start in range(0, len(text), size) for said in parser.feed(text[start : start + size])]
    said += parser.finish()
    return parser.wish, said


CALL = Wish(action="host.disks", action_input='{"path": "/"}')


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ('Thought: look\nAction: host.disks\nAction Input: {"path": "/"}', CALL),
        ('Action: host.disks\nAction Input: {"path": "/"}\n', CALL),
        ('**Thought:** look\n**Action:** host.disks\n**Action Input:** {"path": "/"}', CALL),
        ('thought: look\nACTION: `host.disks`\naction input: {"path": "/"}', CALL),
        ('Action: host.disks\nAction Input:\n```json\n{"path": "/"}\n```\nI wait.', CALL),
        ('Action: host.disks\nAction Input: {"path": "/"}\nObservation: full\nFinal Answer: full', CALL),
        ('Action: host.disks\nAction Input: {"path": "/"}\nAction: host.load\nAction Input: {}', CALL),
        ('Action: host.disks\nAction Input: {"path": "/"}\nFinal Answer: it will be full', CALL),
        ("Action: host.load", Wish(action="host.load")),
        ("Thought: enough\nFinal Answer: It is full.", Wish(answer="It is full.")),
        (
            "Final Answer: It is full.\nAction: restart it\nThought: no",
            Wish(answer="It is full.\nAction: restart it\nThought: no"),
        ),
        ("Final Answer:\n# Report\n\nfull", Wish(answer="# Report\n\nfull")),
        ("I think the disk is full.", Wish()),
        ("Thought: hm", Wish()),
        ("Final Answer:   ", Wish()),
        ("The action: none taken", Wish()),
        ("", Wish()),
    ],
)
def test_what_a_text_comes_to(text: str, wish: Wish) -> None:
    assert read(text)[0] == wish


def test_thoughts_and_answers_come_out_while_the_model_writes() -> None:
    parser = ReactParser()
    assert list(parser.feed("Thought: the disk\nmay be full\nFin")) == [
        Said(section=Section.THOUGHT, text="the disk\n"),
        Said(section=Section.THOUGHT, text="may be full\n"),
    ]
    assert list(parser.feed("al Answer: It\nis")) == [Said(section=Section.ANSWER, text="It\n")]
    assert list(parser.finish()) == [Said(section=Section.ANSWER, text="is")]


def test_what_stands_behind_an_observation_of_its_own_is_not_kept() -> None:
    parser = ReactParser()
    list(parser.feed("Action: a.b\nAction Input: {}\nObservation: all is well\nFinal Answer: fine\n"))
    assert parser.text == "Action: a.b\nAction Input: {}"


LINES = st.sampled_from(
    [
        "Thought: a",
        "Action: s.t",
        "Action Input: {}",
        "Final Answer: b",
        "Observation: c",
        "words",
        "",
        "```",
        "**Action:** x",
    ]
)


@given(st.lists(LINES | st.text(max_size=30), max_size=12).map("\n".join), st.integers(1, 7))
def test_however_the_text_is_cut_it_means_the_same(text: str, size: int) -> None:
    assert read(text, size=size) == read(text)


@given(st.text(max_size=200))
def test_no_text_is_a_call_and_an_answer_at_once(text: str) -> None:
    wish, _ = read(text)
    assert wish.action is None or wish.answer is None


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('{"path": "/", "limit": 5}', {"path": "/", "limit": 5}),
        ("path: /var\nlimit: 5", {"path": "/var", "limit": 5}),
        ("path=/var, limit=5", {"path": "/var", "limit": 5}),
        ('name="web server" all=true', {"name": "web server", "all": True}),
        ("", {}),
        ("None", {}),
        ("[1, 2]", None),
        ('{"path": ', None),
    ],
)
def test_what_an_input_is_taken_for(text: str, arguments: dict[str, object] | None) -> None:
    found = read_arguments(text)
    assert (None if found is None else json.decode(found)) == arguments


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=5), st.integers(-(2**63), 2**63) | st.text(max_size=5) | st.none(), max_size=4
    )
)
def test_json_is_taken_as_it_is(arguments: dict[str, object]) -> None:
    written = dumps(arguments)
    assert read_arguments(written) == written


def test_plain_words_are_left_to_whoever_knows_the_tool() -> None:
    assert read_arguments(" just words\n") == "just words"


@given(st.text(max_size=60))
def test_any_input_is_an_object_or_the_words_themselves_or_nothing(text: str) -> None:
    found = read_arguments(text)
    assert found in (None, text.strip()) or isinstance(json.decode(found or ""), dict)
