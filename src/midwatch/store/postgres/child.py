"""Running a PostgreSQL program as a child that dies with us, under the account of the cluster."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL, Signals
from typing import IO

from midwatch.domain.errors import StoreUnavailable
from midwatch.store.postgres import tether
from midwatch.store.postgres.cluster import (
    Account,
    Cluster,
    check_reachable,
    check_version,
    choose_account,
    has_data,
    remove_unfinished,
)
from midwatch.store.postgres.programs import find_programs


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """With what, for whom and where the programs run."""

    cluster: Cluster
    account: Account
    programs: Path


async def prepare_setup(cluster: Cluster) -> Setup:
    account = choose_account(cluster)
    check_reachable(cluster, account)
    await asyncio.to_thread(remove_unfinished, cluster)
    if has_data(cluster):
        check_version(cluster)
    programs = await asyncio.to_thread(find_programs, cluster, account)
    return Setup(cluster=cluster, account=account, programs=programs)


async def run(setup: Setup, command: Sequence[str], *, stdin: bytes = b"") -> None:
    process = await spawn(setup, command, signal=SIGKILL, stdin=PIPE, stdout=PIPE)
    try:
        output, _ = await process.communicate(stdin)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        end = "\n".join(output.decode(errors="replace").splitlines()[-15:])
        raise StoreUnavailable(f"PostgreSQL's {command[0]} failed with status {process.returncode}:\n{end}")


async def spawn(
    setup: Setup, command: Sequence[str], *, signal: Signals, stdin: int, stdout: int | IO[bytes]
) -> Process:
    """Must run in the thread of the event loop: the kernel sends `signal` when the starting *thread* ends."""
    program, *arguments = command
    account = setup.account
    starter = [str(number) for number in (int(signal), os.getpid(), account.uid, account.gid)]
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", tether.__file__, *starter, str(setup.programs / program), *arguments),
        stdin=stdin,
        stdout=stdout,
        stderr=STDOUT,
        cwd=setup.cluster.folder,
        env=_environment(),
        # Ctrl-C reaches the whole process group, and the server must outlive the drain.
        start_new_session=True,
    )


def _environment() -> dict[str, str]:
    """Not ours: it holds keys, and the account that runs the server may run other things."""
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    return {**kept, "LC_ALL": "C", "TZ": "UTC"}
