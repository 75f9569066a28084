"""The body of a Messages request: roles, calls and results, thinking, cache marks; and nothing encoded twice."""

import re
from typing import Any

import pytest
from hypothesis import given

from midwatch.domain.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from midwatch.domain.tools import ToolDefinition
from midwatch.kit import json
from midwatch.llm.provider_state import pack_state
from midwatch.llm.providers.anthropic.abilities import Ability, find_ability
from midwatch.llm.providers.anthropic.request import RequestEncoder
from midwatch.llm.toolnames import encode_name
from tests.unit.llm.conversations import NODES, PODS, CountingEncode, any_conversation, make_call, make_request

MARK = {"cache_control": {"type": "ephemeral"}}
ADAPTIVE = find_ability("claude-sonnet-5")
BUDGETED = find_ability("claude-sonnet-4-5")
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "sig"}
HIDDEN = {"type": "redacted_thinking", "data": "xyz"}


def new_encoder(ability: Ability = ADAPTIVE) -> RequestEncoder:
    return RequestEncoder({"model": "claude-sonnet-5"}, ability=ability)


def encode(messages: list[Message], *tools: ToolDefinition, ability: Ability = ADAPTIVE) -> Any:
    return json.decode(new_encoder(ability).encode(make_request(messages, *tools)))


def blocks_of(body: Any, role: str) -> list[list[dict[str, Any]]]:
    return [unmark(message["content"]) for message in body["messages"] if message["role"] == role]


def unmark(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in block.items() if key != "cache_control"} for block in blocks]


def reply_with_state(*parts: dict[str, Any], text: str = "", ids: tuple[str, ...] = ()) -> AssistantMessage:
    calls = tuple(make_call("kubernetes.pods_list", '{"namespace":"a"}', provider_id=each) for each in ids)
    return AssistantMessage(text=text, calls=calls, provider_state=pack_state("anthropic", parts))


def use(call_id: str) -> dict[str, str]:
    return {"type": "tool_use", "id": call_id}


def result_for(provider_id: str, content: str = "none", *, is_error: bool = False) -> ToolMessage:
    return ToolMessage(provider_id=provider_id, name="kubernetes.pods_list", content=content, is_error=is_error)


CONVERSATION: list[Message] = [
    SystemMessage(text="Investigate."),
    UserMessage(text="A pod crashes: “käse”"),
    reply_with_state(
        THOUGHT, HIDDEN, {"type": "text", "text": "So."}, use("toolu_1"), use("toolu_2"), ids=("toolu_1", "toolu_2")
    ),
    result_for("toolu_1"),
    result_for("toolu_2", "broken", is_error=True),
    AssistantMessage(text="Nothing there."),
    UserMessage(text="Sure?"),
]


def test_a_conversation_is_translated_whole() -> None:
    use_block = {"type": "tool_use", "name": "kubernetes__pods_list", "input": {"namespace": "a"}}
    assert encode(CONVERSATION, PODS, NODES) == {
        "model": "claude-sonnet-5",
        "max_tokens": 32_000,
        "stream": True,
        "thinking": {"type": "adaptive", "display": "summarized"},
        "system": [{"type": "text", "text": "Investigate.", **MARK}],
        "tools": [
            {
                "name": "kubernetes__pods_list",
                "description": "Lists pods",
                "input_schema": {
                    "type": "object",
                    "properties": {"namespace": {"type": "string"}},
                    "required": ["namespace"],
                },
            },
            {
                "name": "kubernetes__nodes",
                "description": "",
                "input_schema": {"type": "object", "properties": {}},
                **MARK,
            },
        ],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "A pod crashes: “käse”"}]},
            {
                "role": "assistant",
                "content": [
                    THOUGHT,
                    HIDDEN,
                    {"type": "text", "text": "So."},
                    {**use_block, "id": "toolu_1"},
                    {**use_block, "id": "toolu_2"},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_1", "content": "none"},
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_2",
                        "content": "broken",
                        "is_error": True,
                        **MARK,
                    },
                ],
            },
            {"role": "assistant", "content": [{"type": "text", "text": "Nothing there."}]},
            {"role": "user", "content": [{"type": "text", "text": "Sure?", **MARK}]},
        ],
    }


def test_the_order_in_which_words_thoughts_and_calls_came_is_kept() -> None:
    said = (THOUGHT, use("a"), {"type": "text", "text": "and"}, HIDDEN, use("b"))
    body = encode([UserMessage(text="go"), reply_with_state(*said, text="and", ids=("a", "b"))])
    (blocks,) = blocks_of(body, "assistant")
    assert [block["type"] for block in blocks] == ["thinking", "tool_use", "text", "redacted_thinking", "tool_use"]


@pytest.mark.parametrize(
    "state",
    [
        None,
        b"\x00garbage",
        b'{"anthropic": "x"}',
        pack_state("google", [THOUGHT]),
        pack_state("anthropic", [THOUGHT, use("somebody else's")]),
        pack_state("anthropic", [THOUGHT]),
    ],
)
def test_a_state_that_is_not_of_this_reply_is_left_out(state: bytes | None) -> None:
    call = make_call("kubernetes.pods_list", "{}", provider_id="c")
    reply = AssistantMessage(text="so", calls=(call,), provider_state=state)
    (blocks,) = blocks_of(encode([UserMessage(text="go"), reply]), "assistant")
    assert [block["type"] for block in blocks] == ["text", "tool_use"]


