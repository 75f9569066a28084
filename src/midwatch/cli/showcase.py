"""The demo's life: a replica with a configuration and a database of its own, one investigation shown, then service."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import httpx
from rich.text import Text

from midwatch.cli.alert_source import find_sample
from midwatch.cli.attempt import Attempt, configure_quiet_logs, name_user
from midwatch.cli.ending import DONE
from midwatch.cli.live.lines import render_aside
from midwatch.cli.live.screen import Screen
from midwatch.cli.live.server import NewAlert, connect_server
from midwatch.cli.live.transcript import Transcript
from midwatch.cli.live.watch import Stop, judge, watch
from midwatch.cli.own_name import name_program
from midwatch.cli.replica import Address, CannotListen, Replica, running_replica
from midwatch.cli.samples import Sample
from midwatch.cli.signals import heeding_signals, running_task
from midwatch.cli.terminal import clean, make_console
from midwatch.config.builtins import PROVIDERS_BY_KEY
from midwatch.config.env import Env, read_env
from midwatch.config.load import load_config
from midwatch.domain.errors import Misconfigured
from midwatch.kit.process import forbid_dumping
from midwatch.wiring import Plan

_DEFAULT_SAMPLE = "slow-machine"
_HOST = "127.0.0.1"
_LOOK = 2.0
_ELSEWHERE = ("DATABASE_URL", "DB_HOST", "CONFIG_DIR", *PROVIDERS_BY_KEY)
"""Variables that lead to what is not ours to play with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    sample: str | None
    port: int | None
    once: bool
    no_color: bool


async def run_showcase(attempt: Attempt, options: Options, environ: Mapping[str, str]) -> int:
    """The exit status. Raises Misconfigured, Invalid, StoreUnavailable, OSError."""
    forbid_dumping()
    sample = find_sample(options.sample or _DEFAULT_SAMPLE)
    plan = _plan({name: value for name, value in environ.items() if name not in _ELSEWHERE})
    screen = Screen(console=make_console(no_color=options.no_color), doing="starting a database")
    stop = Stop(whole=running_task())
    port = plan.env.port if options.port is None else options.port
    with heeding_signals(stop):
        try:
            async with screen.alive(), _serving(plan, port) as replica:
                return await _show(replica, sample, options=options, screen=screen, stop=stop, attempt=attempt)
        except asyncio.CancelledError:
            if stop.number is None:
                raise
            attempt.was_signalled = True
            return stop.status


def _plan(environ: Mapping[str, str]) -> Plan:
    env = _own_env(environ)
    configure_quiet_logs(environ, level=env.log_level, fmt=env.log_format)
    return Plan(config=load_config(None, environ=environ), env=env, environ=environ)


def _own_env(environ: Mapping[str, str]) -> Env:
    """Sessions of a real installation must never meet the demo's model, nor the demo's sessions a real one."""
    env = read_env(environ)
    return replace(env, home=env.home / "demo")


@asynccontextmanager
async def _serving(plan: Plan, port: int) -> AsyncGenerator[Replica]:
    try:
        async with running_replica(plan, Address(host=_HOST, port=port)) as replica:
            yield replica
    except CannotListen as error:
        raise Misconfigured([await _explain_port(error, port)]) from error


async def _explain_port(error: CannotListen, port: int) -> str:
    if not error.is_taken:
        return str(error)
    url = f"http://localhost:{port}"
    if await _is_midwatch(url):
        return f"Midwatch serves on {url} already: look there, or start this one beside it with --port 0"
    return f"port {port} is taken by another program: choose another with --port, or --port 0 for any"


async def _is_midwatch(url: str) -> bool:
    try:
        async with httpx.AsyncClient(timeout=_LOOK, trust_env=False) as http:
            return {"status", "version", "checks"} <= set((await http.get(f"{url}/health")).json())
    except (httpx.HTTPError, ValueError, TypeError):
        return False


async def _show(
    replica: Replica, sample: Sample, *, options: Options, screen: Screen, stop: Stop, attempt: Attempt
) -> int:
    url = replica.url.replace(_HOST, "localhost")
    _introduce(screen, sample)
    stop.is_gentle = True
    async with connect_server(replica.url) as server:
        alert = NewAlert(data=sample.text, alert_type=sample.alert_type, author=name_user())
        attempt.session_id = await server.submit(alert)
        session = await watch(server, attempt.session_id, view=Transcript(screen=screen), stop=stop)
    if options.once or stop.asked.is_set():
        screen.show_exactly(_WAYS_AFTER.format(program=name_program()))
        return judge(session, stop)
    screen.show(Text(_STORY))
    ways = _WAYS.format(program=name_program(), url=url, session=attempt.session_id, keys=" or ".join(PROVIDERS_BY_KEY))
    screen.show_exactly(ways)
    screen.doing = f"serving on {url} · Ctrl-C stops"
    await stop.asked.wait()
    screen.doing = "stopping"
    return DONE


def _introduce(screen: Screen, sample: Sample) -> None:
    screen.show(Text(f"Midwatch investigates a made-up alert about this machine: {clean(sample.title)}"), "")
    screen.show(*(render_aside(line) for line in sample.text.splitlines()), "")


_STORY = """
The alert was made up; what the tools read on this machine is real. The demo model follows rules and is no language \
model. With a real one Midwatch works the same way, and asks it what to look at.
"""
_WAYS = """\
  status page     {url}/
  this session    {url}/sessions/{session}
  every path      {url}/api/docs
  other samples   {program} demo --list-samples
  your own alert  echo 'Is a disk full?' | {program} investigate --server {url} -
  by curl         curl -H 'Content-Type: application/json' -d '{{"data": "Is a disk full?"}}' {url}/api/v1/alerts
  a real model    {program} serve   with {keys} set
                  {program} serve --config-dir DIR   with any other

Ctrl-C stops everything."""
_WAYS_AFTER = """
  other samples   {program} demo --list-samples
  your own alert  echo 'Is a disk full?' | {program} investigate -"""
