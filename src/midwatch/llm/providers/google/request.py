"""Our conversation as the body of a Gemini generateContent request. What was encoded once is not encoded again."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

from midwatch.domain.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from midwatch.domain.tools import ToolCall, ToolDefinition
from midwatch.kit import json
from midwatch.llm.loose_json import read_object
from midwatch.llm.model import ModelRequest
from midwatch.llm.past import Past
from midwatch.llm.pieces import Encode, Pieces
from midwatch.llm.provider_state import Part, unpack_state
from midwatch.llm.providers.google.schema import clean_schema
from midwatch.llm.providers.google.state import is_signed, list_calls, sign
from midwatch.llm.providers.google.traits import choose_thinking, demands_signatures
from midwatch.llm.toolnames import ToolNames, encode_name
from midwatch.llm.turns import Answer, Turn, cut_turns, list_instructions

_NATIVE_TOOLS = {"google_search": "googleSearch", "url_context": "urlContext", "code_execution": "codeExecution"}
_SKIP_VALIDATION = "skip_thought_signature_validator"


class RequestEncoder:
    """Lives as long as one conversation and keeps the JSON of its messages and tools."""

    def __init__(
        self, model: str, *, label: str, native_tools: frozenset[str] = frozenset(), encode: Encode = json.encode
    ) -> None:
        self._encode = encode
        self._label = label
        self._must_sign = demands_signatures(model)
        self._native_part = _encode_tools([{_NATIVE_TOOLS[tool]: {}} for tool in _NATIVE_TOOLS if tool in native_tools])
        thinking = choose_thinking(model)
        self._thinking = b',"generationConfig":' + json.encode({"thinkingConfig": thinking}) if thinking else b""
        self._pieces = Pieces(encode)
        self._past = Past(0, encode=self._encode_contents, is_apart=self._is_apart)
        self._sent: dict[int, list[Part]] = {}
        """The calls of each answer as they were sent, by its identity."""
        self._forgotten: set[int] = set()
        self._tools: tuple[ToolDefinition, ...] = ()
        self._tools_part = b""
        self._names = ToolNames({})

    @property
    def names(self) -> ToolNames:
        """The names of the tools that were offered last."""
        return self._names

    def stop_thinking(self) -> bool:
        """Says whether the model was told how to think."""
        was_told, self._thinking = bool(self._thinking), b""
        return was_told

    def forget_signatures(self) -> bool:
        """From now on puts what was answered so far into our words; says whether any of it was sent back as it came."""
        answers = [message for message in self._pieces if isinstance(message, AssistantMessage)]
        signed = [each for each in answers if each.provider_state and id(each) not in self._forgotten]
        for message in signed:
            self._pieces.drop(message)
            self._forgotten.add(id(message))
        self._past.forget()
        return bool(signed)

    def leaves_native_tools_out(self, request: ModelRequest) -> bool:
        """Gemini takes either functions or tools of its own."""
        return bool(self._native_part and request.tools)

    def encode(self, request: ModelRequest) -> bytes:
        self._take_tools(request.tools)
        present = self._past.split(request.messages)
        contents, calls = self._encode_contents(present, self._past.state)
        return b"".join(
            (
                b'{"contents":[',
                *self._past.add(contents),
                b"]",
                self._encode_instructions([*self._past.instructions, *list_instructions(present)]),
                self._tools_part or self._choose_native(calls),
                self._thinking,
                b"}",
            )
        )

    def _encode_contents(self, messages: Sequence[Message], calls: int) -> tuple[bytes, int]:
        """With the number of calls up to here."""
        turns = cut_turns(messages)
        contents = b",".join(_join_contents(self._list_parts(turns)))
        return contents, calls + sum(len(turn.answers) for turn in turns)

    def _list_parts(self, turns: Iterable[Turn]) -> Iterator[tuple[bytes, bytes]]:
        """Roles and parts, in order. Results come before words."""
        for turn in turns:
            if turn.said:
                yield b"model", self._encode_said(turn.said)
                for answer, sent in zip(turn.answers, self._sent[id(turn.said)], strict=True):
                    yield b"user", self._encode_result(answer, sent)
            yield from ((b"user", self._encode_text(message)) for message in turn.heard)

    def _is_apart(self, before: Sequence[Message], reply: AssistantMessage) -> bool:
        """Neighbours with one role share a content: the user must have been heard in between."""
        last = next((each for each in reversed(before) if not isinstance(each, SystemMessage | ToolMessage)), None)
        is_heard = bool(last.text) if isinstance(last, UserMessage) else last is not None and bool(last.calls)
        return is_heard and bool(self._encode_said(reply))

    def _encode_said(self, message: AssistantMessage) -> bytes:
        return self._pieces.get(message, partial(self._translate_answer, message))

    def _encode_result(self, answer: Answer, sent: Part) -> bytes:
        translate = partial(translate_result, answer.result, sent=sent)
        return self._pieces.get(answer.result, translate) if answer.result else self._pieces.encode(translate())

    def _encode_text(self, message: SystemMessage | UserMessage) -> bytes:
        return self._pieces.get(message, partial(translate_text, message.text))

    def _encode_instructions(self, instructions: Sequence[SystemMessage]) -> bytes:
        parts = b",".join(filter(None, map(self._encode_text, instructions)))
        return b',"systemInstruction":{"parts":[%b]}' % parts if parts else b""

    def _choose_native(self, calls: int) -> bytes:
        # A model that had functions and lost them is to conclude, not to go on with tools of its own.
        return b"" if calls else self._native_part

    def _translate_answer(self, message: AssistantMessage) -> list[Part]:
        taken = replace(message, provider_state=None) if id(message) in self._forgotten else message
        parts = translate_answer(taken, label=self._label, must_sign=self._must_sign)
        self._sent[id(message)] = [part["functionCall"] for part in list_calls(parts)]
        return parts

    def _take_tools(self, tools: Sequence[ToolDefinition]) -> None:
        offered = tuple(tools)
        if offered == self._tools:
            return
        translated = [translate_tool(tool) for tool in offered]
        self._tools_part = _encode_tools([{"functionDeclarations": translated}], self._encode) if translated else b""
        self._names = ToolNames({wire_name(tool.full_name): tool.full_name for tool in offered})
        self._tools = offered


def translate_text(text: str) -> list[Part]:
    """An empty part is refused."""
    return [{"text": text}] if text else []


def translate_answer(message: AssistantMessage, *, label: str, must_sign: bool) -> list[Part]:
    """The answer as it came; in our words when it came from elsewhere or its calls were dropped."""
    parts = unpack_state(label, message.provider_state)
    # An answer of nothing but thoughts is refused, like an empty one.
    is_said = any(not part.get("thought") for part in parts)
    if not is_said or len(list_calls(parts)) != len(message.calls):
        parts = [*translate_text(message.text), *(_translate_call(call) for call in message.calls)]
    return _sign_first_call(parts) if must_sign else parts


def translate_result(result: ToolMessage | None, *, sent: Part) -> list[Part]:
    """Under the name and the id with which the call was sent. A call without a result would have all refused."""
    named = {key: sent[key] for key in ("id", "name") if sent.get(key)}
    if result is None:
        response = {"error": "nothing came back"}
    else:
        response = {"error" if result.is_error else "result": result.content}
    return [{"functionResponse": {**named, "response": response}}]


def translate_tool(tool: ToolDefinition) -> dict[str, Any]:
    return {
        "name": wire_name(tool.full_name),
        "description": tool.description,
        "parametersJsonSchema": clean_schema(tool.schema),
    }


def wire_name(name: str) -> str:
    """Gemini's names start with a letter or an underscore; those that would not are led by one, and digested."""
    wire = encode_name(name)
    return wire if wire[0].isalpha() or wire[0] == "_" else encode_name(f"_.{name}")


def _translate_call(call: ToolCall) -> Part:
    return {"functionCall": {"name": wire_name(call.name), "args": read_object(call.arguments) or {}}}


def _sign_first_call(parts: list[Part]) -> list[Part]:
    """Calls that nobody signed, such as another provider's, pass only with the word that Google reserves for them."""
    calls = list_calls(parts)
    if not calls or any(is_signed(part) for part in parts):
        return parts
    return [sign(part, _SKIP_VALIDATION) if part is calls[0] else part for part in parts]


def _join_contents(parts: Iterable[tuple[bytes, bytes]]) -> Iterator[bytes]:
    """Roles take turns: neighbours with one role share a content, and all results of a turn stand in one."""
    speaking = (each for each in parts if each[1])
    for role, group in groupby(speaking, key=itemgetter(0)):
        yield b'{"role":"%b","parts":[%b]}' % (role, b",".join(data for _, data in group))


def _encode_tools(tools: Sequence[Mapping[str, Any]], encode: Encode = json.encode) -> bytes:
    return b',"tools":' + encode(tools) if tools else b""
