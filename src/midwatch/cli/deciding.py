"""Where `midwatch approvals` and `midwatch stop` decide: at a server, by the approver's secret, or in the database."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from uuid import UUID

from midwatch.cli.attempt import name_user
from midwatch.cli.live.server import Body, Secret, Server, connect_server
from midwatch.domain.errors import Misconfigured, NotFound
from midwatch.store.engine import Store
from midwatch.timeline.flush import Flusher

_SOMEBODY = "approver"


class Deciding(Protocol):
    async def list_approvals(self, state: str | None) -> list[Body]:
        """As the API tells them."""
        ...

    async def show_approval(self, approval_id: UUID) -> Body:
        """Raises Rejected when there is none."""
        ...

    async def decide(self, approval_id: UUID, *, is_approved: bool, reason: str) -> Body:
        """Raises Rejected when there is none, or it is no longer open."""
        ...

    async def show_stop(self) -> Body: ...

    async def stop_changes(self, reason: str) -> Body: ...

    async def allow_changes(self, reason: str) -> Body:
        """Raises Rejected when nothing was stopped."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """What the user says of where to decide."""

    server: str | None
    config_dir: Path | None
    token_file: Path | None
    environ: Mapping[str, str] = field(repr=False)


@asynccontextmanager
async def open_deciding(where: Where) -> AsyncGenerator[Deciding]:
    if where.server is None:
        async with _open_database(where) as deciding:
            yield deciding
        return
    async with connect_server(where.server) as server:
        yield _AtServer(server, where)


@asynccontextmanager
async def _open_database(where: Where) -> AsyncGenerator[Deciding]:
    from midwatch.cli.surroundings import has_database, name_database, open_database, read_all_env
    from midwatch.store.engine import open_store
    from midwatch.store.migrate import upgrade_schema

    env = read_all_env(where.config_dir, where.environ)
    if not has_database(env):
        raise Misconfigured([f"there is no database yet ({name_database(env)}): investigate something first"])
    async with open_database(env) as dsn:
        await upgrade_schema(dsn)
        async with open_store(lambda: dsn, min_size=1, max_size=2) as store:
            flusher = Flusher(store)
            yield _InDatabase(store, flusher)
            # Whoever watches hears of it from here: nothing of ours goes on running.
            await flusher.flush()


def read_secret(where: Where) -> Secret:
    """Raises Misconfigured when there is none to be read."""
    from midwatch.cli.approver_secret import read_approver_secret
    from midwatch.cli.surroundings import read_all_env
    from midwatch.config.approver import FILE_NAME

    path = where.token_file or read_all_env(where.config_dir, where.environ).home / FILE_NAME
    return read_approver_secret(path, user=name_user())


@dataclass(frozen=True, slots=True)
class _AtServer:
    server: Server
    where: Where

    async def list_approvals(self, state: str | None) -> list[Body]:
        return await self.server.list_approvals(state)

    async def show_approval(self, approval_id: UUID) -> Body:
        return await self.server.show_approval(str(approval_id))

    async def decide(self, approval_id: UUID, *, is_approved: bool, reason: str) -> Body:
        secret = read_secret(self.where)
        return await self.server.decide(str(approval_id), is_approved=is_approved, reason=reason, secret=secret)

    async def show_stop(self) -> Body:
        return await self.server.show_stop()

    async def stop_changes(self, reason: str) -> Body:
        return await self.server.stop_changes(reason, secret=read_secret(self.where))

    async def allow_changes(self, reason: str) -> Body:
        return await self.server.allow_changes(reason, secret=read_secret(self.where))


@dataclass(frozen=True, slots=True)
class _InDatabase:
    """Whoever can write there needs no secret."""

    store: Store
    flusher: Flusher

    async def list_approvals(self, state: str | None) -> list[Body]:
        from midwatch.api.routes.approvals import list_all_approvals
        from midwatch.safety.approvals import ApprovalState

        listed = await list_all_approvals(self.store, ApprovalState(state) if state else None)
        return [approval.model_dump(mode="json") for approval in listed.approvals]

    async def show_approval(self, approval_id: UUID) -> Body:
        from midwatch.api.approval_bodies import ApprovalOut
        from midwatch.store.approvals import read_approval

        async with self.store.connect() as tx:
            row = await read_approval(tx, approval_id)
        if row is None:
            raise NotFound("approval", approval_id)
        return ApprovalOut.from_row(row).model_dump(mode="json")

    async def decide(self, approval_id: UUID, *, is_approved: bool, reason: str) -> Body:
        from midwatch.intake.decide_approval import Decision, decide_approval

        decision = Decision(is_approved=is_approved, by=name_user() or _SOMEBODY, reason=reason)
        await decide_approval(self.store, self.flusher, approval_id, decision)
        return await self.show_approval(approval_id)

    async def show_stop(self) -> Body:
        from midwatch.api.routes.stops import show_stop

        return (await show_stop(self.store)).model_dump(mode="json", exclude_unset=True)

    async def stop_changes(self, reason: str) -> Body:
        from midwatch.intake.stop_changes import StopOrder, stop_changes

        declared = await stop_changes(self.store, self.flusher, StopOrder(by=name_user() or _SOMEBODY, reason=reason))
        return await self.show_stop() | {"cancelled_calls": [str(call_id) for _, call_id in declared.calls]}

    async def allow_changes(self, reason: str) -> Body:
        from midwatch.intake.stop_changes import StopOrder, allow_changes

        await allow_changes(self.store, self.flusher, StopOrder(by=name_user() or _SOMEBODY, reason=reason))
        return await self.show_stop()
