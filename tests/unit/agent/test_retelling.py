"""A conversation in few words: the task, and what was said last."""

from hypothesis import given
from hypothesis import strategies as st

from midwatch.agent.retelling import retell
from midwatch.domain.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from midwatch.domain.tools import ToolCall
from midwatch.kit.ids import new_id

CALL = ToolCall(call_id=new_id(), provider_id="c", name="deck.get", arguments='{"a":1}')
MESSAGES: list[Message] = [
    SystemMessage(text="rules"),
    UserMessage(text="The pump is hot."),
    AssistantMessage(text="I look.", calls=(CALL,)),
    ToolMessage(provider_id="c", name="deck.get", content="y" * 1_000),
    AssistantMessage(text="And again.", calls=(CALL,)),
]


def test_it_is_told_who_said_what_and_no_rules() -> None:
    told = retell(MESSAGES, most=10_000)
    assert told.startswith('user: The pump is hot.\n\nassistant: I look. [calls deck.get {"a":1}]\n\ndeck.get: yyy')
    assert told.endswith('…\n\nassistant: And again. [calls deck.get {"a":1}]')
    assert "rules" not in told
    assert len(told) < 700


def test_what_does_not_fit_is_left_out_in_the_middle() -> None:
    assert retell(MESSAGES, most=100) == (
        'user: The pump is hot.\n\n[…]\n\nassistant: And again. [calls deck.get {"a":1}]'
    )


def test_a_long_task_leaves_room_for_what_followed() -> None:
    told = retell([UserMessage(text="x" * 10_000), *MESSAGES[2:]], most=2_000)
    assert told.endswith('And again. [calls deck.get {"a":1}]')
    assert len(told) <= 2_000


def test_nothing_said_is_nothing_told() -> None:
    assert retell([SystemMessage(text="rules")], most=100) == ""


_SAID = st.text(max_size=200).map(lambda text: UserMessage(text=text))


@given(messages=st.lists(_SAID, max_size=20), most=st.integers(20, 500))
def test_it_is_never_longer_than_it_may_be(messages: list[Message], most: int) -> None:
    assert len(retell(messages, most=most)) <= most
