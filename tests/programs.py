"""`midwatch` as people start it: its environment, and a place for what it writes."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

PROGRAM = Path(sys.executable).with_name("midwatch")


@contextmanager
def own_home() -> Generator[Path]:
    """A place for the database that another user may enter, as pytest's own folders are not when root runs them."""
    folder = Path(tempfile.mkdtemp(prefix="midwatch-tests-"))
    folder.chmod(0o755)
    try:
        yield folder / "home"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def make_environ(home: Path, extra: Mapping[str, str]) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {**kept, "MIDWATCH_HOME": str(home), "LOG_FORMAT": "json", **extra}


def run_program(
    *arguments: str | Path, home: Path, stdin: str | None = None, **environ: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, *arguments],
        env=make_environ(home, environ),
        input="" if stdin is None else stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=90,
    )
