"""A model that plays a script instead of thinking, for demonstrations and tests; it is always labelled as scripted.

The conversation alone decides which turn is played, so a run that is resumed goes on at the right one.
"""

import re
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Protocol, cast, final

import yaml
from pydantic import Discriminator, Field, Tag, ValidationError, model_validator

from midwatch.config.builtins import SUMMARY_AGENT, SYNTHESIS_AGENT
from midwatch.config.strict import Strict
from midwatch.domain.errors import Misconfigured, ModelUnavailable
from midwatch.domain.messages import AssistantMessage, Usage
from midwatch.kit import json
from midwatch.llm.model import CallChunk, Chunk, ModelRequest, TextChunk, ThinkingChunk, UsageChunk

_CHUNK_SIZE = 32
_REPLICA = re.compile(r"-\d+\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedCall:
    name: str
    arguments: Mapping[str, Any] | str
    """A text is sent as it is, for scripts in which the model writes no proper JSON."""

    @property
    def arguments_text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.encode_text(dict(self.arguments))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedTurn:
    text: str = ""
    thinking: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    error: ModelUnavailable | None = None
    """Raised after thinking and text, in place of the calls and the usage."""
    chunk_size: int = _CHUNK_SIZE


Step = ScriptedTurn | Callable[[ModelRequest], ScriptedTurn]


@dataclass(frozen=True, slots=True)
class Occasions:
    """What an agent says that is at work more than once in a session, time after time."""

    conversations: Sequence[Sequence[Step]]


Turns = Sequence[Step] | Mapping[str, Sequence[Step] | Occasions]

THE_END = ScriptedTurn(text="The script has ended.")
_PARTS_OF_THEIR_OWN = frozenset({SYNTHESIS_AGENT, SUMMARY_AGENT})
"""A list of turns is for those who investigate: these are asked something else, and need to be named."""


class ScriptedModelFactory(Protocol):
    def __call__(self, *, provider: str = ..., name: str = ...) -> "ScriptedModel": ...


@final
class ScriptedModel:
    """Plays one list of turns, or the list that bears the asking agent's name and belongs to the occasion."""

    def __init__(self, *, turns: Turns, provider: str = "scripted", name: str = "scripted") -> None:
        self.provider = provider
        self.name = name
        self._turns = turns

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        number = count_turns(request)
        step = choose_step(self._turns, part=request.agent, number=number, occasion=request.occasion)
        turn = step if isinstance(step, ScriptedTurn) else step(request)
        for chunk in _play(turn, number):
            yield chunk


def count_turns(request: ModelRequest) -> int:
    """How often the model has already spoken."""
    return sum(isinstance(message, AssistantMessage) for message in request.messages)


def choose_step(turns: Turns, *, part: str, number: int, occasion: int = 0) -> Step:
    """A replica plays the part that bears its number, else the one of the agent it is a replica of."""
    if isinstance(turns, Mapping):
        steps = turns.get(part, turns.get(_REPLICA.sub("", part)))
    else:
        steps = None if part in _PARTS_OF_THEIR_OWN else turns
    if steps is None:
        missing = ModelUnavailable(f"the script has no part for {part}", code="invalid_request", retryable=False)
        return ScriptedTurn(error=missing)
    if isinstance(steps, Occasions):
        steps = steps.conversations[occasion] if occasion < len(steps.conversations) else ()
    return steps[number] if number < len(steps) else THE_END


def provider_id(number: int, index: int) -> str:
    return f"call_{number}_{index}"


def cut(text: str, size: int) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))


def load_script(path: Path) -> ScriptedModelFactory:
    """Raises Misconfigured with everything that is wrong with the file."""
    return partial(ScriptedModel, turns=load_turns(path))


def load_turns(path: Path) -> Turns:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        script = _Script.model_validate(content)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise Misconfigured([f"{path}: {error}"]) from error
    except ValidationError as error:
        raise Misconfigured([f"{path}: {problem}" for problem in _list_problems(error)]) from error
    if script.turns is not None:
        return [turn.build() for turn in script.turns]
    return {agent: _build_part(part) for agent, part in script.agents.items()}


def _play(turn: ScriptedTurn, number: int) -> Iterator[Chunk]:
    yield from (ThinkingChunk(text=piece) for piece in cut(turn.thinking, turn.chunk_size))
    yield from (TextChunk(text=piece) for piece in cut(turn.text, turn.chunk_size))
    if (error := turn.error) is not None:
        # A fresh one each time: a raised exception collects the tracebacks of all who raised it.
        raise ModelUnavailable(str(error), code=error.code, retryable=error.retryable, feedback=error.feedback)
    for index, call in enumerate(turn.calls):
        yield CallChunk(provider_id=provider_id(number, index), name=call.name, arguments=call.arguments_text)
    yield UsageChunk(usage=turn.usage)


class _CallEntry(Strict):
    name: str = Field(min_length=1)
    arguments: dict[str, Any] | str = Field(default_factory=dict[str, Any])


class _UsageEntry(Strict):
    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    thinking_tokens: int = Field(default=0, ge=0)
    cache_read_tokens: int = Field(default=0, ge=0)
    cache_write_tokens: int = Field(default=0, ge=0)


class _ErrorEntry(Strict):
    message: str = "the script says so"
    code: str = "provider_error"
    retryable: bool = False


class _TurnEntry(Strict):
    text: str = ""
    thinking: str = ""
    calls: tuple[_CallEntry, ...] = ()
    usage: _UsageEntry = _UsageEntry()
    error: _ErrorEntry | None = None
    chunk_size: int = Field(default=_CHUNK_SIZE, ge=1)

    def build(self) -> ScriptedTurn:
        return ScriptedTurn(
            text=self.text,
            thinking=self.thinking,
            calls=tuple(ScriptedCall(name=call.name, arguments=call.arguments) for call in self.calls),
            usage=Usage(**self.usage.model_dump()),
            error=ModelUnavailable(**self.error.model_dump()) if self.error else None,
            chunk_size=self.chunk_size,
        )


_ONCE, _OFTEN = "(one conversation)", "(conversations)"


def _tell_parts_apart(part: Any) -> str:
    return (
        _OFTEN if isinstance(part, list) and any(isinstance(item, list) for item in cast("list[Any]", part)) else _ONCE
    )


_Conversation = tuple[_TurnEntry, ...]
_Part = Annotated[
    Annotated[_Conversation, Tag(_ONCE)] | Annotated[tuple[_Conversation, ...], Tag(_OFTEN)],
    Discriminator(_tell_parts_apart),
]


def _build_part(part: _Conversation | tuple[_Conversation, ...]) -> list[ScriptedTurn] | Occasions:
    conversations = [entry for entry in part if isinstance(entry, tuple)]
    if conversations:
        return Occasions([[turn.build() for turn in conversation] for conversation in conversations])
    return [entry.build() for entry in part if isinstance(entry, _TurnEntry)]


class _Script(Strict):
    turns: _Conversation | None = None
    agents: dict[str, _Part] = Field(default_factory=dict[str, Any])

    @model_validator(mode="after")
    def _has_one_kind_of_turns(self) -> "_Script":
        if (self.turns is None) == (not self.agents):
            raise ValueError("a script has either turns or agents")
        return self


def _name_place(place: Sequence[int | str]) -> str:
    return ".".join(str(part) for part in place if part not in (_ONCE, _OFTEN))


def _list_problems(error: ValidationError) -> list[str]:
    return [
        ": ".join(part for part in (_name_place(problem["loc"]), problem["msg"]) if part)
        for problem in error.errors(include_input=False, include_url=False)
    ]
