"""The LLM service's life as a process: its keys and limits first, then the socket, then calls until it is drained."""

import asyncio
import signal
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import grpc
import structlog

from midwatch import __version__
from midwatch.cli.reach import is_reachable_only_here
from midwatch.cli.signals import heeding_signals, running_task
from midwatch.config import builtins
from midwatch.config.dotenv import with_dotenv
from midwatch.config.env import read_env, read_port
from midwatch.config.load import load_providers
from midwatch.domain.errors import Misconfigured
from midwatch.kit.process import forbid_dumping
from midwatch.llm.gateway import Gateway
from midwatch.llm.grpc.server import Listening, Servicer, serve
from midwatch.llm.grpc.targets import Shelf, normalise_addresses
from midwatch.llm.http import new_http_client
from midwatch.telemetry.logs import configure_logs

_HOST, _PORT = "127.0.0.1", 50051
_DRAIN_SECONDS = 300.0
"""As long as a call may take."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    config_dir: Path | None
    host: str | None
    port: int | None
    addresses: tuple[str, ...]
    tls_cert: Path | None
    tls_key: Path | None
    token_env: str | None
    no_authentication: bool


async def run_llm_service(options: Options, environ: Mapping[str, str]) -> None:
    """Returns once it was told to stop and has drained. Raises Misconfigured, OSError."""
    forbid_dumping()
    folder = options.config_dir or read_env(environ).config_dir
    env = read_env(environ if folder is None else with_dotenv(folder, environ))
    configure_logs(env.log_level, env.log_format)
    shelf = _stock(folder, environ, addresses=options.addresses)
    host = options.host or shelf.environ.get("LLM_SERVICE_HOST") or _HOST
    port = read_port(shelf.environ, "LLM_SERVICE_PORT", default=_PORT) if options.port is None else options.port
    token = _read_token(options.token_env, shelf.environ)
    _check_reach(host, has_token=token is not None, no_authentication=options.no_authentication)
    credentials = _read_credentials(options)
    stop = _Stop(whole=running_task())
    with heeding_signals(stop):
        async with new_http_client() as http:
            gateway = Gateway(http=http, environ=shelf.environ, folder=folder or Path())
            servicer = Servicer(gateway, shelf, token=token)
            async with gateway.closing, serve(servicer, _join(host, port), credentials=credentials) as listening:
                log.info("serving_models", version=__version__, host=host, port=listening.port)
                await stop.wait(listening)
                log.info("drained")


def _stock(folder: Path | None, environ: Mapping[str, str], *, addresses: tuple[str, ...]) -> Shelf:
    allowed = normalise_addresses(addresses)
    if folder is None:
        return Shelf(providers=builtins.PROVIDERS, environ=environ, addresses=allowed)
    providers, full_environ = load_providers(folder, environ=environ)
    return Shelf(providers={**builtins.PROVIDERS, **providers}, environ=full_environ, addresses=allowed)


def _read_token(variable: str | None, environ: Mapping[str, str]) -> str | None:
    if variable is None:
        return None
    if not environ.get(variable):
        raise Misconfigured([f"--token-env: variable {variable} is not set"])
    return environ[variable].strip()


def _check_reach(host: str, *, has_token: bool, no_authentication: bool) -> None:
    if has_token or is_reachable_only_here(host):
        return
    if not no_authentication:
        problem = f"other machines can reach {host}, and would use your keys"
        remedy = "ask for a token with --token-env NAME, or add --no-authentication if that is what you want"
        raise Misconfigured([f"{problem}: {remedy}"])
    log.warning("no_authentication", host=host)


def _read_credentials(options: Options) -> grpc.ServerCredentials | None:
    if options.tls_cert is None and options.tls_key is None:
        return None
    if options.tls_cert is None or options.tls_key is None:
        raise Misconfigured(["--tls-cert and --tls-key go together"])
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(options.tls_cert, options.tls_key)
    except OSError as error:
        told = f"{options.tls_cert} and {options.tls_key} are no certificate in PEM and its key"
        raise Misconfigured([f"--tls-cert, --tls-key: {told}"]) from error
    return grpc.ssl_server_credentials([(options.tls_key.read_bytes(), options.tls_cert.read_bytes())])


def _join(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class _Stop:
    """What a signal does: the first drains; any other, or one before there is anything to drain, ends it at once."""

    def __init__(self, *, whole: asyncio.Task[None]) -> None:
        self._whole = whole
        self._asked = asyncio.Event()

    def __call__(self, _: signal.Signals) -> None:
        if self._asked.is_set():
            log.warning("stopping_at_once")
            self._whole.cancel()
            return
        self._asked.set()

    async def wait(self, listening: Listening) -> None:
        await self._asked.wait()
        log.info("draining", seconds=_DRAIN_SECONDS)
        await listening.drain(_DRAIN_SECONDS)
