"""The `midwatch` program, run to its end as a person would run it."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(sys.executable).with_name("midwatch")
_KEPT = ("PATH", "HOME", "LANG")


def run_midwatch(*arguments: str | Path, stdin: str | bytes = b"", **environ: str) -> subprocess.CompletedProcess[str]:
    """With `environ` and a few variables that say nothing of Midwatch."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    given = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run(
        [PROGRAM, *arguments],
        env={**kept, **environ},
        input=given,
        capture_output=True,
        check=False,
        timeout=60,
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())