def test_calls_of_another_provider_get_ids_that_are_legal_and_never_come_twice() -> None:
    messages: list[Message] = [UserMessage(text="go")]
    for _ in range(2):
        messages += [
            AssistantMessage(text="", calls=(make_call("a.b", provider_id="call/ä:0"),)),
            result_for("call/ä:0"),
        ]
    body = encode(messages)
    used = [block["id"] for blocks in blocks_of(body, "assistant") for block in blocks]
    answered = [block["tool_use_id"] for blocks in blocks_of(body, "user")[1:] for block in blocks]
    assert used == answered
    assert len(set(used)) == 2
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]+", each) for each in used)


def test_a_reply_without_words_or_calls_is_passed_over_and_its_neighbours_are_merged() -> None:
    empty = reply_with_state(THOUGHT)
    body = encode([UserMessage(text="go"), empty, UserMessage(text="say something"), AssistantMessage(text=" ")])
    assert blocks_of(body, "user") == [[{"type": "text", "text": "go"}, {"type": "text", "text": "say something"}]]
    assert blocks_of(body, "assistant") == []


def test_a_state_that_holds_no_word_of_the_reply_does_not_take_its_words_away() -> None:
    body = encode([UserMessage(text="go"), reply_with_state(THOUGHT, text="so")])
    assert blocks_of(body, "assistant") == [[{"type": "text", "text": "so"}]]


def test_a_conversation_that_ends_with_the_model_is_asked_to_go_on() -> None:
    body = encode([UserMessage(text="go"), AssistantMessage(text="one"), AssistantMessage(text="two")])
    go_on = [{"type": "text", "text": "Go on."}]
    assert blocks_of(body, "user") == [[{"type": "text", "text": "go"}], go_on, go_on]


def test_results_come_before_words_and_an_empty_one_says_so() -> None:
    asked = reply_with_state(use("a"), ids=("a",))
    body = encode([UserMessage(text="go"), asked, UserMessage(text="hurry"), result_for("a", "", is_error=True)])
    assert blocks_of(body, "user")[1] == [
        {"type": "tool_result", "tool_use_id": "a", "content": "(no output)", "is_error": True},
        {"type": "text", "text": "hurry"},
    ]


def test_without_tools_the_earlier_ones_stay_declared_but_may_not_be_called() -> None:
    encoder = new_encoder()
    offered = json.decode(encoder.encode(make_request(CONVERSATION, PODS)))
    last = json.decode(encoder.encode(make_request(CONVERSATION)))
    assert last["tools"] == offered["tools"]
    assert "tool_choice" not in offered
    assert last["tool_choice"] == {"type": "none"}


def test_without_tools_in_a_new_process_the_called_ones_are_declared_by_name() -> None:
    body = encode(CONVERSATION)
    assert [tool["name"] for tool in body["tools"]] == ["kubernetes__pods_list"]
    assert body["tool_choice"] == {"type": "none"}
    assert "tools" not in encode([UserMessage(text="go")])


def test_names_that_differ_only_in_case_stay_apart() -> None:
    tools = [ToolDefinition(server="s", name=name, description="", schema={}) for name in ("getPods", "getpods")]
    encoder = new_encoder()
    body = json.decode(encoder.encode(make_request([], *tools)))
    names = [tool["name"] for tool in body["tools"]]
    assert names == [encode_name("s.getPods"), encode_name("s.getpods")]
    assert [encoder.names.decode(name) for name in names] == ["s.getPods", "s.getpods"]


@given(any_conversation)
def test_any_conversation_alternates_and_answers_every_call(messages: list[Message]) -> None:
    body = encode(messages, PODS)
    roles = [message["role"] for message in body["messages"]]
    assert roles == ["user" if place % 2 == 0 else "assistant" for place in range(len(roles))]
    assert len(roles) % 2 == 1
    assert all(message["content"] for message in body["messages"])
    for asking, answering in zip(body["messages"][1::2], body["messages"][2::2], strict=True):
        used = [block["id"] for block in asking["content"] if block["type"] == "tool_use"]
        answers = [block.get("tool_use_id") for block in answering["content"]]
        assert answers[: len(used)] == used
        assert not any(answers[len(used) :])
        assert asking["content"][-1]["type"] not in {"thinking", "redacted_thinking"}


@given(any_conversation)
def test_at_most_four_places_are_marked_and_only_where_it_is_allowed(messages: list[Message]) -> None:
    body = encode(messages, PODS, NODES)
    blocks = [block for message in body["messages"] for block in message["content"]]
    marked = [block for block in (*body["tools"], *body.get("system", ()), *blocks) if "cache_control" in block]
    assert 2 <= len(marked) <= 4
    assert "cache_control" in body["messages"][-1]["content"][-1]
    assert all(block.get("type") in {None, "text", "tool_result"} for block in marked)


