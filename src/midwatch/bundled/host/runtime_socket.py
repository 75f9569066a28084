"""Where a container runtime listens, and how asking it may end. Knows no HTTP."""

import stat
from collections.abc import Mapping
from pathlib import Path


class RuntimeSilent(Exception):
    """The runtime does not answer, or not as it should."""


class NotThere(Exception):
    """The runtime knows no such thing."""


def find_socket(environ: Mapping[str, str]) -> str | None:
    """The first socket there is: the one the environment names, then Docker's, then Podman's."""
    named = environ.get("DOCKER_HOST", "")
    candidates = [named.removeprefix("unix://")] if named.startswith("unix://") else []
    candidates += ["/var/run/docker.sock", "/run/podman/podman.sock"]
    if environ.get("XDG_RUNTIME_DIR"):
        candidates.append(f"{environ['XDG_RUNTIME_DIR']}/podman/podman.sock")
    return next((path for path in candidates if _is_socket(path)), None)


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(Path(path).stat().st_mode)
    except (OSError, ValueError):
        return False
