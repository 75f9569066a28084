"""Pages for people with a browser: how the watch goes, and one session read from its end to its beginning.

They hold no script and load nothing but their style.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from uuid import UUID

from fastapi import APIRouter, Request, Response
from starlette.responses import HTMLResponse

from midwatch.api.list_bodies import SessionItem
from midwatch.api.pages.render import STYLE, render_page
from midwatch.api.routes.approvals import list_all_approvals
from midwatch.api.routes.health import show_health
from midwatch.api.routes.sessions import show_session, show_timeline
from midwatch.api.routes.stops import show_stop
from midwatch.api.state import TheChatWorker, TheConfig, TheStore, TheWorker
from midwatch.config.load import Config
from midwatch.domain.errors import NotFound
from midwatch.domain.session import SessionStatus
from midwatch.queue.standing import explain_queue
from midwatch.safety.approvals import ApprovalState
from midwatch.store.engine import Store
from midwatch.store.headlines import read_beginnings
from midwatch.store.lists import Listing, SessionPage, list_sessions
from midwatch.store.queues import read_queue
from midwatch.store.stops import Stop, read_stop

_SHOWN = 25
_LONGEST_TEXT = 8_000
_DAY = timedelta(days=1)
_COUNTS = ("Running", "Waiting", "Failed in 24 hours", "Sessions in all")
_RUNNING = (SessionStatus.IN_PROGRESS, SessionStatus.CANCELLING)
_FAILED = (SessionStatus.FAILED, SessionStatus.TIMED_OUT)
_DEMO_MODEL = "demo model"
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

router = APIRouter(include_in_schema=False)


@router.get("/")
async def show_front(
    request: Request, store: TheStore, worker: TheWorker, chat_worker: TheChatWorker, config: TheConfig
) -> HTMLResponse:
    health = await show_health(store, worker, chat_worker, Response())
    is_sick = health.checks.database.status == "unhealthy"
    watch = _Watch(counts=dict.fromkeys(_COUNTS, "unknown")) if is_sick else await _read_watch(store, config)
    page = render_page(
        "front.html.j2",
        refresh=watch.is_busy,
        demo=_runs_on_demo(config),
        health=health,
        watch=watch,
        now=datetime.now(UTC),
        base_url=str(request.base_url),
    )
    return _answer(page, status=HTTPStatus.SERVICE_UNAVAILABLE if is_sick else HTTPStatus.OK)


@router.get("/sessions/{session_id}")
async def show_session_page(session_id: str, store: TheStore, config: TheConfig) -> HTMLResponse:
    try:
        known = UUID(session_id)
        session = await show_session(known, store, config)
        timeline = await show_timeline(known, store)
        waiting = await list_all_approvals(store, ApprovalState.WAITING, known)
        stop = await show_stop(store)
    except (ValueError, NotFound):
        return _answer(render_page("missing.html.j2", refresh=False, demo=False), status=HTTPStatus.NOT_FOUND)
    models = {execution.model_name for stage in session.stages for execution in stage.executions}
    page = render_page(
        "session.html.j2",
        refresh=not session.status.is_terminal,
        demo=_DEMO_MODEL in models,
        session=session,
        timeline=timeline,
        approvals=waiting.approvals,
        stop=stop if stop.active else None,
        longest=_LONGEST_TEXT,
    )
    return _answer(page)


@router.get("/style.css")
async def show_style() -> Response:
    return Response(STYLE, media_type="text/css", headers={"Cache-Control": "max-age=3600"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Watch:
    """Counts are words, since none goes on for ever."""

    counts: Mapping[str, str]
    is_busy: bool = False
    stop: Stop | None = None
    sessions: Sequence[SessionItem] = ()
    beginnings: Mapping[UUID, str] = field(default_factory=dict[UUID, str])
    reason: str | None = None
    """Why sessions wait."""


async def _read_watch(store: Store, config: Config) -> _Watch:
    async with store.begin() as tx:
        running = await list_sessions(tx, Listing(statuses=_RUNNING, limit=1))
        waiting = await list_sessions(tx, Listing(statuses=(SessionStatus.PENDING,), limit=1))
        failed = await list_sessions(tx, Listing(statuses=_FAILED, start=datetime.now(UTC) - _DAY, limit=1))
        page = await list_sessions(tx, Listing(limit=_SHOWN))
        sessions = [SessionItem.model_validate(dict(row)) for row in page.rows]
        beginnings = await read_beginnings(tx, [session.id for session in sessions])
        stop = await read_stop(tx)
        queue = await read_queue(tx)
    counted = (running, waiting, failed, page)
    return _Watch(
        counts={name: _say_total(pages) for name, pages in zip(_COUNTS, counted, strict=True)},
        is_busy=bool(running.total or waiting.total),
        stop=stop,
        sessions=sessions,
        beginnings=beginnings,
        reason=explain_queue(queue, cap=config.queue.max_concurrent_sessions),
    )


def _say_total(page: SessionPage) -> str:
    return f"more than {page.total}" if page.is_capped else str(page.total)


def _runs_on_demo(config: Config) -> bool:
    provider = config.providers.get(config.defaults.llm_provider or "")
    return provider is not None and provider.type == "demo"


def _answer(page: str, *, status: HTTPStatus = HTTPStatus.OK) -> HTMLResponse:
    return HTMLResponse(page, status_code=status, headers=_HEADERS)
