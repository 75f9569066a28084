"""An agent over fakes: a scripted model, a gate with tools in memory, and a journal in memory."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from midwatch.agent.ask import Sleep
from midwatch.agent.budget import Budget
from midwatch.agent.loop import Agent
from midwatch.agent.purse import Purse
from midwatch.domain.messages import Message, SystemMessage, UserMessage
from midwatch.domain.safety import ControlLevel, SafetyMode
from midwatch.llm.ladder import Ladder, Rung
from midwatch.llm.model import Chunk, Model, ModelRequest
from midwatch.llm.scripted import ScriptedCall, ScriptedModel, ScriptedTurn, Step
from midwatch.safety.kinds import OperatorKinds
from midwatch.safety.machine import Machine
from midwatch.safety.policy import Stance
from midwatch.safety.session import SessionSafety
from midwatch.tools.appraisal import ServerRules
from midwatch.tools.gate import Gate
from midwatch.tools.journaled import Journaled
from tests.fakes.call_journal import FakeCallJournal
from tests.fakes.toolset import FakeToolset, define_tool
from tests.fakes.turn_journal import FakeTurnJournal

OPENING: tuple[Message, ...] = (SystemMessage(text="system"), UserMessage(text="user"))
RULES = ServerRules(kinds=OperatorKinds(read=("get", "list"), write=("set", "put")), level=ControlLevel.AUTONOMOUS)
TOOLS = tuple(define_tool(f"k8s.{name}") for name in ("get", "list", "set", "put"))


class Bench:
    def __init__(
        self,
        model: Model | Sequence[Step],
        *,
        budget: Budget | None = None,
        messages: Sequence[Message] = OPENING,
        standbys: Sequence[Rung] = (),
        purse: Purse | None = None,
        sleep: Sleep = asyncio.sleep,
        machine: Machine | None = None,
    ) -> None:
        self.model = ListeningModel(ScriptedModel(turns=model) if isinstance(model, Sequence) else model)
        self.calls = FakeCallJournal()
        self.tools = FakeToolset(*TOOLS, log=self.calls.log)
        self.safety = SessionSafety(machine=machine or Machine())
        self.gate = Gate(
            inner=Journaled(inner=self.tools, journal=self.calls, safety=self.safety),
            journal=self.calls,
            safety=self.safety,
            stance=Stance(mode=SafetyMode.ENFORCE),
            rules={"k8s": RULES},
        )
        self.journal = FakeTurnJournal()
        self.agent = Agent(
            name="watch",
            ladder=Ladder(self.model, standbys=list(standbys)),
            tools=self.gate,
            journal=self.journal,
            budget=budget or Budget(),
            messages=list(messages),
            purse=purse or Purse(),
            sleep=sleep,
        )

    @property
    def ran(self) -> list[str]:
        return [cleared.call.name for cleared in self.tools.calls]

    @property
    def log(self) -> list[str]:
        return [line for line in self.calls.log if line != "list"]


@dataclass(slots=True)
class ListeningModel:
    """Keeps what the model was asked, as it was at that moment."""

    inner: Model
    asked: list[ModelRequest] = field(default_factory=list[ModelRequest])

    @property
    def provider(self) -> str:
        return self.inner.provider

    @property
    def name(self) -> str:
        return self.inner.name

    def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        self.asked.append(ModelRequest(messages=tuple(request.messages), tools=request.tools, agent=request.agent))
        return self.inner.stream(request)


@dataclass(slots=True)
class HesitantModel:
    """Says these chunks each time it is asked, and then nothing more."""

    chunks: Sequence[Chunk] = ()
    provider: str = "hesitant"
    name: str = "hesitant"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        assert request.messages
        for chunk in self.chunks:
            yield chunk
        await asyncio.Event().wait()


def calling(*names: str, text: str = "") -> ScriptedTurn:
    return ScriptedTurn(text=text, calls=tuple(ScriptedCall(name=f"k8s.{name}", arguments={}) for name in names))


def saying(text: str) -> ScriptedTurn:
    return ScriptedTurn(text=text)