@given(any_conversation)
def test_what_is_kept_makes_no_difference(messages: list[Message]) -> None:
    encoder = new_encoder()
    for length in range(len(messages) + 1):
        assert encoder.encode(make_request(messages[:length], PODS)) == new_encoder().encode(
            make_request(messages[:length], PODS)
        )


def test_each_message_and_each_list_of_tools_is_encoded_once() -> None:
    counting = CountingEncode()
    encoder = RequestEncoder({"model": "m"}, ability=ADAPTIVE, encode=counting)
    complete = (2, 5, 6, 7)
    for length in complete:
        encoder.encode(make_request(CONVERSATION[:length], PODS, NODES))
    assert len(counting.seen) == len(CONVERSATION) + 1


def test_the_mark_moves_on_with_the_conversation_and_stays_where_it_was_last() -> None:
    encoder = new_encoder()
    first = json.decode(encoder.encode(make_request(CONVERSATION[:2])))
    second = json.decode(encoder.encode(make_request(CONVERSATION[:5])))
    third = json.decode(encoder.encode(make_request(CONVERSATION)))
    places = [
        [place for place, message in enumerate(body["messages"]) if "cache_control" in message["content"][-1]]
        for body in (first, second, third)
    ]
    assert places == [[0], [0, 2], [2, 4]]


@pytest.mark.parametrize("opening", [THOUGHT, HIDDEN])
def test_with_a_budget_a_run_of_calls_that_began_with_thinking_goes_on_thinking(opening: dict[str, Any]) -> None:
    asked = reply_with_state(opening, use("a"), ids=("a",))
    again = reply_with_state(use("b"), ids=("b",))
    body = encode([UserMessage(text="go"), asked, result_for("a"), again, result_for("b")], ability=BUDGETED)
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 16_000}
    assert body["max_tokens"] > 16_000


def test_with_a_budget_thinking_waits_for_the_end_of_a_run_that_began_without() -> None:
    asked = AssistantMessage(text="", calls=(make_call("a.b", provider_id="a"),))
    running: list[Message] = [UserMessage(text="go"), asked, result_for("a")]
    assert "thinking" not in encode(running, ability=BUDGETED)
    assert "thinking" in encode(running, ability=ADAPTIVE)
    ended = [*running, AssistantMessage(text="done"), UserMessage(text="and?")]
    assert "thinking" in encode(ended, ability=BUDGETED)


@pytest.mark.parametrize(("thought", "goes_on"), [(True, True), (False, False)])
def test_with_a_budget_a_run_that_the_user_interrupted_must_have_begun_anew_with_thinking(
    *, thought: bool, goes_on: bool
) -> None:
    asked = reply_with_state(THOUGHT, use("a"), ids=("a",))
    again = reply_with_state(*([THOUGHT] if thought else []), use("b"), ids=("b",))
    first: list[Message] = [UserMessage(text="go"), asked, result_for("a")]
    body = encode([*first, UserMessage(text="hurry"), again, result_for("b")], ability=BUDGETED)
    assert ("thinking" in body) is goes_on


def test_thinking_that_is_forgotten_is_left_out_and_what_comes_after_is_not() -> None:
    encoder = new_encoder()
    messages: list[Message] = [UserMessage(text="go"), reply_with_state(THOUGHT, use("a"), ids=("a",)), result_for("a")]
    encoder.encode(make_request(messages))
    assert encoder.forget_thinking()
    assert not encoder.forget_thinking()
    messages += [reply_with_state(THOUGHT, use("b"), ids=("b",)), result_for("b")]
    old, new = blocks_of(json.decode(encoder.encode(make_request(messages))), "assistant")
    assert [block["type"] for block in old] == ["tool_use"]
    assert [block["type"] for block in new] == ["thinking", "tool_use"]


@pytest.mark.parametrize(
    ("model", "thinking", "max_tokens"),
    [
        ("claude-sonnet-5", "adaptive", 32_000),
        ("claude-opus-5-5", "adaptive", 32_000),
        ("claude-opus-4-6", "adaptive", 32_000),
        ("anthropic/claude-sonnet-4.6", "adaptive", 32_000),
        ("claude-mythos-preview", "adaptive", 32_000),
        ("claude-haiku-4-5-20251001", "enabled", 32_000),
        ("claude-opus-4-20250514", "enabled", 32_000),
        ("claude-opus-4-1@20250805", "enabled", 32_000),
        ("claude-3-7-sonnet-20250219", "enabled", 32_000),
        ("claude-3-5-haiku-20241022", None, 8_192),
        ("claude-3-opus-20240229", None, 4_096),
        ("qwen3-coder", None, 8_192),
        ("gpt-4.6", None, 8_192),
    ],
)
def test_the_version_decides_how_a_model_thinks(model: str, thinking: str | None, max_tokens: int) -> None:
    ability = find_ability(model)
    assert (ability.thinking or {}).get("type") == thinking
    assert ability.max_tokens == max_tokens
    assert ability.is_budgeted == (thinking == "enabled")
