"""A session's model traffic as a script: whatever was said is read back exactly as it was."""

from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midwatch.domain.errors import Conflict
from midwatch.domain.messages import Usage
from midwatch.kit.json import clean_text
from midwatch.llm.scripted import THE_END, Occasions, ScriptedTurn, Turns, choose_step, load_turns
from midwatch.store.recordings import RecordedConversation, RecordedTurn
from midwatch.timeline.recording import render_script

WORDS = st.text(max_size=60).map(clean_text)
"""As the database keeps them."""
COUNT = st.integers(min_value=0, max_value=10**6)
TURN = st.builds(
    RecordedTurn,
    text=WORDS,
    thinking=WORDS,
    calls=st.lists(st.tuples(st.just("deck.look"), WORDS | st.just('{"a":[1,2.5,"é"]}')), max_size=3).map(tuple),
    usage=st.builds(Usage, input_tokens=COUNT, output_tokens=COUNT, cache_read_tokens=COUNT),
)


@given(st.lists(TURN, min_size=1, max_size=4))
def test_what_was_said_is_read_back_exactly(turns: list[RecordedTurn]) -> None:
    read = _read(render_script([RecordedConversation(agent="Mate", turns=tuple(turns))]))
    assert [(turn.text, turn.thinking, turn.usage) for turn in read] == [
        (turn.text, turn.thinking, turn.usage) for turn in turns
    ]
    assert [[(call.name, call.arguments_text) for call in turn.calls] for turn in read] == [
        list(turn.calls) for turn in turns
    ]


def _load(script: str) -> Turns:
    with NamedTemporaryFile(suffix=".yaml") as file:
        file.write(script.encode())
        file.flush()
        return load_turns(Path(file.name))


def _read(script: str) -> list[ScriptedTurn]:
    turns = _load(script)
    assert isinstance(turns, dict)
    part = turns["Mate"]
    assert not isinstance(part, Occasions)
    return [turn for turn in part if isinstance(turn, ScriptedTurn)]


def conversation(agent: str, *texts: str) -> RecordedConversation:
    turns = (RecordedTurn(text=text, thinking="", calls=(), usage=Usage()) for text in texts)
    return RecordedConversation(agent=agent, turns=tuple(turns))


@pytest.mark.parametrize("conversations", [[], [conversation("Mate"), conversation("Bosun")]])
def test_a_session_in_which_nobody_spoke_cannot_be_recorded(conversations: list[RecordedConversation]) -> None:
    with pytest.raises(Conflict, match="nothing to record"):
        render_script(conversations)


def test_an_agent_that_worked_more_than_once_is_played_time_after_time() -> None:
    """One that never came to an answer has its place all the same."""
    told = [conversation("Mate", "a", "b"), conversation("Bosun", "c"), conversation("Mate"), conversation("Mate", "d")]
    turns = _load(render_script(told))

    def text_at(agent: str, occasion: int, number: int) -> str:
        step = choose_step(turns, part=agent, number=number, occasion=occasion)
        assert isinstance(step, ScriptedTurn)
        return step.text

    assert [text_at("Mate", 0, 0), text_at("Mate", 0, 1), text_at("Mate", 2, 0)] == ["a", "b", "d"]
    assert text_at("Mate", 1, 0) == text_at("Mate", 3, 0) == text_at("Mate", 2, 1) == THE_END.text
    assert text_at("Bosun", 0, 0) == text_at("Bosun", 7, 0) == "c", "one list is for every time"
