"""Unix users: who we are, and whom a child may run as."""

import os
import pwd
from dataclasses import dataclass

NOBODY = "nobody"
_NOBODY_ID = 65534


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    name: str
    uid: int
    gid: int
    home: str


def is_root() -> bool:
    return os.geteuid() == 0


def may_become(user: User) -> bool:
    return is_root() or user.uid == os.geteuid()


def find_user(name: str) -> User | None:
    """By name, or by number."""
    try:
        entry = pwd.getpwuid(int(name)) if name.isdecimal() else pwd.getpwnam(name)
    except (KeyError, OverflowError):
        return None
    return User(name=entry.pw_name, uid=entry.pw_uid, gid=entry.pw_gid, home=entry.pw_dir)


def find_nobody() -> User:
    """Small systems may not list it."""
    unlisted = User(name=NOBODY, uid=_NOBODY_ID, gid=_NOBODY_ID, home="/nonexistent")
    return find_user(NOBODY) or unlisted
