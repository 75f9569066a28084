"""The alert in a conversation: what stands between the fences of the prompt, as data and nothing else."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from midwatch.domain.messages import Message, UserMessage

LONGEST = 20_000
"""Characters of an alert that are read. What a rule can use stands at its beginning."""
_FENCED = r"<!-- {name}_START (?P<word>\S+) -->\n?(?P<inside>.*?)\n?<!-- {name}_END (?P=word) -->"
_ALERT = re.compile(_FENCED.format(name="ALERT_DATA"), re.DOTALL)
_RUNBOOK = re.compile(_FENCED.format(name="RUNBOOK"), re.DOTALL)
_ANALYSIS = re.compile(_FENCED.format(name="ANALYSIS"), re.DOTALL)
_QUESTION = re.compile(_FENCED.format(name="QUESTION"), re.DOTALL)
_EARLIER = re.compile(_FENCED.format(name="CHAIN_CONTEXT"), re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    text: str
    is_cut: bool = False
    """It goes on where the text ends."""
    has_runbook: bool = False
    earlier: str = ""
    """What earlier stages wrote."""


def find_alert(messages: Sequence[Message]) -> Alert | None:
    for message in messages:
        if isinstance(message, UserMessage) and (found := _ALERT.search(message.text)):
            rest = message.text[found.end() :]
            earlier = _EARLIER.search(rest)
            return Alert(
                text=found["inside"][:LONGEST],
                is_cut=len(found["inside"]) > LONGEST,
                has_runbook=_RUNBOOK.search(rest) is not None,
                earlier=earlier["inside"] if earlier else "",
            )
    return None


def find_question(messages: Sequence[Message]) -> str | None:
    """What a person asks about an investigation."""
    for message in messages:
        if isinstance(message, UserMessage) and (found := _QUESTION.search(without_alerts(message.text))):
            return found["inside"][:LONGEST]
    return None


def find_analysis(messages: Sequence[Message]) -> str | None:
    """What is to be summed up."""
    for message in messages:
        if isinstance(message, UserMessage) and (found := _ANALYSIS.search(message.text)):
            return found["inside"]
    return None


def without_alerts(text: str) -> str:
    """What Midwatch itself wrote into a message. Words of an alert must not pass for it."""
    return _ALERT.sub("", text)
