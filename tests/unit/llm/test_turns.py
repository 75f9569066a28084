"""Results find the calls they answer, and no call is left without a place for its answer."""

from midwatch.domain.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from midwatch.llm.turns import Answer, Turn, cut_turns
from tests.unit.llm.conversations import make_call

A, B, AGAIN = (make_call("s.t", provider_id=each) for each in ("a", "b", "a"))
GO, MORE = UserMessage(text="go"), UserMessage(text="more")


def result_for(provider_id: str, content: str = "") -> ToolMessage:
    return ToolMessage(provider_id=provider_id, name="s.t", content=content)


def test_a_conversation_is_cut_before_each_reply() -> None:
    first, last = AssistantMessage(text="", calls=(A, B)), AssistantMessage(text="done")
    of_a, of_b = result_for("a"), result_for("b")
    messages: list[Message] = [SystemMessage(text="be good"), GO, first, of_b, of_a, MORE, last]
    assert cut_turns(messages) == [
        Turn(said=None, answers=(), heard=(GO,)),
        Turn(said=first, answers=(Answer(call=A, result=of_a), Answer(call=B, result=of_b)), heard=(MORE,)),
        Turn(said=last, answers=(), heard=()),
    ]


def test_a_call_nothing_came_back_for_stays_open_and_a_stray_result_is_left_out() -> None:
    reply = AssistantMessage(text="", calls=(A,))
    assert cut_turns([result_for("a"), reply, result_for("b"), AssistantMessage(text="x"), result_for("a")])[0] == Turn(
        said=reply, answers=(Answer(call=A, result=None),), heard=()
    )


def test_two_calls_with_one_id_are_answered_in_their_order() -> None:
    one, two = result_for("a", "one"), result_for("a", "two")
    (turn,) = cut_turns([AssistantMessage(text="", calls=(A, AGAIN)), one, two])
    assert [answer.result for answer in turn.answers] == [one, two]


def test_an_empty_conversation_has_no_turns() -> None:
    assert cut_turns([]) == cut_turns([SystemMessage(text="be good")]) == []
