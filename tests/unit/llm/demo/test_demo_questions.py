"""What the demo model makes of a question: another look at the machine, or the root cause as it was found."""

import pytest

from midwatch.agent.prompts.render import render_chat
from midwatch.domain.messages import Message, SystemMessage, UserMessage
from midwatch.llm.demo.investigator import respond
from midwatch.llm.model import ModelRequest
from tests.unit.llm.demo.desk import host_tools

ANALYSIS = "## Root cause\n\nThe nightly export filled the disk.\n\n## Evidence\n\nThe disk is full."


def ask(question: str, *, alert: str = "Something is odd.", tools: bool = True) -> ModelRequest:
    text = render_chat(
        alert_type="host",
        alert_data=alert,
        runbook="",
        stages=(),
        final_analysis=ANALYSIS,
        executive_summary=None,
        exchanges=(),
        question=question,
        author="ada",
    )
    messages: tuple[Message, ...] = (SystemMessage(text="You answer."), UserMessage(text=text))
    return ModelRequest(messages=messages, tools=host_tools() if tools else (), agent="ChatAgent")


def test_a_question_about_something_it_knows_makes_it_look_at_that() -> None:
    turn = respond(ask("Is memory usage high?", alert="The disk is full."))
    assert "midwatch-host.memory" in [call.name for call in turn.calls]
    assert "midwatch-host.disks" not in [call.name for call in turn.calls]


@pytest.mark.parametrize("question", ["Who is to blame?", "Thanks!"])
def test_any_other_question_is_answered_with_the_root_cause_that_was_found(question: str) -> None:
    turn = respond(ask(question, alert="Memory usage is high."))
    assert turn.calls == ()
    assert "can neither answer questions" in turn.text
    assert "> The nightly export filled the disk." in turn.text


def test_without_tools_it_says_what_it_is_before_it_says_anything_else() -> None:
    turn = respond(ask("Is memory usage high?", tools=False))
    assert turn.text.startswith("I am a demo model")
