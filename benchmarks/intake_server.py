"""Two servers that take alerts, each run as a process of its own: ours, and a route that only inserts the same rows."""

import argparse
import asyncio
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from uuid import UUID

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from midwatch.api.app import create_app
from midwatch.api.server import server_settings
from midwatch.config.env import read_env
from midwatch.config.load import load_config
from midwatch.kit.ids import new_id
from midwatch.store.engine import open_store
from midwatch.store.sessions import NewSession, insert_session
from midwatch.telemetry.logs import configure_logs
from midwatch.wiring import Plan, open_service


class _AlertIn(BaseModel):
    data: str
    alert_type: str | None = None


class _Accepted(BaseModel):
    session_id: UUID
    status: str = "queued"
    message: str = "Alert accepted"


@asynccontextmanager
async def _open_ours(config_folder: Path, dsn: str) -> AsyncGenerator[FastAPI]:
    """A replica without workers: everything that an accepted alert costs, and nothing that an investigation does."""
    env = read_env({"DATABASE_URL": dsn, "MIDWATCH_HOME": str(config_folder)})
    plan = Plan(config=load_config(config_folder, environ={}), env=env, environ=os.environ)
    async with open_service(plan) as service, asyncio.TaskGroup() as group:
        telling = [group.create_task(service.flusher.run()), group.create_task(service.intake.waker.run(service.store))]
        yield create_app(service.state)
        for task in telling:
            task.cancel()


@asynccontextmanager
async def _open_floor(config_folder: Path, dsn: str) -> AsyncGenerator[FastAPI]:
    chains = load_config(config_folder, environ={}).chains
    stored = {chain.alert_types[0]: chain.model_dump(mode="json") for chain in chains.values()}
    app = FastAPI(docs_url=None, redoc_url=None)
    async with open_store(lambda: dsn) as store:

        async def take(alert: _AlertIn) -> _Accepted:
            alert_type = alert.alert_type or ""
            new = NewSession(
                session_id=new_id(),
                alert_type=alert_type,
                alert_data=alert.data,
                chain_id=alert_type,
                chain=stored[alert_type],
                author="api-client",
            )
            async with store.connect() as tx:
                await insert_session(tx, new)
            return _Accepted(session_id=new.session_id)

        app.post("/api/v1/alerts", status_code=202)(take)
        yield app


async def _serve(opening: AbstractAsyncContextManager[FastAPI]) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        async with opening as app:
            print(listener.getsockname()[1], flush=True)  # noqa: T201 -- how whoever started it learns the port
            await uvicorn.Server(server_settings(app)).serve(sockets=[listener])


def _main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("which", choices=["ours", "floor"])
    parser.add_argument("config_folder", type=Path)
    arguments = parser.parse_args()
    configure_logs("warning", "text")
    open_app = _open_ours if arguments.which == "ours" else _open_floor
    asyncio.run(_serve(open_app(arguments.config_folder, os.environ["DATABASE_URL"])))


if __name__ == "__main__":
    _main()
