"""The files of one embedded PostgreSQL: where they lie, who owns them, who may start the server.

home/postgres/data       the data folder, of the account that runs the server
home/postgres/dsn        how to connect, for every process of the user that owns the home
home/postgres/lock       held by the process that runs the server
home/postgres/log        what the server said
home/postgres/bin-*      the programs, when the account cannot reach the installed ones
"""

import fcntl
import os
import pwd
import shutil
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from midwatch.domain.errors import Misconfigured

MAJOR_VERSION = 18
ROLE = "midwatch"
DATABASE = "midwatch"
UNFINISHED = ".unfinished-"
"""How the names of things begin that are still being made; they get their own names once they are whole."""
_LOG_LIMIT = 8 * 1024 * 1024
_LOG_TAIL = 8 * 1024


@dataclass(frozen=True, slots=True)
class Cluster:
    folder: Path

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def dsn(self) -> Path:
        return self.folder / "dsn"

    @property
    def lock(self) -> Path:
        return self.folder / "lock"

    @property
    def log(self) -> Path:
        return self.folder / "log"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The user the server runs as."""

    uid: int
    gid: int

    def may_enter(self, path: Path) -> bool:
        found = path.stat()
        if found.st_uid == self.uid:
            return bool(found.st_mode & stat.S_IXUSR)
        if found.st_gid == self.gid:
            return bool(found.st_mode & stat.S_IXGRP)
        return bool(found.st_mode & stat.S_IXOTH)


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    password: str = field(repr=False)
    port: int

    @property
    def dsn(self) -> str:
        return f"postgresql://{ROLE}:{self.password}@127.0.0.1:{self.port}/{DATABASE}"


def make_cluster(home: Path) -> Cluster:
    """Makes the folders that are missing; those that exist keep their modes."""
    home = home.expanduser().absolute()
    # PostgreSQL refuses root: the account it runs as instead must be able to pass through.
    mode = 0o755 if os.geteuid() == 0 else 0o700
    try:
        for folder in reversed([home / "postgres", home, *home.parents]):
            if not folder.exists():
                _make_folder(folder, mode)
        return Cluster((home / "postgres").resolve(strict=True))
    except OSError as error:
        raise unusable_home(home, error) from error


def unusable_home(home: Path, error: OSError) -> Misconfigured:
    problem = f"MIDWATCH_HOME {home} cannot be used: {error.strerror} ({error.filename})"
    return Misconfigured([f"{problem}; choose a folder that you may write to"])


def _make_folder(folder: Path, mode: int) -> None:
    try:
        folder.mkdir()
    except FileExistsError:  # a replica that starts at the same moment made it
        return
    folder.chmod(mode)


def take_lock(cluster: Cluster) -> int | None:
    """An open file that holds the lock until it is closed, or None while another process holds it."""
    try:
        # Not inheritable, as all files Python opens: the lock must not outlive us in a child.
        lock = os.open(cluster.lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        problem = f"{cluster.lock} cannot be opened: {error.strerror}; choose a MIDWATCH_HOME of your own"
        raise Misconfigured([problem]) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    except BaseException:
        os.close(lock)
        raise
    return lock


def read_access(cluster: Cluster) -> Access | None:
    """None when the file is missing or was cut short."""
    try:
        parts = urlsplit(cluster.dsn.read_text(encoding="utf-8").strip())
        port = parts.port
    except (FileNotFoundError, ValueError):
        return None
    if not parts.password or port is None:
        return None
    return Access(password=parts.password, port=port)


def write_access(cluster: Cluster, access: Access) -> None:
    fresh = cluster.folder / f"{UNFINISHED}dsn"
    fresh.unlink(missing_ok=True)
    write_secret(fresh, access.dsn + "\n")
    if os.geteuid() == 0:
        # Root may be a visitor in the home of a user, who must still be able to read it afterwards.
        owner = cluster.folder.stat()
        os.chown(fresh, owner.st_uid, owner.st_gid)
    fresh.replace(cluster.dsn)


def write_secret(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)


def choose_account(cluster: Cluster) -> Account:
    """Ourselves; for root, whom PostgreSQL refuses, the account that owns the data folder or will."""
    if os.geteuid() != 0:
        return Account(uid=os.geteuid(), gid=os.getegid())
    if has_data(cluster):
        owner = cluster.data.stat()
        if owner.st_uid == 0:
            raise Misconfigured([f"{cluster.data} belongs to root, as whom PostgreSQL does not run: chown -R it"])
        return Account(uid=owner.st_uid, gid=owner.st_gid)
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(uid=entry.pw_uid, gid=entry.pw_gid)
    raise Misconfigured(
        ["PostgreSQL does not run as root and there is no user postgres or nobody to run it: set DATABASE_URL"]
    )


def find_barrier(path: Path, account: Account) -> Path | None:
    """The first part of `path` that `account`, if it is not ourselves, may not pass through."""
    if account.uid == os.geteuid():
        return None
    return next((part for part in [*reversed(path.parents), path] if not account.may_enter(part)), None)


def check_reachable(cluster: Cluster, account: Account) -> None:
    barrier = find_barrier(cluster.folder, account)
    if barrier is not None:
        problem = (
            f"PostgreSQL does not run as root; user {account.uid}, as whom it would run, may not enter {barrier}. "
            f"Let others in (chmod o+x {barrier}), choose a MIDWATCH_HOME that all users can reach, or set DATABASE_URL"
        )
        raise Misconfigured([problem])


def has_data(cluster: Cluster) -> bool:
    """Whether there is a whole data folder. It gets its name only once it is whole."""
    return cluster.data.is_dir() and any(cluster.data.iterdir())


def check_version(cluster: Cluster) -> None:
    try:
        found = (cluster.data / "PG_VERSION").read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        raise Misconfigured([f"{cluster.data} is not a PostgreSQL data folder: move it away"]) from None
    if found != str(MAJOR_VERSION):
        problem = (
            f"{cluster.data} was made by PostgreSQL {found}, and this Midwatch carries PostgreSQL {MAJOR_VERSION}. "
            "Start the Midwatch that made it, or move the data with pg_dump, or set DATABASE_URL"
        )
        raise Misconfigured([problem])


def check_may_create() -> None:
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError:
        problem = (
            f"user id {os.geteuid()} has no entry in the password file, and PostgreSQL's initdb needs one: "
            "set DATABASE_URL, or run Midwatch as a named user"
        )
        raise Misconfigured([problem]) from None


def remove_unfinished(cluster: Cluster) -> None:
    """What a process left that was killed while it made something."""
    for path in cluster.folder.glob(UNFINISHED + "*"):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def open_log(cluster: Cluster) -> BinaryIO:
    """For appending; a log that has grown large starts anew."""
    log = os.fdopen(os.open(cluster.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600), "ab")
    if log.tell() > _LOG_LIMIT:
        log.seek(0)
        log.truncate()
    return log


def read_log_end(cluster: Cluster, *, since: int = 0, lines: int = 15) -> str:
    try:
        with cluster.log.open("rb") as file:
            file.seek(max(since, file.seek(0, os.SEEK_END) - _LOG_TAIL))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
    return "\n".join(text.splitlines()[-lines:])
