"""A replica's life as a process: socket first, then the rooms, then work until it is drained."""

import asyncio
import errno
import signal
import socket
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import structlog
import uvicorn
from fastapi import FastAPI

from midwatch import __version__
from midwatch.api.app import create_app
from midwatch.api.server import server_settings
from midwatch.cli.reach import is_reachable_only_here
from midwatch.cli.signals import heeding_signals, running_task
from midwatch.cli.surroundings import read_all_env
from midwatch.config.env import Network
from midwatch.config.load import Config, load_config
from midwatch.domain.errors import Misconfigured
from midwatch.kit.memory import settle_memory
from midwatch.kit.process import forbid_dumping
from midwatch.running import Service
from midwatch.telemetry.logs import configure_logs
from midwatch.wiring import Plan, open_service

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    config_dir: Path | None
    host: str | None
    port: int | None
    allow_hosts: tuple[str, ...]
    trusted_proxies: tuple[Network, ...]
    no_authentication: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    host: str
    port: int
    """0 takes any free port."""
    names: tuple[str, ...] = ()
    """Other names to answer to."""
    proxies: tuple[Network, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    url: str
    service: Service
    work: asyncio.Task[None]
    """Ends when the replica has drained."""


async def run_replica(options: Options, environ: Mapping[str, str]) -> None:
    """Returns once it was told to stop and has drained. Raises Misconfigured, StoreUnavailable, OSError."""
    forbid_dumping()
    env = read_all_env(options.config_dir, environ)
    configure_logs(env.log_level, env.log_format)
    config = _load(env.config_dir, environ)
    host = options.host or env.host
    _check_reach(host, no_authentication=options.no_authentication)
    address = Address(
        host=host,
        port=env.port if options.port is None else options.port,
        names=options.allow_hosts,
        proxies=options.trusted_proxies or env.trusted_proxies,
    )
    stop = _Stop(whole=running_task())
    with heeding_signals(stop):
        try:
            async with running_replica(Plan(config=config, env=env, environ=environ), address) as replica:
                stop.service = replica.service
                await asyncio.wait({replica.work})
        except asyncio.CancelledError:
            # A signal while starting: what had begun is closed again, and nothing was there to drain.
            if stop.service is not None:
                raise


@asynccontextmanager
async def running_replica(plan: Plan, address: Address) -> AsyncGenerator[Replica]:
    """Serves and works from here to the end of the block, which drains it. Raises StoreUnavailable and OSError."""
    with _listening(address.host, address.port) as listener:
        async with open_service(plan) as service:
            app = create_app(service.state, hosts=(address.host, *address.names), proxies=address.proxies)
            async with _http(app, listener), _working(service) as work:
                url = _url(listener)
                settle_memory()
                log.info("serving", version=__version__, url=url, pod_id=plan.env.pod_id)
                yield Replica(url=url, service=service, work=work)
            log.info("drained")


def _load(folder: Path | None, environ: Mapping[str, str]) -> Config:
    config = load_config(folder, environ=environ)
    for warning in config.warnings:
        log.warning("configuration", problem=warning)
    return config


def _check_reach(host: str, *, no_authentication: bool) -> None:
    if is_reachable_only_here(host):
        return
    if not no_authentication:
        problem = f"other machines can reach {host}, and nobody is asked who they are"
        raise Misconfigured([f"{problem}: listen on 127.0.0.1, or add --no-authentication if that is what you want"])
    log.warning("no_authentication", host=host)


@contextmanager
def _listening(host: str, port: int) -> Generator[socket.socket]:
    """Taken before anything is started: a port in use must cost nothing."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        raise _explain_listening(error, host, port) from error
    # Inherited by every connection. An answer is written in two pieces, and without this the second waits 40 ms for a
    # client that has nothing to say. asyncio only sees to it for sockets that it has made itself.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with listener:
        yield listener


class CannotListen(Misconfigured):
    """Somebody has to choose another address."""

    def __init__(self, words: str, number: int | None) -> None:
        super().__init__([words])
        self.is_taken = number == errno.EADDRINUSE


def _explain_listening(error: OSError, host: str, port: int) -> CannotListen:
    # Python adds the address to the kernel's words.
    reason = str(error.strerror).partition(" (")[0]
    hint = "; choose another with --port" if error.errno == errno.EADDRINUSE else ""
    return CannotListen(f"cannot listen on {host} port {port}: {reason}{hint}", error.errno)


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


@asynccontextmanager
async def _working(service: Service) -> AsyncGenerator[asyncio.Task[None]]:
    async with asyncio.TaskGroup() as group:
        yield group.create_task(service.run(), name="service")
        if not service.worker.is_stopping:
            service.drain()


class _Server(uvicorn.Server):
    """Leaves signals to us: the first drains, which takes longer than closing sockets."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


@dataclass(slots=True, kw_only=True)
class _Stop:
    """What a signal does: the first drains, once there is something to drain; any other ends everything at once."""

    whole: asyncio.Task[None]
    service: Service | None = None

    def __call__(self, _: signal.Signals) -> None:
        if self.service is None or self.service.worker.is_stopping:
            log.warning("stopping_at_once")
            self.whole.cancel()
            return
        log.info("draining", seconds=self.service.worker.drain_time)
        self.service.drain()
