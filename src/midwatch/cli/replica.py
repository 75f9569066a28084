"""A replica's life as a process: socket first, then the rooms, then signals until it is drained."""

import asyncio
import errno
import ipaddress
import signal
import socket
import sys
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
import structlog
import uvicorn
from fastapi import FastAPI

from midwatch import __version__
from midwatch.api.app import create_app
from midwatch.api.server import server_settings
from midwatch.config.dotenv import with_dotenv
from midwatch.config.env import Env, Network, read_env
from midwatch.config.load import Config, load_config
from midwatch.domain.errors import Misconfigured
from midwatch.intake.submit_alert import Alert
from midwatch.kit.process import forbid_dumping
from midwatch.queue.worker import Worker
from midwatch.telemetry.logs import configure_logs
from midwatch.wiring import Plan, Service, open_service

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    config_dir: Path | None
    example: bool
    host: str | None
    port: int | None
    allow_hosts: tuple[str, ...]
    trusted_proxies: tuple[Network, ...]
    no_authentication: bool


async def run_replica(options: Options, environ: Mapping[str, str]) -> None:
    """Returns once it was told to stop and has drained. Raises Misconfigured, StoreUnavailable, OSError."""
    forbid_dumping()
    early = read_env(environ)
    folder = options.config_dir or early.config_dir
    env = early if folder is None else read_env(with_dotenv(folder, environ))
    configure_logs(env.log_level, env.log_format)
    config = _load(folder, environ, example=options.example)
    host = options.host or env.host
    _check_reach(host, no_authentication=options.no_authentication)
    plan = Plan(config=config, env=env, environ=environ)
    with _listening(host, env.port if options.port is None else options.port) as listener, _heeding_signals() as stop:
        try:
            async with open_service(plan) as service:
                stop.worker = service.worker
                app = create_app(
                    service.state,
                    hosts=(host, *options.allow_hosts),
                    proxies=options.trusted_proxies or env.trusted_proxies,
                )
                await _serve(service, app, listener=listener, env=env, example=options.example)
        except asyncio.CancelledError:
            # A signal while starting: what had begun is closed again, and nothing was there to drain.
            if stop.worker is not None:
                raise


def _load(folder: Path | None, environ: Mapping[str, str], *, example: bool) -> Config:
    if example:
        environ = {**environ, "MIDWATCH_PYTHON": sys.executable}
    config = load_config(folder, environ=environ)
    for warning in config.warnings:
        log.warning("configuration", problem=warning)
    return config


def _check_reach(host: str, *, no_authentication: bool) -> None:
    if host == "localhost" or _is_loopback(host):
        return
    if not no_authentication:
        problem = f"other machines can reach {host}, and nobody is asked who they are"
        raise Misconfigured([f"{problem}: listen on 127.0.0.1, or add --no-authentication if that is what you want"])
    log.warning("no_authentication", host=host)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@contextmanager
def _listening(host: str, port: int) -> Generator[socket.socket]:
    """Taken before anything is started: a port in use must cost nothing."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        # Python adds the address to the kernel's words.
        reason = str(error.strerror).partition(" (")[0]
        hint = "; choose another with --port" if error.errno == errno.EADDRINUSE else ""
        raise OSError(f"cannot listen on {host} port {port}: {reason}{hint}") from error
    # Inherited by every connection. An answer is written in two pieces, and without this the second waits 40 ms for a
    # client that has nothing to say. asyncio only sees to it for sockets that it has made itself.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with listener:
        yield listener


async def _serve(service: Service, app: FastAPI, *, listener: socket.socket, env: Env, example: bool) -> None:
    async with _http(app, listener):
        log.info("serving", version=__version__, url=_url(listener), pod_id=env.pod_id)
        if example:
            await _start_example(service, _url(listener))
        await service.run()
    log.info("drained")


def _url(listener: socket.socket) -> str:
    address, port = listener.getsockname()[:2]
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"


@asynccontextmanager
async def _http(app: FastAPI, listener: socket.socket) -> AsyncGenerator[None]:
    server = _Server(server_settings(app))
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve(sockets=[listener]), name="http")
        try:
            yield
        finally:
            server.should_exit = True


class _Server(uvicorn.Server):
    """Leaves signals to us: the first drains, which takes longer than closing sockets."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


@dataclass(slots=True, kw_only=True)
class _Stop:
    """What a signal does: the first drains, once there is something to drain; any other ends everything at once."""

    whole: asyncio.Task[None]
    worker: Worker | None = None

    def __call__(self) -> None:
        if self.worker is None or self.worker.is_stopping:
            log.warning("stopping_at_once")
            self.whole.cancel()
            return
        log.info("draining", seconds=self.worker.drain_time)
        self.worker.drain()


@contextmanager
def _heeding_signals() -> Generator[_Stop]:
    loop = asyncio.get_running_loop()
    whole = asyncio.current_task()
    assert whole is not None  # noqa: S101 -- a coroutine runs in a task
    stop = _Stop(whole=whole)
    signals = (signal.SIGINT, signal.SIGTERM)
    for number in signals:
        loop.add_signal_handler(number, stop)
    try:
        yield stop
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


async def _start_example(service: Service, url: str) -> None:
    data = "The machine that runs Midwatch feels slow. Is its load high, or is a disk nearly full?"
    session_id = await service.intake.submit(Alert(data=data, alert_type=None, author="example"))
    click.echo(
        f"""
Midwatch {__version__} is investigating an example alert about this machine. The model is scripted: its words were
written down beforehand. The tools, and what they read here, are real.

  what it found    curl {url}/api/v1/sessions/{session_id}
  step by step     curl {url}/api/v1/sessions/{session_id}/timeline
  another alert    curl -H 'Content-Type: application/json' -d '{{"data": "Is a disk full?"}}' {url}/api/v1/alerts
  health           curl {url}/health

Ctrl-C stops it.
"""
    )
