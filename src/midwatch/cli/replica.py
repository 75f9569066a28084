"""A replica's life as a process: socket first, then the rooms, then signals until it is drained."""

import asyncio
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
from midwatch.config.dotenv import with_dotenv
from midwatch.config.env import Env, read_env
from midwatch.config.load import Config, load_config
from midwatch.domain.errors import Misconfigured
from midwatch.intake.submit_alert import Alert
from midwatch.kit.process import forbid_dumping
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
    no_authentication: bool


async def run_replica(options: Options, environ: Mapping[str, str]) -> None:
    """Returns after draining. Raises Misconfigured, StoreUnavailable, OSError."""
    forbid_dumping()
    early = read_env(environ)
    folder = options.config_dir or early.config_dir
    if folder is None:
        raise Misconfigured(["no configuration: give --config-dir DIR or set CONFIG_DIR, or try --example"])
    env = read_env(with_dotenv(folder, environ))
    configure_logs(env.log_level, env.log_format)
    config = _load(folder, environ, example=options.example)
    host = options.host or env.host
    _check_reach(host, no_authentication=options.no_authentication)
    with _listening(host, env.port if options.port is None else options.port) as listener:
        async with open_service(Plan(config=config, env=env, environ=environ)) as service:
            await _serve(service, listener, hosts=(host, *options.allow_hosts), env=env, example=options.example)


def _load(folder: Path, environ: Mapping[str, str], *, example: bool) -> Config:
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
        raise Misconfigured(
            [f"others can reach {host} and nobody is asked who they are: add --no-authentication if you mean it"]
        )
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
        raise OSError(f"cannot listen on {host}:{port}: {error.strerror}; choose another with --port") from error
    with listener:
        yield listener


async def _serve(service: Service, listener: socket.socket, *, hosts: tuple[str, ...], env: Env, example: bool) -> None:
    address, port = listener.getsockname()[:2]
    async with _http(create_app(service.state, hosts=hosts), listener), _draining_on_signals(service):
        log.info("serving", version=__version__, url=f"http://{address}:{port}", pod_id=env.pod_id)
        if example:
            await _start_example(service, f"http://localhost:{port}")
        await service.run()
    log.info("drained")


@asynccontextmanager
async def _http(app: FastAPI, listener: socket.socket) -> AsyncGenerator[None]:
    server = _Server(
        uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=5,
            server_header=False,
        )
    )
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


@asynccontextmanager
async def _draining_on_signals(service: Service) -> AsyncGenerator[None]:
    loop = asyncio.get_running_loop()
    whole = asyncio.current_task()

    def stop() -> None:
        if service.worker.is_stopping and whole is not None:
            log.warning("stopping_at_once")
            whole.cancel()
            return
        log.info("draining", seconds=service.worker.drain_time)
        service.worker.drain()

    signals = (signal.SIGINT, signal.SIGTERM)
    for number in signals:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


async def _start_example(service: Service, url: str) -> None:
    data = "The machine that runs Midwatch feels slow. Is its load high, or is a disk nearly full?"
    session_id = await service.intake.submit(Alert(data=data, alert_type=None, author="example"))
    click.echo(
        f"""
Midwatch {__version__} is looking at this machine with a scripted model: the turns are written down beforehand, the
tools and what they read are real.

  the investigation   curl {url}/api/v1/sessions/{session_id}
  step by step        curl {url}/api/v1/sessions/{session_id}/timeline
  one more            curl -H 'Content-Type: application/json' -d '{{"data": "Is the disk full?"}}' {url}/api/v1/alerts
  health              curl {url}/health

Ctrl-C stops it.
"""
    )
