"""What the model says: decided by who asks, about which session, after how many turns. Pure."""

import re
from typing import Any

from midwatch.config.builtins import CHAT_AGENT
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from tests.chaos.plan import Plan, PlannedCall, PlannedSession, Run, name_call, name_question
from tests.fakes.openai_server import Body, count_turns
from tests.voyages import SUMMARIZER, who_asks

_TAG = re.compile(r"watch-s(\d+)")
_QUESTION = re.compile(r"ask-q(\d+)")


def find_session(plan: Plan, body: Body) -> PlannedSession | None:
    found = _TAG.search(str(body["messages"]))
    return None if found is None else plan.sessions[int(found[1])]


def find_run(body: Body) -> Run:
    return Run.CHAT if who_asks(body) == CHAT_AGENT else Run.ALERT


def reply_to(plan: Plan, body: Body) -> ScriptedTurn:
    session = find_session(plan, body)
    who = who_asks(body)
    if session is None or who == SUMMARIZER:
        return ScriptedTurn(text="It was long, and nothing in it is out of order.")
    turns = {name: agent.turns for stage in session.stages for name, agent in stage.list_members()}.get(who, ())
    if who == CHAT_AGENT:
        number = max(int(each) for each in _QUESTION.findall(str(body["messages"])))
        who, turns = name_question(number), session.questions[number]
    turn = count_turns(body)
    if turn >= len(turns):
        return ScriptedTurn(text=f"{session.tag}: {who} has found what there was to find.", thinking="That was it.")
    calls = [
        _write_call(call, name_call(session.tag, who, turn=turn, index=index)) for index, call in enumerate(turns[turn])
    ]
    return ScriptedTurn(text="I look into it, step by step.", thinking="What next?", calls=tuple(calls), chunk_size=8)


def _write_call(call: PlannedCall, key: str) -> ScriptedCall:
    arguments: dict[str, Any] = {"key": key}
    return ScriptedCall(name=f"{call.server}.{call.tool}", arguments=arguments)
