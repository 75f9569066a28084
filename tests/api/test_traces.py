"""Behind the timeline: what a model was sent and answered, and what a tool was given and gave back."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from midwatch.kit.ids import new_id
from tests.api.edge import CONCLUSION, Edge, Turn, call, open_edge, running, write_config
from tests.api.shelf import SESSIONS, wait_for_end

LLM_ITEM_KEYS = {
    *("id", "interaction_type", "model_name", "input_tokens", "output_tokens", "total_tokens", "duration_ms"),
    *("estimated_cost_usd", "error_message", "created_at"),
}
LLM_KEYS = LLM_ITEM_KEYS | {
    *("thinking_content", "llm_request", "llm_response", "response_metadata", "conversation", "outbound"),
}
MCP_ITEM_KEYS = {
    *("id", "interaction_type", "server_name", "tool_name", "duration_ms", "error_message", "created_at"),
}
MCP_KEYS = MCP_ITEM_KEYS | {"tool_arguments", "tool_result", "available_tools"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    edge: Edge
    session_id: str
    trace: dict[str, Any]

    @property
    def execution(self) -> dict[str, Any]:
        return self.trace["stages"][0]["executions"][0]

    async def get(self, kind: str, number: int) -> dict[str, Any]:
        item = self.execution[f"{kind}_interactions"][number]
        answer = await self.open(kind, item["id"])
        assert answer.status_code == 200, answer.text
        detail = answer.json()
        assert item.items() <= detail.items()
        return detail

    async def open(self, kind: str, interaction_id: object) -> httpx.Response:
        return await self.edge.http.get(f"{SESSIONS}/{self.session_id}/trace/{kind}/{interaction_id}")


async def trace_run(edge: Edge) -> Traced:
    session_id = await edge.submit()
    await wait_for_end(edge, session_id)
    trace = (await edge.http.get(f"{SESSIONS}/{session_id}/trace")).json()
    return Traced(edge=edge, session_id=session_id, trace=trace)


def configure(folder: Path, turns: Sequence[Turn]) -> Path:
    write_config(folder, turns=turns)
    return folder


async def test_a_trace_lists_every_interaction_under_its_execution(dsn: str, tmp_path: Path) -> None:
    folder = configure(tmp_path, [call("echo", text="all is dry"), CONCLUSION])
    async with open_edge(folder, dsn) as edge, running(edge):
        traced = await trace_run(edge)
    assert traced.trace.keys() == {"stages", "session_interactions"}
    assert traced.trace["session_interactions"] == []
    stage, summary = traced.trace["stages"]
    assert (summary["stage_name"], summary["stage_type"]) == ("Executive Summary", "exec_summary")
    assert stage.keys() == {"stage_id", "stage_name", "stage_type", "referenced_stage_id", "executions"}
    assert (stage["stage_name"], stage["stage_type"], stage["referenced_stage_id"]) == ("watch", "investigation", None)
    execution = traced.execution
    assert execution.keys() == {"execution_id", "agent_name", "llm_interactions", "mcp_interactions", "sub_agents"}
    assert (execution["agent_name"], execution["sub_agents"]) == ("Mate", [])
    assert [item.keys() for item in execution["llm_interactions"]] == [LLM_ITEM_KEYS] * 2
    assert [item["total_tokens"] for item in execution["llm_interactions"]] == [12, 34]
    assert [item.keys() for item in execution["mcp_interactions"]] == [MCP_ITEM_KEYS]


async def test_a_model_call_is_shown_with_the_conversation_it_was_sent(dsn: str, tmp_path: Path) -> None:
    folder = configure(tmp_path, [call("echo", text="all is dry"), CONCLUSION])
    async with open_edge(folder, dsn) as edge, running(edge):
        traced = await trace_run(edge)
        first, second = await traced.get("llm", 0), await traced.get("llm", 1)
    assert first.keys() == second.keys() == LLM_KEYS
    assert (first["thinking_content"], second["thinking_content"]) == ("I should look.", None)
    assert [message["role"] for message in first["conversation"]] == ["system", "user"]
    assert [message["role"] for message in second["conversation"]] == ["system", "user", "assistant", "tool"]
    assert second["conversation"][:2] == first["conversation"]
    assert "The bilge pump runs hot." in first["conversation"][1]["content"]
    assert first["llm_request"] == {"iteration": 1, "messages_count": 2}
    asked = first["llm_response"].pop("tool_calls")
    assert first["llm_response"] == {"text": "I look.", "text_length": 7, "tool_calls_count": 1}
    assert second["llm_response"]["text"] == "The deck is dry."
    assert second["llm_response"]["tool_calls"] == []
    assistant, tool = second["conversation"][2:]
    (tool_call,) = assistant["tool_calls"]
    assert asked == [tool_call]
    assert tool_call == {"id": tool_call["id"], "name": "deck.echo", "arguments": '{"text":"all is dry"}'}
    assert assistant == {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [tool_call],
        "tool_call_id": None,
        "tool_name": None,
    }
    assert tool == {
        "role": "tool",
        "content": "all is dry",
        "tool_calls": None,
        "tool_call_id": tool_call["id"],
        "tool_name": "deck.echo",
    }


async def test_a_model_call_that_failed_is_traced_too(dsn: str, tmp_path: Path) -> None:
    error = {"message": "the model is asleep", "code": "provider_error", "retryable": False}
    folder = configure(tmp_path, [{"text": "Well", "error": error}])
    async with open_edge(folder, dsn) as edge, running(edge):
        traced = await trace_run(edge)
        detail = await traced.get("llm", -1)
    assert "the model is asleep" in detail["error_message"]
    assert detail["llm_response"] == {"text": "Well", "text_length": 4, "tool_calls_count": 0, "tool_calls": []}
    assert [message["role"] for message in detail["conversation"]] == ["system", "user"]


@pytest.mark.parametrize(
    ("turn", "content", "error"),
    [
        (call("echo", text="all is dry"), "all is dry", None),
        (call("fail", message="no such valve"), "no such valve", "TOOL_ERROR"),
    ],
)
async def test_a_tool_call_is_shown_with_arguments_and_result(
    dsn: str, tmp_path: Path, turn: Turn, content: str, error: str | None
) -> None:
    async with open_edge(configure(tmp_path, [turn, CONCLUSION]), dsn) as edge, running(edge):
        traced = await trace_run(edge)
        detail = await traced.get("mcp", 0)
    assert detail.keys() == MCP_KEYS
    assert (detail["interaction_type"], detail["server_name"]) == ("tool_call", "deck")
    assert (detail["tool_arguments"], detail["available_tools"]) == (turn["calls"][0]["arguments"], None)
    assert detail["tool_result"]["is_error"] is (error is not None)
    assert content in detail["tool_result"]["content"]
    assert detail["error_message"] == error


async def test_a_long_message_is_cut_and_says_so(dsn: str, tmp_path: Path) -> None:
    turn = {"text": "dry " * 10_000, "chunk_size": 40_000}
    async with open_edge(configure(tmp_path, [turn]), dsn) as edge, running(edge):
        traced = await trace_run(edge)
        said = (await traced.get("llm", 0))["llm_response"]["text"]
    assert len(said) < 33_000
    assert said.endswith("more characters are kept in the journal]")


async def test_an_interaction_is_found_only_in_its_session_and_under_its_kind(dsn: str, tmp_path: Path) -> None:
    async with open_edge(configure(tmp_path, [call("echo", text="dry"), CONCLUSION]), dsn) as edge, running(edge):
        one, other = await trace_run(edge), await trace_run(edge)
        llm = one.execution["llm_interactions"][0]["id"]
        mcp = one.execution["mcp_interactions"][0]["id"]
        missed = [
            await one.open("llm", new_id()),
            await one.open("llm", mcp),
            await one.open("mcp", llm),
            await other.open("llm", llm),
            await other.open("mcp", mcp),
        ]
        malformed = await one.open("llm", "seven")
    assert [(answer.status_code, answer.json()["code"]) for answer in missed] == [(404, "not_found")] * 5
    assert (malformed.status_code, malformed.json()["field"]) == (400, "interaction_id")
