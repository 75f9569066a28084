"""The HTTP edge: routes, the border in front of them, and errors in one shape."""

from collections.abc import Collection, Mapping

from fastapi import FastAPI
from starlette.routing import WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from midwatch import __version__
from midwatch.api.author import Proxies
from midwatch.api.border import BODY_SECONDS, Border
from midwatch.api.errors import LastResort, install_error_handlers
from midwatch.api.routes import alerts, docs, health, lists, sessions, system, traces
from midwatch.api.schemas import ErrorOut
from midwatch.api.state import State
from midwatch.api.websocket import WRITE_SECONDS, FeedSocket
from midwatch.config.env import Network


def create_app(
    state: State,
    *,
    hosts: Collection[str] = (),
    proxies: Collection[Network] = (),
    body_seconds: float = BODY_SECONDS,
    write_seconds: float = WRITE_SECONDS,
) -> FastAPI:
    app = FastAPI(
        title="Midwatch",
        version=__version__,
        # Both pages load their scripts from a public network; ours is at /api/docs.
        docs_url=None,
        redoc_url=None,
        responses={"default": {"model": ErrorOut, "description": "Not done, and why"}},
    )
    app.add_middleware(StateOf, state={**state, "proxies": Proxies(tuple(proxies))})
    app.add_middleware(LastResort)
    app.add_middleware(Border, hosts=hosts, body_seconds=body_seconds)
    install_error_handlers(app)
    for module in (alerts, lists, sessions, traces, system, health, docs):
        app.include_router(module.router)
    app.router.routes.append(WebSocketRoute("/api/v1/ws", FeedSocket(write_seconds=write_seconds)))
    return app


class StateOf:
    """Gives every request what it may use. The rooms outlive the app, so no lifespan opens them."""

    def __init__(self, app: ASGIApp, *, state: Mapping[str, object]) -> None:
        self._app = app
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {}).update(self._state)
        await self._app(scope, receive, send)
