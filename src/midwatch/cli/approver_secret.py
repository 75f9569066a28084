"""The approver's secret as a command sends it to a server, read from a file on this machine."""

from pathlib import Path

from midwatch.cli.live.server import Secret
from midwatch.config.approver import read_token_file
from midwatch.domain.errors import Misconfigured


def read_approver_secret(path: Path, *, user: str | None) -> Secret:
    """Raises Misconfigured when there is none to be read."""
    try:
        return Secret(token=read_token_file(path), user=user)
    except OSError as error:
        hint = "name the file that holds the server's with --token-file"
        raise Misconfigured([f"cannot read the approver's secret {path}: {error.strerror}; {hint}"]) from error
