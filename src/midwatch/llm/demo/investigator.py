"""One turn of the demo model: calls or a text, decided by the conversation alone."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from midwatch.domain.messages import AssistantMessage, Message, UserMessage
from midwatch.llm.demo.alert_text import Alert, find_alert, find_analysis, find_question, without_alerts
from midwatch.llm.demo.case import Case
from midwatch.llm.demo.clues import find_clues
from midwatch.llm.demo.observations import gather_facts, list_exchanges
from midwatch.llm.demo.report import FOOTER, render_report, say_alert
from midwatch.llm.demo.steps import Plan, plan_calls
from midwatch.llm.demo.symptoms import Symptom, find_symptoms
from midwatch.llm.demo.toolbox import Chosen, Toolbox
from midwatch.llm.model import ModelRequest

_ROOT_CAUSE = re.compile(r"^#{1,6} *Root cause *\n+(.+?)(?=\n#|\Z)", re.DOTALL | re.MULTILINE)
_MOST_QUOTES = 3
_LONGEST_QUOTE = 1_000
_REASONS = 2
_LOOKED_AGAIN = (
    "I am a demo model: I follow rules, so I took the question for an alert and looked at the machine again."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    thinking: str = ""
    calls: tuple[Chosen, ...] = ()
    text: str = ""


def respond(request: ModelRequest) -> Turn:
    question = find_question(request.messages)
    if question is None:
        return _investigate(request, find_alert(request.messages))
    if Symptom.UNKNOWN in find_symptoms(question):
        return Turn(text=_answer_briefly(request.messages))
    turn = _investigate(request, Alert(text=question))
    return replace(turn, text=f"{_LOOKED_AGAIN}\n\n{turn.text}") if turn.text else turn


def _investigate(request: ModelRequest, alert: Alert | None) -> Turn:
    if alert is None and (analysis := find_analysis(request.messages)):
        return Turn(text=_sum_up(analysis))
    if alert is None or _has_concluded(request.messages):
        return Turn(text=_answer_briefly(request.messages))
    exchanges = list_exchanges(request.messages)
    case = _open_case(alert, request.messages)
    if not request.tools and not exchanges and any(_quote(request.messages)):
        return Turn(text=_answer_briefly(request.messages))
    plan = plan_calls(case, exchanges, toolbox=Toolbox(request.tools))
    if plan.calls:
        return Turn(thinking=_think(case, plan), calls=plan.calls)
    return Turn(text=render_report(case, plan, forced=not request.tools and bool(exchanges)))


def _open_case(alert: Alert, messages: Sequence[Message]) -> Case:
    return Case(
        alert=alert,
        symptoms=find_symptoms(alert.text),
        clues=find_clues(alert.text),
        facts=gather_facts(list_exchanges(messages)),
        rounds=sum(isinstance(message, AssistantMessage) and bool(message.calls) for message in messages),
    )


def _think(case: Case, plan: Plan) -> str:
    reasons = " ".join(plan.reasons[:_REASONS])
    return reasons if case.has_looked else f"By my rules, {say_alert(case)}. {reasons}"


def _has_concluded(messages: Sequence[Message]) -> bool:
    return any(
        isinstance(message, AssistantMessage) and not message.calls and message.text.strip() for message in messages
    )


def _answer_briefly(messages: Sequence[Message]) -> str:
    quotes = list(dict.fromkeys(_quote(messages)))[:_MOST_QUOTES]
    opening = "I am a demo model: I follow rules, and can neither answer questions nor sum up in words of my own."
    if not quotes:
        return f"{opening} I find no alert to look into here, and no analysis to point to.\n\n{FOOTER}"
    quoted = "\n\n".join(f"> {quote}" for quote in quotes)
    return f"{opening} The root cause, as the analysis in this conversation has it:\n\n{quoted}\n\n{FOOTER}"


def _sum_up(analysis: str) -> str:
    found = _ROOT_CAUSE.search(analysis)
    cause = " ".join((found[1] if found else analysis).split())[:_LONGEST_QUOTE]
    return f"{cause} (Found by rules, not by a language model.)"


def _quote(messages: Sequence[Message]) -> Iterator[str]:
    for message in messages:
        if isinstance(message, UserMessage | AssistantMessage):
            for found in _ROOT_CAUSE.findall(without_alerts(message.text)):
                yield " ".join(found.split())[:_LONGEST_QUOTE]
