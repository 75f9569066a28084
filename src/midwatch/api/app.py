"""The HTTP edge: routes, the border in front of them, and errors in one shape."""

from collections.abc import Collection

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from midwatch import __version__
from midwatch.api.border import Border
from midwatch.api.errors import LastResort, install_error_handlers
from midwatch.api.routes import alerts, health, sessions
from midwatch.api.schemas import ErrorOut
from midwatch.api.state import State


def create_app(state: State, *, hosts: Collection[str] = ()) -> FastAPI:
    app = FastAPI(
        title="Midwatch",
        version=__version__,
        # Both pages load their scripts from a public network; /openapi.json stays.
        docs_url=None,
        redoc_url=None,
        responses={"default": {"model": ErrorOut, "description": "Not done, and why"}},
    )
    app.add_middleware(StateOf, state=state)
    app.add_middleware(LastResort)
    app.add_middleware(Border, hosts=hosts)
    install_error_handlers(app)
    for module in (alerts, sessions, health):
        app.include_router(module.router)
    return app


class StateOf:
    """Gives every request what it may use. The rooms outlive the app, so no lifespan opens them."""

    def __init__(self, app: ASGIApp, *, state: State) -> None:
        self._app = app
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {}).update(self._state)
        await self._app(scope, receive, send)
