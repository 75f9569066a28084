"""A session that has ended and can be asked about, at an edge whose models answer by name."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from midwatch.domain.session import WorkStatus
from midwatch.kit import json
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from tests.api.edge import Edge, open_edge, running, write_config
from tests.api.shelf import SESSIONS, wait_for_end
from tests.fakes.openai_server import Answer, Body, OpenAIServer, Reply, count_turns, serve
from tests.waiting import eventually

TALK = "talk"
"""The model of whoever answers questions."""
LOOK = ScriptedTurn(
    thinking="The valve is worth a look.",
    text="I look.",
    calls=(ScriptedCall(name="deck.echo", arguments={"text": "the valve is stuck"}),),
)
FOUND = ScriptedTurn(text="The valve was stuck, so the pump ran hot.")
ANSWER = ScriptedTurn(text="Because nobody greased the valve.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    edge: Edge
    model: OpenAIServer
    session_id: str

    async def ask(self, content: str = "Why was the valve stuck?") -> httpx.Response:
        return await self.edge.http.post(f"{SESSIONS}/{self.session_id}/chat/messages", json={"content": content})

    async def asked(self, content: str = "Why was the valve stuck?") -> str:
        """The stage in which it is answered."""
        answer = await self.ask(content)
        assert answer.status_code == 202, answer.text
        return answer.json()["stage_id"]

    async def cancel(self) -> httpx.Response:
        return await self.edge.http.post(f"{SESSIONS}/{self.session_id}/cancel")

    async def stage(self, stage_id: str) -> dict[str, Any]:
        stages = (await self.edge.show(self.session_id))["stages"]
        return next(stage for stage in stages if stage["id"] == stage_id)

    async def ended(self, stage_id: str) -> dict[str, Any]:
        async def look() -> dict[str, Any] | None:
            stage = await self.stage(stage_id)
            return stage if WorkStatus(stage["status"]).is_terminal else None

        return await eventually(look)

    async def entries(self, stage_id: str) -> list[dict[str, Any]]:
        entries = (await self.edge.http.get(f"{SESSIONS}/{self.session_id}/timeline")).json()
        return [entry for entry in entries if entry["stage_id"] == stage_id]

    def talks(self) -> list[Body]:
        """What the model that answers questions was sent."""
        return [request.body for request in self.model.requests if request.body["model"] == TALK]


def by_model(**parts: Sequence[Reply]) -> Answer:
    """The n-th reply of the model that is asked, to a conversation in which it has spoken n times."""

    def answer(body: Body) -> Reply:
        replies = parts.get(body["model"], ())
        return replies[count_turns(body)] if count_turns(body) < len(replies) else ScriptedTurn(text="Nothing more.")

    return answer


def write_chat_config(folder: Path, base_url: str, *, queue: Mapping[str, Any] | None = None, **chain: Any) -> None:
    """`chain` is what the chain says beyond its stages, instead of its usual chat."""
    write_config(folder)
    main = json.decode((folder / "midwatch.yaml").read_text())
    main["queue"] |= queue or {}
    usual = {"chat": {"enabled": True, "agent": "ChatAgent", "llm_provider": TALK}}
    main["agent_chains"]["deck"] |= chain or usual
    (folder / "midwatch.yaml").write_text(json.encode_text(main))
    names = {"script": "mate", TALK: TALK}
    providers = {name: {"type": "openai", "model": model, "base_url": base_url} for name, model in names.items()}
    (folder / "llm-providers.yaml").write_text(json.encode_text({"llm_providers": providers}))


@asynccontextmanager
async def chatting(
    folder: Path,
    dsn: str,
    answer: Answer,
    *,
    chain: Mapping[str, Any] | None = None,
    alert: Mapping[str, Any] | None = None,
    queue: Mapping[str, Any] | None = None,
) -> AsyncGenerator[Chat]:
    """With a session that is over; the service runs."""
    async with serve(answer) as model:
        write_chat_config(folder, model.base_url, queue=queue, **(chain or {}))
        async with open_edge(folder, dsn) as edge, running(edge):
            body = {"data": "The bilge pump runs hot.", **(alert or {})}
            session_id = (await edge.http.post("/api/v1/alerts", json=body)).json()["session_id"]
            await wait_for_end(edge, session_id)
            yield Chat(edge=edge, model=model, session_id=session_id)
