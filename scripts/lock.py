"""Compiles requirements.lock and requirements-dev.lock: every package pinned and hashed, no registry named."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def compile_lock(target: str, *extra: str) -> None:
    subprocess.run(  # noqa: S603 -- fixed arguments
        [
            *(sys.executable, "-m", "uv", "pip", "compile", "pyproject.toml", *extra),
            *("--universal", "--python-version", "3.11", "--generate-hashes", "--no-emit-index-url"),
            *("--no-emit-find-links", "--no-header", "--quiet", "--upgrade", "--output-file", target),
        ],
        cwd=ROOT,
        check=True,
    )


if __name__ == "__main__":
    compile_lock("requirements.lock")
    compile_lock("requirements-dev.lock", "--group", "dev")
