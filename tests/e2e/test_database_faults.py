"""A database that is restarted, gone, or hangs while sessions run."""

import asyncio
import shutil
import signal
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from uuid import UUID

import psutil
import pytest

from midwatch.domain.session import SessionStatus
from midwatch.store.embedded import EmbeddedPostgres, open_embedded_postgres
from midwatch.store.engine import open_store
from midwatch.store.postgres.cluster import make_cluster, read_access
from tests.fakes.openai_server import by_turn, hold_turn, serve
from tests.feed_reader import reading_feed
from tests.replicas import Replica, all_dead_soon, open_fleet
from tests.scenes import BRIEF, CONCLUSION, Scene, call, change, look, open_scene, write_config
from tests.waiting import eventually


@pytest.fixture
def home() -> Generator[Path]:
    """Not below pytest's own folder: when root runs the tests the server runs as another user, who must get in."""
    folder = Path(tempfile.mkdtemp(prefix="midwatch-faults-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@asynccontextmanager
async def kept_running(home: Path) -> AsyncGenerator[EmbeddedPostgres]:
    async with open_embedded_postgres(home) as server, asyncio.TaskGroup() as group:
        keeper = group.create_task(server.keep_running(), name="keeper")
        yield server
        keeper.cancel()


def read_postmaster(home: Path) -> psutil.Process:
    pid = (home / "postgres" / "data" / "postmaster.pid").read_text(encoding="utf-8").split()[0]
    return psutil.Process(int(pid))


async def test_sessions_outlive_a_database_that_is_restarted(home: Path, tmp_path: Path) -> None:
    turns = [turn for n in range(10) for turn in (look(f"a{n}", f"b{n}"), change(f"pump {n}"))]
    long, short = by_turn([*turns, CONCLUSION]), by_turn([CONCLUSION])
    async with (
        kept_running(home) as server,
        serve(lambda body: (short if "One more." in str(body) else long)(body), delay=0.1) as model,
        open_scene(tmp_path, model=model, dsn=server.read_dsn(), heartbeat_interval="10s") as scene,
    ):
        replicas = await scene.fleet.start("first", "second")
        session_id = await replicas[0].submit()
        clients = [Client(replica, session_id) for replica in replicas]
        async with reading_feed(scene.store, session_id) as feed:
            async with asyncio.TaskGroup() as group:
                for client in clients:
                    group.create_task(client.ask_until(lambda: bool(feed.endings)))
                for turn in (4, 11):
                    await scene.asked(turn)
                    read_postmaster(home).send_signal(signal.SIGQUIT)
            await feed.check_whole()
            feed.check_streams_closed()
        session = await scene.session(session_id)
        assert (session["status"], session["epoch"]) == ("completed", 1)
        assert [len(scene.effects("restart", name=f"pump {n}")) for n in range(10)] == [1] * 10
        assert [len(scene.effects("lookup", key=f"a{n}")) for n in range(10)] == [1] * 10
        await scene.check_dispatches(session_id)
        assert {status for client in clients for status in client.statuses} == {200, 202, 503}
        await _check_every_alert_ended(scene, accepted={id_ for client in clients for id_ in client.accepted})


class Client:
    """Asks all the time, and keeps what it was told."""

    def __init__(self, replica: Replica, session_id: UUID) -> None:
        self.statuses = set[int]()
        self.accepted = set[UUID]()
        self._http = replica.http
        self._paths = (f"/api/v1/sessions/{session_id}", f"/api/v1/sessions/{session_id}/timeline", "/health")
        self._rounds = 0

    async def ask_until(self, is_over: Callable[[], bool]) -> None:
        async def ask() -> bool:
            self._rounds += 1
            if self._rounds % 8 == 1:
                await self._submit()
            self.statuses |= {(await self._http.get(path)).status_code for path in self._paths}
            return is_over()

        await eventually(ask, within=60)

    async def _submit(self) -> None:
        answer = await self._http.post("/api/v1/alerts", json={"data": "One more."})
        self.statuses.add(answer.status_code)
        if answer.status_code == 202:
            self.accepted.add(UUID(answer.json()["session_id"]))


async def _check_every_alert_ended(scene: Scene, *, accepted: set[UUID]) -> None:
    """Those that were accepted, and those whose sender was told to try again although they had been stored."""
    assert accepted
    stored = {row["session_id"] for row in await scene.fetch("SELECT session_id FROM alert_sessions")}
    assert accepted <= stored
    assert {await scene.ended(session_id) for session_id in stored} == {SessionStatus.COMPLETED}


async def test_a_database_that_is_gone_for_longer_than_the_lease_loses_no_session(home: Path, tmp_path: Path) -> None:
    release = asyncio.Event()
    hold = tmp_path / "hold"
    hold.touch()
    reading, writing = by_turn([look("pump"), CONCLUSION]), by_turn([call("slow_write", name="x", hold=str(hold))])
    async with (
        serve(
            lambda body: (writing if "Write." in str(body) else reading)(body),
            before_turn=hold_turn(1, release=release),
        ) as model,
        AsyncExitStack() as database,
    ):
        server = await database.enter_async_context(open_embedded_postgres(home))
        async with open_scene(tmp_path, model=model, dsn=server.read_dsn(), heartbeat_interval=BRIEF) as scene:
            (replica,) = await scene.fleet.start("only")
            sessions = [await replica.submit("Read."), await replica.submit("Write.")]
            await scene.asked(1)
            await eventually(lambda: scene.effects("slow_write"))
            async with AsyncExitStack() as feeds:
                readers = [await feeds.enter_async_context(reading_feed(scene.store, id_)) for id_ in sessions]
                await database.aclose()
                await eventually(lambda: _answers(replica, "/health", 503))
                await eventually(lambda: _answers(replica, f"/api/v1/sessions/{sessions[0]}", 503))
                # Both runs have stopped themselves: one let go of its model, the other of its tool server.
                await eventually(lambda: len(replica.logged("lease_lost")) == 2)
                await model.disconnected.wait()
                await database.enter_async_context(open_embedded_postgres(home))
                await eventually(lambda: _answers(replica, "/health", 200))
                await scene.asked(1, times=3)
                release.set()
                for session_id, feed in zip(sessions, readers, strict=True):
                    assert await scene.ended(session_id) is SessionStatus.COMPLETED
                    await feed.check_whole()
                    feed.check_streams_closed()
                    await scene.check_dispatches(session_id)
            assert [row["state"] for row in await scene.calls(sessions[1])] == ["unknown"]
            assert len(scene.effects("lookup")) == 1


async def _answers(replica: Replica, path: str, status: int) -> bool:
    return (await replica.http.get(path)).status_code == status


async def test_a_run_stops_itself_while_the_database_hangs(home: Path, tmp_path: Path) -> None:
    release = asyncio.Event()
    async with (
        open_embedded_postgres(home) as server,
        serve(by_turn([look("pump"), CONCLUSION]), before_turn=hold_turn(1, release=release)) as model,
        open_scene(tmp_path, model=model, dsn=server.read_dsn(), heartbeat_interval=BRIEF) as scene,
    ):
        (replica,) = await scene.fleet.start("only")
        session_id = await replica.submit()
        await scene.asked(1)
        with frozen_server(home):
            async with asyncio.timeout(60):
                await model.disconnected.wait()
        release.set()
        assert await scene.ended(session_id) is SessionStatus.COMPLETED
        assert len(scene.effects("lookup")) == 1


@contextmanager
def frozen_server(home: Path) -> Generator[None]:
    """A database that neither answers nor hangs up."""
    postmaster = read_postmaster(home)
    processes = [postmaster, *postmaster.children(recursive=True)]
    for process in processes:
        process.suspend()
    try:
        yield
    finally:
        for process in processes:
            process.resume()


async def test_the_survivor_starts_the_shared_database_again(home: Path, tmp_path: Path) -> None:
    release = asyncio.Event()
    cluster = make_cluster(home)

    def read_dsn() -> str:
        access = read_access(cluster)
        assert access is not None
        return access.dsn

    turns = by_turn([change("pump"), look("pump"), CONCLUSION])
    async with serve(turns, before_turn=hold_turn(2, release=release)) as model:
        write_config(tmp_path, base_url=model.base_url)
        async with open_fleet(tmp_path, config_dir=tmp_path, environ={"MIDWATCH_HOME": str(home)}) as fleet:
            (starter,) = await fleet.start("starter")
            (survivor,) = await fleet.start("survivor")
            async with open_store(read_dsn) as store:
                scene = Scene(folder=tmp_path, model=model, store=store, fleet=fleet)
                session_id = await starter.submit()
                async with reading_feed(store, session_id) as feed:
                    await scene.asked(2)
                    await starter.kill()
                    release.set()
                    await eventually(lambda: survivor.logged("embedded_postgres_started"))
                    assert await eventually(lambda: feed.endings, within=60) == [SessionStatus.COMPLETED]
                    await feed.check_whole()
                    feed.check_streams_closed()
                assert len(scene.effects("restart")) == len(scene.effects("lookup")) == 1
                await scene.check_dispatches(session_id)
            left = [read_postmaster(home), *survivor.children()]
            survivor.process.send_signal(signal.SIGTERM)
            assert await survivor.exit_status() == 0
            assert all_dead_soon(left)
