"""The queue and the replicas: does something wait, why, and is anybody there to take it?"""

import asyncio
from collections.abc import Iterator
from datetime import timedelta

from midwatch.cli.checks.finding import Finding, doubtful, fine
from midwatch.cli.surroundings import has_database, open_database
from midwatch.config.env import Env
from midwatch.config.queue import Queue
from midwatch.domain.errors import MidwatchError
from midwatch.queue.standing import explain_queue
from midwatch.store.engine import open_store
from midwatch.store.migrate import inspect_database
from midwatch.store.queues import QueueReading, read_queue
from midwatch.store.replicas import LiveReplica

_SERVE = "midwatch serve"


async def check_queue(env: Env, settings: Queue, *, patience: float) -> list[Finding]:
    """A database that cannot be asked is a finding of its own, elsewhere."""
    try:
        if not has_database(env):
            return []
        async with asyncio.timeout(patience):
            queue = await _read(env)
    except (MidwatchError, TimeoutError):
        return []
    return [] if queue is None else list(judge_queue(queue, settings))


async def _read(env: Env) -> QueueReading | None:
    async with open_database(env) as dsn:
        if not (await inspect_database(dsn)).schema.is_current:
            return None
        async with open_store(lambda: dsn, min_size=1, max_size=1) as store, store.connect() as tx:
            return await read_queue(tx)


def judge_queue(queue: QueueReading, settings: Queue) -> Iterator[Finding]:
    yield _judge_replicas(queue)
    yield _judge_depth(queue, settings)
    left = queue.alerts.left_behind + queue.chats.left_behind
    if left:
        told = (
            f"{left} past {'its' if left == 1 else 'their'} expiry: the replica is gone, and nobody has taken over yet"
        )
        yield doubtful("leases", told, remedy=None if queue.open_replicas else _SERVE)
    unreadable = queue.alerts.unreadable + queue.chats.unreadable
    if unreadable:
        runs = "1 run was" if unreadable == 1 else f"{unreadable} runs were"
        yield doubtful("versions", f"{runs} written by a newer version, of which no replica is alive")


def _judge_replicas(queue: QueueReading) -> Finding:
    if not queue.replicas:
        return fine("replicas", "none is running")
    return fine("replicas", f"{len(queue.replicas)} alive: {'; '.join(map(_describe, queue.replicas))}")


def _describe(replica: LiveReplica) -> str:
    slots = f"{replica.busy_slots} of {replica.slots} slots busy"
    chats = f"{replica.busy_chat_slots} of {replica.chat_slots} for questions"
    return f"{replica.pod_id} ({replica.version}{', draining' if replica.is_draining else ''}): {slots}, {chats}"


def _judge_depth(queue: QueueReading, settings: Queue) -> Finding:
    cap = settings.max_concurrent_sessions
    runs = f"{queue.alerts.running} of {cap} run"
    if queue.chats.waiting:
        runs = f"{runs}, {queue.chats.waiting} questions wait"
    line = queue.alerts
    if not line.waiting:
        return fine("queue", f"nothing waits, {runs}")
    waits = "1 session waits" if line.waiting == 1 else f"{line.waiting} sessions wait"
    told = f"{waits}, the first for {_say(line.oldest)}; {explain_queue(queue, cap=cap)}; {runs}"
    if not queue.open_replicas:
        return doubtful("queue", told, remedy=_SERVE)
    if line.waiting >= settings.warn_depth:
        return doubtful("queue", f"{told}; queue.warn_depth is {settings.warn_depth}")
    return fine("queue", told)


def _say(span: timedelta | None) -> str:
    seconds = 0 if span is None else max(int(span.total_seconds()), 0)
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min"  # noqa: PLR2004 -- two minutes
