"""One alert or one session, watched: by a server elsewhere, or by a replica that lives in this process meanwhile."""

import asyncio
import pwd
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from os import geteuid
from pathlib import Path
from shlex import quote
from uuid import UUID

from midwatch.cli.ending import FAILED, MISCONFIGURED
from midwatch.cli.live.asking import Asker
from midwatch.cli.live.plain import AnalysisOnly, JsonLines
from midwatch.cli.live.screen import Screen
from midwatch.cli.live.server import NewAlert, Secret, Server, ServerUnreachable, connect_server
from midwatch.cli.live.transcript import Transcript
from midwatch.cli.live.watch import Consult, Stop, View, judge, watch
from midwatch.cli.signals import heeding_signals, running_task
from midwatch.cli.terminal import make_console
from midwatch.domain.errors import Misconfigured

_AGAIN = "midwatch investigate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the user asked for: an alert to investigate, or a session to follow."""

    alert: NewAlert | None
    follow: str | None
    server: str | None
    record: Path | None
    """Where to write what the models said."""
    config_dir: Path | None
    token_file: Path | None
    """Holds the server's secret, if something is selected there."""
    as_json: bool
    quiet: bool
    no_color: bool


@dataclass(slots=True)
class Attempt:
    session_id: str | None = None
    """None until there is a session."""
    was_signalled: bool = False

    def judge(self, status: int) -> int:
        """What fails before there is a session could not begin."""
        is_early = status == FAILED and self.session_id is None and not self.was_signalled
        return MISCONFIGURED if is_early else status


async def run_attempt(attempt: Attempt, request: Request, environ: Mapping[str, str]) -> int:
    """The exit status. Raises Misconfigured, Rejected, Unavailable, OSError."""
    watching = _open_view(request)
    stop = Stop(whole=running_task())
    with heeding_signals(stop):
        try:
            async with watching.shown():
                if request.server is None:
                    return await _attempt_here(attempt, request, environ, watching=watching, stop=stop)
                return await _attempt_there(attempt, request, environ, watching=watching, stop=stop)
        except asyncio.CancelledError:
            if stop.number is None:
                raise
            attempt.was_signalled = True
            _say_farewell(attempt, request, watching.view, stop=stop)
            return stop.status


@dataclass(frozen=True, slots=True, kw_only=True)
class _Watching:
    view: View
    screen: Screen
    is_transcript: bool

    @asynccontextmanager
    async def shown(self) -> AsyncGenerator[None]:
        if self.is_transcript:
            async with self.screen.alive():
                yield
        else:
            yield

    def consult_by(self, server: Server, read_token: Callable[[], str]) -> Consult | None:
        """Whoever sits here is asked, if somebody does and the secret is to be had."""
        if not (self.is_transcript and self.screen.console.is_terminal and sys.stdin.isatty()):
            return None
        try:
            secret = Secret(token=read_token(), user=name_user())
        except (OSError, Misconfigured):
            return None
        return Asker(server=server, screen=self.screen, secret=secret).consult

    def tell(self, *lines: str) -> None:
        for line in lines if self.is_transcript else ():
            self.screen.show_exactly(line)


def _open_view(request: Request) -> _Watching:
    screen = Screen(console=make_console(no_color=request.no_color))
    view: View
    if request.as_json:
        view = JsonLines()
    elif request.quiet:
        view = AnalysisOnly(screen.console)
    else:
        view = Transcript(screen=screen)
    return _Watching(view=view, screen=screen, is_transcript=isinstance(view, Transcript))


