"""The secret by which an approver is known until there is a login: a file that only its owner can read."""

import os
import secrets
from pathlib import Path

from midwatch.domain.errors import Misconfigured

FILE_NAME = "approver.token"
_BYTES = 32
_SHORTEST = 20


def open_token(home: Path) -> str:
    """Made when there is none. Raises Misconfigured when what stands there is no secret, OSError when nothing can."""
    path = home / FILE_NAME
    _make(path)
    return read_token_file(path)


def read_token_file(path: Path) -> str:
    """Raises OSError, Misconfigured."""
    token = path.read_text(encoding="utf-8", errors="replace").strip()
    if len(token) < _SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise Misconfigured(
            [f"{path}: expected at least {_SHORTEST} letters and digits; delete the file to have one made"]
        )
    return token


def _make(path: Path) -> None:
    """Whole or not at all, also when several start at once."""
    if path.exists():
        return
    # Open to others like any folder: a PostgreSQL of our own may live in it under another account.
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(secrets.token_urlsafe(_BYTES) + "\n")
        try:
            os.link(draft, path)
        except FileExistsError:
            return
    finally:
        draft.unlink()
