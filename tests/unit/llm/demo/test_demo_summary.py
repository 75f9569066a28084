"""Asked for a few lines, the demo model gives the root cause as the analysis has it, and says what it is."""

import pytest

from midwatch.agent.prompts.render import render_executive_summary
from midwatch.domain.messages import SystemMessage, UserMessage
from midwatch.llm.demo.investigator import respond
from midwatch.llm.model import ModelRequest

FOOTNOTE = "(Found by rules, not by a language model.)"


@pytest.mark.parametrize(
    ("analysis", "expected"),
    [
        (
            "## Root cause\n\nThe nightly export\nfilled the disk.\n\n## Evidence\n\nThe disk is full.",
            "The nightly export filled the disk.",
        ),
        ("Nobody knows.", "Nobody knows."),
    ],
)
def test_a_summary_is_the_root_cause_in_one_line(analysis: str, expected: str) -> None:
    messages = (SystemMessage(text="You shorten."), UserMessage(text=render_executive_summary(analysis=analysis)))
    turn = respond(ModelRequest(messages=messages, tools=(), agent="ExecSummaryAgent"))
    assert (turn.text, turn.calls) == (f"{expected} {FOOTNOTE}", ())