async def _attempt_here(
    attempt: Attempt, request: Request, environ: Mapping[str, str], *, watching: _Watching, stop: Stop
) -> int:
    # Heavy, and of no use to whoever only watches a server.
    from midwatch.cli.replica import Address, running_replica
    from midwatch.cli.surroundings import read_all_env
    from midwatch.config.approver import FILE_NAME, read_token_file
    from midwatch.config.load import load_config
    from midwatch.kit.process import forbid_dumping
    from midwatch.timeline.recording import record_session
    from midwatch.wiring import Plan

    forbid_dumping()
    env = read_all_env(request.config_dir, environ)
    configure_quiet_logs(environ, level=env.log_level, fmt=env.log_format)
    config = load_config(env.config_dir, environ=environ)
    watching.screen.doing = "starting"
    plan = Plan(config=config, env=env, environ=environ, watches_servers=False)
    address = Address(host="127.0.0.1", port=0)
    async with running_replica(plan, address) as replica, connect_server(replica.url) as server:
        attempt.session_id = await _find_session(
            server, request, author=name_user(), read_secret=lambda: Secret(token=read_token_file(env.home / FILE_NAME))
        )
        stop.is_gentle = request.follow is None
        for warning in config.warnings:
            watching.view.note(warning)
        consult = watching.consult_by(server, lambda: read_token_file(env.home / FILE_NAME))
        session = await watch(server, attempt.session_id, view=watching.view, stop=stop, consult=consult)
        watching.tell(f"  again    {_follow_command(attempt, request)}")
        if request.record is not None:
            script = await record_session(replica.service.store, UUID(attempt.session_id))
            await asyncio.to_thread(request.record.write_text, script, encoding="utf-8")
            watching.tell(f"  script   {request.record}")
        watching.screen.doing = "closing"
    return judge(session, stop)


async def _attempt_there(
    attempt: Attempt, request: Request, environ: Mapping[str, str], *, watching: _Watching, stop: Stop
) -> int:
    url = request.server or ""
    watching.screen.doing = f"asking {url}"
    async with connect_server(url) as server:
        attempt.session_id = await _find_session(
            server, request, author=None, read_secret=lambda: _read_secret(request, environ)
        )
        try:
            consult = watching.consult_by(server, lambda: _read_token(environ)) if server.is_near else None
            session = await watch(server, attempt.session_id, view=watching.view, stop=stop, consult=consult)
        except* ServerUnreachable as lost:
            told = f"{lost.exceptions[0]}; the session may go on: {_follow_command(attempt, request)}"
            raise ServerUnreachable(told) from None
        watching.tell(
            f"  look on  {server.url}/api/v1/sessions/{attempt.session_id}",
            f"  again    {_follow_command(attempt, request)}",
        )
    return judge(session, stop)


def _read_secret(request: Request, environ: Mapping[str, str]) -> Secret:
    """Of the server that something is selected at. Raises Misconfigured."""
    from midwatch.cli.approver_secret import read_approver_secret
    from midwatch.config.approver import FILE_NAME
    from midwatch.config.env import read_env

    return read_approver_secret(request.token_file or read_env(environ).home / FILE_NAME, user=name_user())


def _read_token(environ: Mapping[str, str]) -> str:
    """Of a server on this machine that shares our home. Raises OSError, Misconfigured."""
    from midwatch.config.approver import FILE_NAME, read_token_file
    from midwatch.config.env import read_env

    return read_token_file(read_env(environ).home / FILE_NAME)


async def _find_session(
    server: Server, request: Request, *, author: str | None, read_secret: Callable[[], Secret]
) -> str:
    if request.follow is not None:
        await server.show(request.follow)
        return request.follow
    assert request.alert is not None  # noqa: S101 -- there is one of the two
    secret = read_secret() if request.alert.selected else None
    return await server.submit(replace(request.alert, author=author), secret=secret)


def _follow_command(attempt: Attempt, request: Request) -> str:
    where = f" --server {quote(request.server)}" if request.server else ""
    config = f" --config-dir {quote(str(request.config_dir))}" if request.config_dir else ""
    return f"{_AGAIN}{where}{config} --follow {attempt.session_id}"


def _say_farewell(attempt: Attempt, request: Request, view: View, *, stop: Stop) -> None:
    if attempt.session_id is None:
        view.note("stopped before anything began")
    elif stop.is_gentle:
        view.note("stopped at once")
    elif request.server is not None:
        view.note(f"stopped watching; the session goes on. Watch it again: {_follow_command(attempt, request)}")
    else:
        view.note(f"stopped watching. Take it up again: {_follow_command(attempt, request)}")


def configure_quiet_logs(environ: Mapping[str, str], *, level: str, fmt: str | None) -> None:
    """A transcript is being read: only what is wrong is logged, unless the user wants more."""
    from midwatch.telemetry.logs import configure_logs

    configure_logs(level if environ.get("LOG_LEVEL") else "warning", fmt)


def name_user() -> str | None:
    try:
        return pwd.getpwuid(geteuid()).pw_name
    except KeyError:
        return None
