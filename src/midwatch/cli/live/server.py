"""A Midwatch server as a client meets it: alerts sent, sessions read, and errors that stand by themselves."""

import asyncio
import ipaddress
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlsplit

import httpx

from midwatch.domain.errors import Invalid, MidwatchError, Unavailable
from midwatch.kit.ids import new_id

Body = dict[str, Any]

_PATIENCE = httpx.Timeout(30.0, connect=10.0)
_PAUSES = (0.5, 1.0)
"""Seconds before an alert is sent once more. Under its key it is stored once."""


class ServerUnreachable(Unavailable):
    """Nobody answers there, or not as Midwatch does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAlert:
    data: str
    alert_type: str | None = None
    runbook: str | None = None
    selected: tuple[str, ...] = ()
    """Ids of what is meant; to be sent with the approver's secret."""
    author: str | None = None
    """Believed by a server on this machine only."""

    @property
    def body(self) -> Body:
        said = {"data": self.data, "alert_type": self.alert_type, "runbook": self.runbook}
        picked = {"selected_resources": list(self.selected)} if self.selected else {}
        return {name: value for name, value in said.items() if value is not None} | picked


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """By which a server knows an approver, and the name that a server on this machine believes."""

    token: str = field(repr=False)
    user: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        named = {} if self.user is None else {"X-Forwarded-User": self.user}
        return {"Authorization": f"Bearer {self.token}", **named}


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    url: str
    http: httpx.AsyncClient

    @property
    def feed_url(self) -> str:
        return f"ws{self.url.removeprefix('http')}/api/v1/ws"

    @property
    def is_near(self) -> bool:
        return is_near(self.url)

    async def submit(self, alert: NewAlert, *, secret: Secret | None = None) -> str:
        """The id of the session. Raises Invalid and ServerUnreachable."""
        headers = {"Idempotency-Key": str(new_id()), **(secret.headers if secret else {})}
        if alert.author:
            headers["X-Forwarded-User"] = alert.author
        for pause in _PAUSES:
            try:
                return await self._submit(alert, headers)
            except _TryAgain:
                await asyncio.sleep(pause)
        return await self._submit(alert, headers)

    async def show(self, session_id: str) -> Body:
        return await self._get_object(f"/api/v1/sessions/{session_id}")

    async def show_timeline(self, session_id: str) -> list[Body]:
        answer = await self._ask("GET", f"/api/v1/sessions/{session_id}/timeline")
        if not isinstance(answer, list):
            raise self._strange("a list was expected")
        return cast("list[Body]", answer)

    async def show_outbound(self, session_id: str) -> Body:
        return await self._get_object(f"/api/v1/sessions/{session_id}/outbound")

    async def read_outbound(self, session_id: str, request_id: str) -> bytes:
        """A body as it was sent, byte for byte."""
        answer = await self._send("GET", f"/api/v1/sessions/{session_id}/outbound/{request_id}")
        self._check(answer)
        return answer.content

    async def cancel(self, session_id: str) -> None:
        """Raises Invalid when it has ended already."""
        await self._ask("POST", f"/api/v1/sessions/{session_id}/cancel")

    async def list_approvals(self, state: str | None) -> list[Body]:
        query = "" if state is None else f"?state={state}"
        listed = await self._get_object(f"/api/v1/approvals{query}")
        return cast("list[Body]", listed.get("approvals") or [])

    async def show_approval(self, approval_id: str) -> Body:
        return await self._get_object(f"/api/v1/approvals/{approval_id}")

    async def decide(self, approval_id: str, *, is_approved: bool, reason: str, secret: Secret) -> Body:
        """Raises Invalid when the question is no longer open, or the secret is not the approver's."""
        word = "approve" if is_approved else "deny"
        answer = await self._ask(
            "POST", f"/api/v1/approvals/{approval_id}/{word}", json={"reason": reason}, headers=secret.headers
        )
        return cast("Body", answer)

    async def show_stop(self) -> Body:
        return await self._get_object("/api/v1/system/emergency-stop")

    async def stop_changes(self, reason: str, *, secret: Secret) -> Body:
        answer = await self._ask(
            "POST", "/api/v1/system/emergency-stop", json={"reason": reason}, headers=secret.headers
        )
        return cast("Body", answer)

    async def allow_changes(self, reason: str, *, secret: Secret) -> Body:
        answer = await self._ask(
            "DELETE", "/api/v1/system/emergency-stop", json={"reason": reason}, headers=secret.headers
        )
        return cast("Body", answer)

    async def _submit(self, alert: NewAlert, headers: Mapping[str, str]) -> str:
        answer = await self._ask("POST", "/api/v1/alerts", json=alert.body, headers=headers)
        match answer:
            case {"session_id": str(session_id)}:
                return session_id
            case _:
                raise self._strange("it names no session")

    async def _get_object(self, path: str) -> Body:
        answer = await self._ask("GET", path)
        if not isinstance(answer, dict):
            raise self._strange("an object was expected")
        return cast("Body", answer)

    async def _ask(self, method: str, path: str, **request: Any) -> object:
        return self._check(await self._send(method, path, **request))

    async def _send(self, method: str, path: str, **request: Any) -> httpx.Response:
        try:
            return await self.http.request(method, path, **request)
        except httpx.ConnectError as error:
            told = f"cannot reach {self.url}: {_reason(error)}; is Midwatch serving there?"
            raise ServerUnreachable(told) from error
        except httpx.TransportError as error:
            raise _TryAgain(f"{self.url} does not answer ({type(error).__name__})") from error

    def _check(self, answer: httpx.Response) -> object:
        body = _read_body(answer)
        if answer.is_success and body is not None:
            return body
        raise self._explain(answer, cast("Body", body) if isinstance(body, dict) else {})

    def _explain(self, answer: httpx.Response, body: Body) -> MidwatchError:
        match body.get("message"):
            case str(message) if body.get("code") == "store_unavailable":
                return _TryAgain(f"{self.url}: {message}")
            case str(message):
                return Invalid(_with_choice(message, body.get("allowed") or ()))
            case _:
                return self._strange(f"status {answer.status_code}")

    def _strange(self, what: str) -> ServerUnreachable:
        return ServerUnreachable(f"{self.url} does not answer as Midwatch does ({what})")


class _TryAgain(ServerUnreachable):
    """It may work in a moment."""


@asynccontextmanager
async def connect_server(url: str) -> AsyncGenerator[Server]:
    """Nothing is asked yet. Raises Invalid for an address that is none."""
    address = check_url(url)
    async with httpx.AsyncClient(base_url=address, timeout=_PATIENCE, trust_env=not is_near(address)) as http:
        yield Server(url=address, http=http)


def check_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable:
        raise Invalid(f"{url!r} is no address of a server: write it like http://localhost:8080")
    return url.rstrip("/")


def is_near(url: str) -> bool:
    """On this machine, where no proxy stands between."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _read_body(answer: httpx.Response) -> object:
    try:
        return answer.json()
    except ValueError:
        return None


def _with_choice(message: str, allowed: Sequence[object]) -> str:
    return f"{message}; choose one of {', '.join(map(str, allowed))}" if allowed else message


def _reason(error: BaseException) -> str:
    """The kernel's own words, from the bottom of what the libraries made of them."""
    while (below := error.__cause__ or error.__context__) is not None:
        error = below
    if isinstance(error, OSError) and error.errno and error.errno > 0:
        return os.strerror(error.errno)
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
