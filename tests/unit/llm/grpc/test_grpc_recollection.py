"""What the service keeps between questions is bounded in time, number and size."""

from dataclasses import dataclass

from midwatch.llm.grpc import messages as wire
from midwatch.llm.grpc.recollection import HOUR, Answer, Recollection, States
from midwatch.llm.model import CallChunk, StateChunk, TextChunk


@dataclass
class FakeClock:
    now: float = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_what_nobody_asked_for_in_an_hour_is_forgotten() -> None:
    clock = FakeClock()
    kept = Recollection[str](clock=clock)
    kept.keep("a", "first", size=1)
    clock.now += HOUR - 1
    kept.keep("b", "second", size=1)
    assert kept.find("a") == "first"
    clock.now += 1
    assert (kept.find("a"), kept.find("b")) == (None, "second")


def test_the_oldest_goes_when_there_are_too_many() -> None:
    kept = Recollection[int](most_entries=3)
    for number in range(5):
        kept.keep(number, number, size=1)
    kept.keep(2, 2, size=1)
    kept.keep(5, 5, size=1)
    assert [kept.find(number) for number in range(6)] == [None, None, 2, None, 4, 5]
    assert kept.size == 3


def test_the_oldest_goes_when_it_is_too_much() -> None:
    kept = Recollection[str](most_bytes=10)
    kept.keep("a", "a", size=6)
    kept.keep("b", "b", size=6)
    assert (kept.find("a"), kept.find("b"), kept.size) == (None, "b", 6)
    kept.keep("c", "c", size=11)
    assert (len(kept), kept.size) == (0, 0)


def test_what_was_taken_is_not_there_for_others() -> None:
    kept = Recollection[str]()
    kept.keep("a", "first", size=4)
    assert (kept.take("a"), kept.take("a"), kept.size) == ("first", None, 0)


def answer(*chunks: TextChunk | CallChunk | StateChunk) -> Answer:
    heard = Answer()
    for chunk in chunks:
        heard.hear(chunk)
    return heard


def put_back(states: States, message: wire.ConversationMessage) -> bytes | None:
    states.put_back([message])
    return message.provider_state if message.HasField("provider_state") else None


def test_an_answer_is_known_by_its_calls_or_else_by_its_text() -> None:
    states = States()
    call = CallChunk(provider_id="c", name=".load_skill", arguments='{"b": [1, {"y": 1, "x": 2}], "a": 1}')
    answer(TextChunk(text="I look. "), call, StateChunk(state=b"with calls")).remember(states)
    answer(TextChunk(text=" so "), TextChunk(text="it is\n"), StateChunk(state=b"text")).remember(states)
    anew = '{"a":1,"b":[1,{"x":2,"y":1}]}'
    called = wire.ToolCall(id="c", name="load_skill", arguments=anew)
    assert put_back(states, wire.ConversationMessage(role="assistant", tool_calls=[called])) == b"with calls"
    assert put_back(states, wire.ConversationMessage(role="assistant", content="so it is")) == b"text"
    assert put_back(states, wire.ConversationMessage(role="assistant", content="so it was")) is None
    assert put_back(states, wire.ConversationMessage(role="user", content="so it is")) is None
    other = wire.ToolCall(id="c", name="load_skill", arguments="{broken")
    assert put_back(states, wire.ConversationMessage(role="assistant", tool_calls=[other])) is None


def test_a_state_that_the_caller_sends_is_left_alone() -> None:
    states = States()
    answer(TextChunk(text="so"), StateChunk(state=b"ours")).remember(states)
    sent = wire.ConversationMessage(role="assistant", content="so", provider_state=b"theirs")
    assert put_back(states, sent) == b"theirs"


def test_an_answer_without_state_leaves_none() -> None:
    states = States()
    answer(TextChunk(text="so")).remember(states)
    assert states.size == 0
