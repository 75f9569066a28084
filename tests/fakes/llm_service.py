"""An LLM service in this process, on a real port: what `midwatch llm-service` runs, for tests that look inside."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from midwatch.config.llm import Provider
from midwatch.llm.gateway import Gateway
from midwatch.llm.grpc.client import Service, connect
from midwatch.llm.grpc.server import Servicer, serve
from midwatch.llm.grpc.targets import Shelf, normalise_addresses

NO_WAITS = (0.0, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeService:
    address: str
    servicer: Servicer
    client: Service


@asynccontextmanager
async def serve_models(
    http: httpx.AsyncClient,
    *addresses: str,
    environ: Mapping[str, str],
    providers: Mapping[str, Provider] | None = None,
    token: str | None = None,
    backoff: Sequence[float] = NO_WAITS,
) -> AsyncGenerator[FakeService]:
    """Keys may be sent to `addresses`. Unless told otherwise nobody waits between two attempts."""
    gateway = Gateway(http=http, environ=environ, folder=Path(), backoff=backoff)
    shelf = Shelf(
        providers={} if providers is None else providers, environ=environ, addresses=normalise_addresses(addresses)
    )
    servicer = Servicer(gateway, shelf, token=token)
    async with serve(servicer, "127.0.0.1:0") as listening:
        address = f"127.0.0.1:{listening.port}"
        async with connect(address, environ={}, token=token, backoff=backoff) as client:
            yield FakeService(address=address, servicer=servicer, client=client)
