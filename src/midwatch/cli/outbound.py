"""Where `midwatch ledger` reads: a server's API, or the database without any server."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast
from uuid import UUID

from midwatch.cli.live.server import Body, Server, connect_server
from midwatch.domain.errors import Conflict, Misconfigured, NotFound
from midwatch.store.engine import Store


class Sendings(Protocol):
    async def list_requests(self, session_id: UUID) -> list[Body]:
        """As the API tells them. Raises Rejected when there is no such session."""
        ...

    async def read_body(self, session_id: UUID, request_id: UUID) -> bytes:
        """Raises Rejected when it is not there, or was not proven."""
        ...


@asynccontextmanager
async def open_server_sendings(url: str) -> AsyncGenerator[Sendings]:
    async with connect_server(url) as server:
        yield _FromServer(server)


@asynccontextmanager
async def open_database_sendings(config_dir: Path | None, environ: Mapping[str, str]) -> AsyncGenerator[Sendings]:
    from midwatch.cli.surroundings import has_database, name_database, open_database, read_all_env
    from midwatch.store.engine import open_store
    from midwatch.store.migrate import upgrade_schema

    env = read_all_env(config_dir, environ)
    if not has_database(env):
        raise Misconfigured([f"there is no database yet ({name_database(env)}): investigate something first"])
    async with open_database(env) as dsn:
        await upgrade_schema(dsn)
        async with open_store(lambda: dsn, min_size=1, max_size=1) as store:
            yield _FromDatabase(store)


def render_body(body: bytes) -> str:
    """For a person: JSON as it is, and a message to an LLM service as JSON."""
    if body.startswith(b"{"):
        return body.decode("utf-8", "replace")
    from google.protobuf.json_format import MessageToJson
    from google.protobuf.message import DecodeError

    from midwatch.llm.grpc.messages import GenerateRequest

    try:
        request = GenerateRequest.FromString(body)
    except DecodeError:
        return body.decode("utf-8", "replace")
    return MessageToJson(request, preserving_proto_field_name=True, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class _FromServer:
    server: Server

    async def list_requests(self, session_id: UUID) -> list[Body]:
        return cast("list[Body]", (await self.server.show_outbound(str(session_id)))["requests"])

    async def read_body(self, session_id: UUID, request_id: UUID) -> bytes:
        return await self.server.read_outbound(str(session_id), str(request_id))


@dataclass(frozen=True, slots=True)
class _FromDatabase:
    store: Store

    async def list_requests(self, session_id: UUID) -> list[Body]:
        from midwatch.api.outbound_bodies import OutboundOut
        from midwatch.store.ledger import read_outbound, rebuild
        from midwatch.store.readings import session_exists

        async with self.store.connect() as tx:
            if not await session_exists(tx, session_id):
                raise NotFound("session", session_id)
            rows = await read_outbound(tx, session_id)
        rebuilt = await asyncio.to_thread(rebuild, rows)
        return [OutboundOut.from_outbound(each).model_dump(mode="json") for each in rebuilt]

    async def read_body(self, session_id: UUID, request_id: UUID) -> bytes:
        from midwatch.store.ledger import read_outbound, rebuild_one

        async with self.store.connect() as tx:
            rows = await read_outbound(tx, session_id)
        outbound = rebuild_one(rows, request_id)
        if outbound is None:
            raise NotFound("request", request_id)
        if outbound.body is None:
            raise Conflict("what is stored does not add up to what was sent: the hash differs")
        return outbound.body
