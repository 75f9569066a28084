"""Where replicas come from: a process that has loaded the program and forks for each of them.

Loading is most of what a start costs. What comes out is `midwatch serve` as ever: a process and a session of its own,
with its own arguments, environment, log and network.
"""

import ctypes
import json
import os
import selectors
import signal
import sys
from contextlib import suppress
from typing import Any

import midwatch.cli.group
import midwatch.cli.replica
import midwatch.cli.serve
import midwatch.investigation.session
from midwatch.cli.main import main

_LOADED = (midwatch.cli.group, midwatch.cli.replica, midwatch.cli.serve, midwatch.investigation.session)
"""Not before a command asks for them, otherwise."""
_CLONE_NEWNET = 0x40000000


def bear(wanted: dict[str, Any]) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        log = os.open(wanted["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        nothing = os.open(os.devnull, os.O_RDWR)
        for mine, theirs in ((nothing, 0), (nothing, 1), (log, 2)):
            os.dup2(mine, theirs)
        os.closerange(3, 256)
        if wanted["space"]:
            _enter(wanted["space"])
        os.environ.clear()
        os.environ.update(wanted["environ"])
        sys.argv = wanted["command"]
        sys.stdin, sys.stdout = open(0), open(1, "w")  # noqa: SIM115 - for as long as the process lives
        sys.stderr = open(2, "w", buffering=1)  # noqa: SIM115 - as above
        _run()
    finally:
        os._exit(70)


def _run() -> None:
    status: object = 0
    try:
        main()
    except SystemExit as end:
        status = end.code
    sys.stderr.flush()
    os._exit(status if isinstance(status, int) else int(status is not None))


def _enter(space: str) -> None:
    handle = os.open(space, os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(handle, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), f"cannot enter {space}")
    os.close(handle)


def tell(**news: int) -> None:
    os.write(1, json.dumps(news).encode() + b"\n")


def serve() -> None:
    """One line in, one life. Ends with its input, and takes all lives with it."""
    selector = selectors.DefaultSelector()
    selector.register(0, selectors.EVENT_READ)
    lives: dict[int, int] = {}
    text = b""
    while True:
        for key, _ in selector.select():
            if key.fd != 0:
                pid = lives.pop(key.fd)
                selector.unregister(key.fd)
                os.close(key.fd)
                tell(died=pid, status=os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
                continue
            read = os.read(0, 65536)
            if not read:
                for pid in lives.values():
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                return
            *lines, text = (text + read).split(b"\n")
            for line in lines:
                pid = bear(json.loads(line))
                handle = os.pidfd_open(pid)
                lives[handle] = pid
                selector.register(handle, selectors.EVENT_READ)
                tell(born=pid)


if __name__ == "__main__":
    tell(born=0)
    serve()
