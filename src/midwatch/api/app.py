"""The HTTP edge: routes, the border in front of them, and errors in one shape."""

from collections.abc import Collection, Mapping

from fastapi import FastAPI
from starlette.routing import WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from midwatch import __version__
from midwatch.api.author import Proxies
from midwatch.api.border import BODY_SECONDS, Border
from midwatch.api.counted import Counted
from midwatch.api.description import ABOUT, ANYWHERE, DescribedApp, name_operation
from midwatch.api.errors import LastResort, install_error_handlers
from midwatch.api.origins import Origins
from midwatch.api.routes import (
    alerts,
    approvals,
    chats,
    docs,
    health,
    lists,
    metrics,
    outbound,
    pages,
    sessions,
    stops,
    system,
    traces,
)
from midwatch.api.state import State
from midwatch.api.websocket import MOST_CONNECTIONS, WRITE_SECONDS, FeedSocket
from midwatch.config.env import Network

_ROUTES = (alerts, lists, sessions, approvals, chats, traces, outbound, system, stops, health, metrics, docs, pages)


def create_app(
    state: State,
    *,
    hosts: Collection[str] = (),
    proxies: Collection[Network] = (),
    body_seconds: float = BODY_SECONDS,
    write_seconds: float = WRITE_SECONDS,
    most_connections: int = MOST_CONNECTIONS,
) -> FastAPI:
    app = DescribedApp(
        title="Midwatch",
        description=ABOUT,
        version=__version__,
        # Both pages load their scripts from a public network; ours is at /api/docs.
        docs_url=None,
        redoc_url=None,
        # A redirect has no body of our shape and is not followed by programs that post.
        redirect_slashes=False,
        responses=ANYWHERE,
        generate_unique_id_function=name_operation,
    )
    app.add_middleware(StateOf, state={**state, "proxies": Proxies(tuple(proxies))})
    app.add_middleware(LastResort)
    origins = Origins.from_system(state["config"].system)
    app.add_middleware(Border, hosts=hosts, origins=origins, body_seconds=body_seconds)
    app.add_middleware(Counted, meters=state["meters"])
    install_error_handlers(app)
    for module in _ROUTES:
        app.include_router(module.router)
    feed = FeedSocket(write_seconds=write_seconds, most_connections=most_connections)
    app.router.routes.append(WebSocketRoute("/api/v1/ws", feed))
    return app


class StateOf:
    """Gives every request what it may use. The rooms outlive the app, so no lifespan opens them."""

    def __init__(self, app: ASGIApp, *, state: Mapping[str, object]) -> None:
        self._app = app
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {}).update(self._state)
        await self._app(scope, receive, send)
