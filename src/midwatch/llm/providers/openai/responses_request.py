"""Our conversation as the body of an OpenAI Responses request. What was encoded once is not encoded again."""

from collections.abc import Iterator, Sequence
from functools import partial

from midwatch.domain.messages import AssistantMessage, Message, SystemMessage
from midwatch.domain.tools import ToolDefinition
from midwatch.kit import json
from midwatch.llm.model import ModelRequest
from midwatch.llm.past import Past
from midwatch.llm.pieces import Encode, Pieces
from midwatch.llm.providers.openai.items import translate_answer, translate_reply, translate_tool, translate_words
from midwatch.llm.toolnames import ToolNames, build_names
from midwatch.llm.turns import Answer, cut_turns, list_instructions

# Nothing is kept at the provider: its reasoning comes to us encrypted and goes back with the next request.
_REASONING = b',"include":["reasoning.encrypted_content"],"reasoning":'
_NO_CALLS = b',"tool_choice":"none"'


class ResponsesEncoder:
    """Lives as long as one conversation and keeps the JSON of its messages and tools."""

    def __init__(self, model: str, *, encode: Encode = json.encode) -> None:
        self._head = b'{"model":%b,"stream":true,"store":false' % json.encode(model)
        self._pieces = Pieces(encode)
        self._past = Past(
            None, encode=lambda messages, _: (self._encode_turns(messages), None), is_apart=lambda _, __: True
        )
        self._forgotten: dict[int, AssistantMessage] = {}
        self._tools: tuple[ToolDefinition, ...] = ()
        self._tools_part = b""
        self._names = build_names(())
        self.has_reasoning = True
        self.has_summaries = True

    @property
    def names(self) -> ToolNames:
        """The names of the tools that were offered last."""
        return self._names

    def forget_reasoning(self) -> bool:
        """Leaves out the reasoning of all replies that were sent so far; says whether there were any more of them."""
        replies = [message for message in self._pieces if isinstance(message, AssistantMessage)]
        remembered = [reply for reply in replies if id(reply) not in self._forgotten]
        for reply in remembered:
            self._forgotten[id(reply)] = reply
            self._pieces.drop(reply)
        self._past.forget()
        return bool(remembered)

    def encode(self, request: ModelRequest) -> bytes:
        present = self._past.split(request.messages)
        turns = self._encode_turns(present)
        instructions = self._encode_instructions([*self._past.instructions, *list_instructions(present)])
        return b"".join(
            (
                self._head,
                self._ask_for_reasoning(),
                self._encode_tools(request.tools),
                b',"input":[',
                instructions,
                b"," if instructions and (turns or self._past.data) else b"",
                *self._past.add(turns),
                b"]}",
            )
        )

    def _ask_for_reasoning(self) -> bytes:
        if not self.has_reasoning:
            return b""
        return _REASONING + (b'{"summary":"auto"}' if self.has_summaries else b"{}")

    def _encode_tools(self, tools: Sequence[ToolDefinition]) -> bytes:
        """Without tools, those that were offered before are still declared: the cache rests on them."""
        offered = tuple(tools)
        if not offered:
            return self._tools_part + _NO_CALLS if self._tools_part else b""
        if offered != self._tools:
            self._tools_part = b',"tools":[%b]' % self._pieces.encode([translate_tool(tool) for tool in offered])
            self._names = build_names(offered)
            self._tools = offered
        return self._tools_part

    def _encode_instructions(self, instructions: Sequence[SystemMessage]) -> bytes:
        said = (self._pieces.get(part, partial(translate_words, "developer", part.text)) for part in instructions)
        return b",".join(piece for piece in said if piece)

    def _encode_turns(self, messages: Sequence[Message]) -> bytes:
        return b",".join(piece for piece in self._list_pieces(messages) if piece)

    def _list_pieces(self, messages: Sequence[Message]) -> Iterator[bytes]:
        for turn in cut_turns(messages):
            if turn.said:
                yield self._encode_reply(turn.said)
                for answer in turn.answers:
                    yield self._encode_answer(answer, turn.said)
            for user in turn.heard:
                yield self._pieces.get(user, partial(translate_words, "user", user.text))

    def _encode_reply(self, message: AssistantMessage) -> bytes:
        with_reasoning = self.has_reasoning and id(message) not in self._forgotten
        return self._pieces.get(message, partial(translate_reply, message, with_reasoning=with_reasoning))

    def _encode_answer(self, answer: Answer, asked_by: AssistantMessage) -> bytes:
        if answer.result is None:
            return self._pieces.encode([translate_answer(answer, asked_by=asked_by)])
        return self._pieces.get(answer.result, lambda: [translate_answer(answer, asked_by=asked_by)])
