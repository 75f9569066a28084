"""A session's model traffic as a script: whatever was said is read back exactly as it was."""

from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midwatch.domain.errors import Conflict
from midwatch.domain.messages import Usage
from midwatch.kit.ids import new_id
from midwatch.kit.json import clean_text
from midwatch.llm.scripted import ScriptedTurn, load_turns
from midwatch.store.recordings import RecordedTurn
from midwatch.timeline.recording import render_script

EXECUTION = new_id()
WORDS = st.text(max_size=60).map(clean_text)
"""As the database keeps them."""
COUNT = st.integers(min_value=0, max_value=10**6)
TURN = st.builds(
    RecordedTurn,
    execution_id=st.just(EXECUTION),
    agent=st.just("Mate"),
    text=WORDS,
    thinking=WORDS,
    calls=st.lists(st.tuples(st.just("deck.look"), WORDS | st.just('{"a":[1,2.5,"é"]}')), max_size=3).map(tuple),
    usage=st.builds(Usage, input_tokens=COUNT, output_tokens=COUNT, cache_read_tokens=COUNT),
)


@given(st.lists(TURN, min_size=1, max_size=4))
def test_what_was_said_is_read_back_exactly(turns: list[RecordedTurn]) -> None:
    read = _read(render_script(turns))
    assert [(turn.text, turn.thinking, turn.usage) for turn in read] == [
        (turn.text, turn.thinking, turn.usage) for turn in turns
    ]
    assert [[(call.name, call.arguments_text) for call in turn.calls] for turn in read] == [
        list(turn.calls) for turn in turns
    ]


def _read(script: str) -> list[ScriptedTurn]:
    with NamedTemporaryFile(suffix=".yaml") as file:
        file.write(script.encode())
        file.flush()
        turns = load_turns(Path(file.name))
    assert isinstance(turns, dict)
    return [turn for turn in turns["Mate"] if isinstance(turn, ScriptedTurn)]


def turn_of(agent: str) -> RecordedTurn:
    return RecordedTurn(execution_id=new_id(), agent=agent, text="x", thinking="", calls=(), usage=Usage())


def test_a_session_in_which_nobody_spoke_cannot_be_recorded() -> None:
    with pytest.raises(Conflict, match="nothing to record"):
        render_script([])


def test_an_agent_that_worked_twice_cannot_be_played_by_its_name() -> None:
    with pytest.raises(Conflict, match="agent Mate was at work 2 times"):
        render_script([turn_of("Mate"), turn_of("Bosun"), turn_of("Mate")])
