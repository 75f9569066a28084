"""Whoever sends alerts, asks questions and cancels: tries any replica that answers, again and again, as clients do."""

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from midwatch.domain.errors import StoreUnavailable
from midwatch.domain.session import SessionStatus, WorkStatus
from midwatch.store.engine import Store
from tests.chaos.fleet import Crew
from tests.chaos.history import Cancel
from tests.chaos.plan import Action, PlannedSession, name_question
from tests.waiting import eventually

PATIENCE = 60.0
_REFUSED = "refused"


@dataclass(slots=True, kw_only=True)
class Client:
    crew: Crew
    store: Store
    chance: random.Random
    sessions: dict[int, str] = field(default_factory=dict[int, str])
    questions: list[str] = field(default_factory=list[str])
    cancels: list[Cancel] = field(default_factory=list[Cancel])
    server_errors: list[str] = field(default_factory=list[str])

    async def submit(self, session: PlannedSession) -> str:
        """With a key, so that trying again is no second alert."""
        alert = {"alert_type": session.tag, "data": f"{session.tag}: the bilge pump runs hot."}

        async def attempt() -> str | None:
            answer = await self._send("/api/v1/alerts", alert, {"Idempotency-Key": session.tag})
            return None if answer is None or answer.status_code != 202 else answer.json()["session_id"]

        self.sessions[session.number] = await eventually(attempt, within=PATIENCE)
        return self.sessions[session.number]

    async def ask(self, session_id: str, number: int) -> str | None:
        """The stage of the question, once it is stored; None when it is refused, as of a session that was cancelled."""

        async def attempt() -> str | None:
            stage_id = await self._find_question(session_id, number)
            if stage_id is not None:
                return stage_id
            content = {"content": f"{name_question(number)}: whose watch was it?"}
            answer = await self._send(f"/api/v1/sessions/{session_id}/chat/messages", content, {})
            if answer is None or answer.is_server_error:
                return None
            return answer.json()["stage_id"] if answer.is_success else _REFUSED

        stage_id = await eventually(attempt, within=PATIENCE)
        if stage_id == _REFUSED:
            return None
        self.questions.append(stage_id)
        return stage_id

    async def see_session_end(self, session_id: str) -> None:
        async def look() -> bool:
            status = await self.fetchval(
                "SELECT status FROM alert_sessions WHERE session_id = $1::text::uuid", session_id
            )
            return status is not None and SessionStatus(status).is_terminal

        await eventually(look, within=PATIENCE)

    async def see_stage_end(self, stage_id: str) -> None:
        async def look() -> bool:
            status = await self.fetchval("SELECT status FROM stages WHERE stage_id = $1::text::uuid", stage_id)
            return status is not None and WorkStatus(status).is_terminal

        await eventually(look, within=PATIENCE)

    async def cancel(self, session_id: str, action: Action) -> str:
        """What came of it, in words."""
        match action:
            case Action.CANCEL_AGENT:
                query = "SELECT execution_id::text FROM agent_executions WHERE status = 'active' AND "
                found = await self.fetchval(f"{query} session_id = $1::text::uuid ORDER BY started_at", session_id)
                path = f"executions/{found}/cancel"
            case Action.CANCEL_CALL:
                query = "SELECT call_id::text FROM tool_calls WHERE state IN ('requested', 'started') AND "
                found = await self.fetchval(f"{query} session_id = $1::text::uuid ORDER BY call_index", session_id)
                path = f"calls/{found}/cancel"
            case _:
                found, path = session_id, "cancel"
        if found is None:
            return "there was nothing to cancel"
        answer = await self._send(f"/api/v1/sessions/{session_id}/{path}", {}, {})
        if answer is not None:
            await self._note(session_id, found, action, answer)
        return f"{path}: {answer and answer.status_code}"

    async def fetchval(self, query: str, *args: object) -> Any:
        """None as well while the database is away."""
        return await self.try_reading(lambda tx: tx.fetchval(query, *args))

    async def try_reading(self, read: Callable[[Any], Awaitable[Any]]) -> Any:
        try:
            async with self.store.connect() as tx:
                return await read(tx)
        except StoreUnavailable:
            return None

    async def _note(self, session_id: str, target: str, action: Action, answer: httpx.Response) -> None:
        kind = {Action.CANCEL_AGENT: "agent", Action.CANCEL_CALL: "call"}.get(action, "session")
        if (
            kind == "session"
            and answer.is_success
            and SessionStatus(answer.json()["status"])
            not in (
                SessionStatus.CANCELLING,
                SessionStatus.CANCELLED,
            )
        ):
            kind, target = "question", str(await self._find_open_question(session_id))
        self.cancels.append(Cancel(kind=kind, session_id=session_id, target_id=target, status=answer.status_code))

    async def _find_question(self, session_id: str, number: int) -> str | None:
        return await self.fetchval(
            "SELECT st.stage_id::text FROM stages st "
            "JOIN chat_user_messages m ON m.message_id = st.chat_user_message_id "
            "JOIN texts t ON t.session_id = st.session_id AND t.text_id = m.text_id "
            "WHERE st.session_id = $1::text::uuid AND starts_with(t.content, $2)",
            session_id,
            name_question(number),
        )

    async def _find_open_question(self, session_id: str) -> str | None:
        return await self.fetchval(
            "SELECT stage_id::text FROM stages WHERE session_id = $1::text::uuid AND stage_type = 'chat' "
            "ORDER BY stage_index DESC LIMIT 1",
            session_id,
        )

    async def _send(self, path: str, body: Any, headers: dict[str, str]) -> httpx.Response | None:
        """None when nobody could be reached."""
        answering = self.crew.answering
        if not answering:
            return None
        member = self.chance.choice(answering)
        try:
            answer = await member.replica.http.post(path, json=body, headers=headers)
        except (httpx.HTTPError, httpx.InvalidURL):
            return None
        if answer.status_code == 500:
            self.server_errors.append(f"{member.name} {path}")
        return answer
