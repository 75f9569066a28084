"""The only programs this server runs: a table of fixed commands that read. No shell, a time limit, bounded output."""

import os
import selectors
import shutil
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from midwatch.bundled.host.bounds import show_message

_SYSTEM_FOLDERS = "/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin:/run/current-system/sw/bin"
_ENVIRONMENT = {"LC_ALL": "C", "TZ": "UTC", "SYSTEMD_COLORS": "0", "SYSTEMD_PAGER": "", "PATH": _SYSTEM_FOLDERS}
_MAX_BYTES = 8 * 1024 * 1024
_MAX_COMPLAINT = 200
_CHUNK = 65536

Command = Literal["list_services", "read_journal"]

_SERVICE_PROPERTIES = (
    "Id,Description,LoadState,ActiveState,SubState,Result,MainPID,ExecMainCode,ExecMainStatus,NRestarts,"
    "StateChangeTimestamp,FragmentPath"
)
TABLE: Mapping[Command, tuple[str, ...]] = {
    "list_services": (
        "systemctl",
        "show",
        "--no-pager",
        f"--property={_SERVICE_PROPERTIES}",
        "*.service",
    ),
    "read_journal": (
        "journalctl",
        "--no-pager",
        "--output=json",
        "--output-fields=MESSAGE,PRIORITY,_SYSTEMD_UNIT,UNIT,SYSLOG_IDENTIFIER,_TRANSPORT",
        "--reverse",
    ),
}
OPTIONS: Mapping[Command, frozenset[str]] = {
    "list_services": frozenset(),
    "read_journal": frozenset({"--lines", "--since", "--unit", "--priority"}),
}
_NO_OPTIONS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    text: str
    complaint: str
    """What it wrote on stderr, clipped."""
    succeeded: bool
    complete: bool
    """It ended by itself, in time, and nothing was cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    folders: str = _SYSTEM_FOLDERS
    seconds: float = 8.0

    def run(self, command: Command, options: Mapping[str, str] = _NO_OPTIONS) -> Output | None:
        """None when the program is not installed. `options` are those that the table allows for the command."""
        name, *fixed = TABLE[command]
        program = shutil.which(name, path=self.folders)
        if program is None:
            return None
        if not options.keys() <= OPTIONS[command]:
            raise ValueError(f"{command} takes no {sorted(options.keys() - OPTIONS[command])}")
        values = [f"{option}={value}" for option, value in options.items()]
        return _run([program, *fixed, *values], seconds=self.seconds)


def _run(arguments: list[str], *, seconds: float) -> Output:
    deadline = time.monotonic() + seconds
    with subprocess.Popen(  # noqa: S603 - from the table above, without a shell
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_ENVIRONMENT,
        cwd="/",
    ) as child:
        try:
            said, complained, complete = _collect(child, deadline)
            succeeded = complete and child.wait(timeout=max(deadline - time.monotonic(), 0.1)) == 0
        except subprocess.TimeoutExpired:
            said, complained, complete, succeeded = b"", b"", False, False
        finally:
            # It has said enough, or took too long; one that has ended is not hit.
            child.kill()
    return Output(
        text=said.decode(errors="replace"),
        complaint=show_message(complained.decode(errors="replace").strip(), _MAX_COMPLAINT),
        succeeded=succeeded,
        complete=complete,
    )


def _collect(child: "subprocess.Popen[bytes]", deadline: float) -> tuple[bytes, bytes, bool]:
    """What it says and complains until it closes both, the bound is reached, or time is up."""
    streams = [child.stdout, child.stderr]
    heard = [bytearray(), bytearray()]
    with selectors.DefaultSelector() as selector:
        for number, stream in enumerate(streams):
            if stream is not None:
                selector.register(stream, selectors.EVENT_READ, number)
        while selector.get_map():
            remaining = deadline - time.monotonic()
            if remaining <= 0 or sum(map(len, heard)) > _MAX_BYTES:
                return bytes(heard[0]), bytes(heard[1]), False
            for key, _ in selector.select(remaining):
                chunk = os.read(key.fd, _CHUNK)
                heard[key.data] += chunk
                if not chunk:
                    selector.unregister(key.fileobj)
    return bytes(heard[0]), bytes(heard[1]), True
