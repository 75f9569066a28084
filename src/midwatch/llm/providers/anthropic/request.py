"""Our conversation as the body of an Anthropic Messages request. What was encoded once is not encoded again.

A body is put together from the bytes of its messages, and the marks of the prompt cache are set on those bytes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from midwatch.domain.messages import AssistantMessage, Message, SystemMessage
from midwatch.domain.tools import ToolDefinition
from midwatch.kit import json
from midwatch.llm.model import ModelRequest
from midwatch.llm.past import Past
from midwatch.llm.pieces import Encode, Pieces
from midwatch.llm.providers.anthropic.abilities import Ability
from midwatch.llm.providers.anthropic.blocks import (
    Block,
    stand_in_for,
    translate_answer,
    translate_reply,
    translate_text,
    translate_tool,
)
from midwatch.llm.toolnames import ToolNames, build_names
from midwatch.llm.turns import Answer, Turn, cut_turns, list_instructions

_MARK = b',"cache_control":{"type":"ephemeral"}}'
_FILLER = b'{"type":"text","text":"Go on."}'
_NO_CALLS = b',"tool_choice":{"type":"none"}'
_THINKING_OPENINGS = (b'{"type":"thinking"', b'{"type":"redacted_thinking"')
# The last place is read from by the next request and the one before it by this one, however much lies between them.
_MARKED_MESSAGES = 2


@dataclass(slots=True, kw_only=True)
class _WireMessage:
    role: Literal["user", "assistant"]
    blocks: list[bytes] = field(default_factory=list[bytes])
    is_marked: bool = False

    def join(self) -> bytes:
        content = b",".join(self.blocks)
        return b'{"role":"%b","content":[%b]}' % (self.role.encode(), _mark(content) if self.is_marked else content)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Behind:
    """What matters of the turns up to here: with a budget, thinking must not begin in the middle of a run of calls."""

    is_opening: bool = True
    """The next reply comes first, or after a word of the user."""
    may_think: bool = True
    """The run of calls that ends here began with thinking, each time it began."""

    def follow(self, turn: Turn, *, has_thought: bool) -> "_Behind":
        if turn.said is None or not turn.answers:
            return _Behind()
        may_think = self.may_think and (has_thought or not self.is_opening)
        return _Behind(is_opening=bool(turn.heard), may_think=may_think)


class RequestEncoder:
    """Lives as long as one conversation and keeps the JSON of its messages and tools."""

    def __init__(self, opening: Mapping[str, str], *, ability: Ability, encode: Encode = json.encode) -> None:
        self._is_budgeted = ability.is_budgeted
        self._head = json.encode({**opening, "max_tokens": ability.max_tokens, "stream": True})[:-1]
        self._thinking = b',"thinking":' + json.encode(dict(ability.thinking)) if ability.thinking else b""
        self._pieces = Pieces(encode)
        self._past: Past[_Behind | None] = Past(
            None, encode=self._encode_past, is_apart=lambda _, reply: bool(self._encode_reply(reply))
        )
        self._forgotten: dict[int, AssistantMessage] = {}
        self._tools: tuple[ToolDefinition, ...] = ()
        self._tools_part = b""
        self._names = build_names(())

    @property
    def names(self) -> ToolNames:
        """The names of the tools that were offered last."""
        return self._names

    @property
    def thinks(self) -> bool:
        return bool(self._thinking)

    def stop_thinking(self) -> None:
        self._thinking = b""
        self.forget_thinking()

    def forget_thinking(self) -> bool:
        """Leaves out the thinking of all replies that were sent so far; says whether there were any more of them."""
        replies = [message for message in self._pieces if isinstance(message, AssistantMessage)]
        remembered = [reply for reply in replies if id(reply) not in self._forgotten]
        for reply in remembered:
            self._forgotten[id(reply)] = reply
            self._pieces.drop(reply)
        self._past.forget()
        return bool(remembered)

    def encode(self, request: ModelRequest) -> bytes:
        present = self._past.split(request.messages)
        turns = cut_turns(present)
        messages = self._list_messages(turns, is_first=self._past.state is None)
        _mark_last(messages)
        behind = self._follow(turns, self._past.state)
        return b"".join(
            (
                self._head,
                self._thinking if behind.may_think or not self._is_budgeted else b"",
                self._encode_system([*self._past.instructions, *list_instructions(present)]),
                self._encode_tools(request),
                b',"messages":[',
                *self._past.add(_join(messages)),
                b"]}",
            )
        )

    def _encode_past(self, messages: Sequence[Message], behind: _Behind | None) -> tuple[bytes, _Behind]:
        turns = cut_turns(messages)
        return _join(self._list_messages(turns, is_first=behind is None)), self._follow(turns, behind)

    def _follow(self, turns: Sequence[Turn], behind: _Behind | None) -> _Behind:
        behind = behind or _Behind()
        for turn in turns:
            has_thought = bool(turn.said and self._encode_reply(turn.said).startswith(_THINKING_OPENINGS))
            behind = behind.follow(turn, has_thought=has_thought)
        return behind

    def _encode_system(self, instructions: Sequence[SystemMessage]) -> bytes:
        said = (self._pieces.get(part, partial(translate_text, part.text)) for part in instructions)
        system = b",".join(blocks for blocks in said if blocks)
        return b',"system":[%b]' % _mark(system) if system else b""

    def _encode_tools(self, request: ModelRequest) -> bytes:
        """Without tools, those that were offered before are still declared: past calls and the cache rest on them."""
        if not request.tools:
            return self._declare_past_tools(request.messages)
        offered = tuple(request.tools)
        if offered != self._tools:
            self._tools_part = self._declare([translate_tool(tool) for tool in offered])
            self._names = build_names(offered)
            self._tools = offered
        return self._tools_part

    def _declare_past_tools(self, messages: Sequence[Message]) -> bytes:
        declared = self._tools_part
        if not declared:
            called = dict.fromkeys(answer.call.name for turn in cut_turns(messages) for answer in turn.answers)
            declared = self._declare([stand_in_for(name) for name in called])
        return declared + _NO_CALLS if declared else b""

    def _declare(self, tools: Sequence[Block]) -> bytes:
        return b',"tools":[%b]' % _mark(self._pieces.encode(tools)) if tools else b""

    def _list_messages(self, turns: Iterable[Turn], *, is_first: bool) -> list[_WireMessage]:
        """Roles take turns, and the user has the first word and the last."""
        messages = [_WireMessage(role="user")] if is_first else []
        for turn in turns:
            if turn.said and (said := self._encode_reply(turn.said)):
                if messages:
                    _fill(messages[-1])
                messages += _WireMessage(role="assistant", blocks=[said]), _WireMessage(role="user")
            messages[-1].blocks += self._encode_heard(turn)
        _fill(messages[-1])
        return messages

    def _encode_reply(self, message: AssistantMessage) -> bytes:
        with_thinking = self.thinks and id(message) not in self._forgotten
        return self._pieces.get(message, partial(translate_reply, message, with_thinking=with_thinking))

    def _encode_heard(self, turn: Turn) -> Iterator[bytes]:
        """Results come before words, or they are refused."""
        if turn.said:
            for answer in turn.answers:
                yield self._encode_answer(answer, turn.said)
        for message in turn.heard:
            if words := self._pieces.get(message, partial(translate_text, message.text)):
                yield words

    def _encode_answer(self, answer: Answer, asked_by: AssistantMessage) -> bytes:
        if answer.result is None:
            return self._pieces.encode([translate_answer(answer, asked_by=asked_by)])
        return self._pieces.get(answer.result, lambda: [translate_answer(answer, asked_by=asked_by)])


def _join(messages: Sequence[_WireMessage]) -> bytes:
    return b",".join(message.join() for message in messages)


def _mark(blocks: bytes) -> bytes:
    return blocks[:-1] + _MARK


def _mark_last(messages: Sequence[_WireMessage]) -> None:
    heard = [message for message in messages if message.role == "user"]
    for message in heard[-_MARKED_MESSAGES:]:
        message.is_marked = True


def _fill(message: _WireMessage) -> None:
    if not message.blocks:
        message.blocks.append(_FILLER)
