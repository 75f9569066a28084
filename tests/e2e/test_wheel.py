"""What is installed is what runs: the wheel carries everything that is not Python too."""

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import midwatch

SOURCES = Path(midwatch.__file__).parent
PROJECT = SOURCES.parent.parent


def test_the_wheel_holds_templates_migrations_and_sample_alerts(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", str(PROJECT), "--no-deps", "--no-build-isolation", "--no-index"]
    quiet = ["--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, *quiet, "-w", str(tmp_path)], check=True, timeout=120)
    [wheel] = tmp_path.glob("*.whl")
    with ZipFile(wheel) as archive:
        held = set(archive.namelist())
        entry_points = next(name for name in held if name.endswith("entry_points.txt"))
        assert "midwatch = midwatch.cli.main:main" in archive.read(entry_points).decode()
    needed = {
        f"midwatch/{path.relative_to(SOURCES)}"
        for path in SOURCES.rglob("*")
        if path.is_file() and path.suffix not in {".pyc", ".pyi"}
    }
    assert {Path(name).suffix for name in needed} >= {".py", ".j2", ".sql", ".yaml"}
    assert needed <= held
    assert not [name for name in held if name.startswith("tests")]
    assert "slow-machine" in run_from(wheel, tmp_path / "installed")


def run_from(wheel: Path, folder: Path) -> str:
    """What the program says when there is nothing of it but the wheel."""
    with ZipFile(wheel) as archive:
        archive.extractall(folder)
    program = "import midwatch; from midwatch.cli.main import main; assert midwatch.__file__.startswith({!r}); main()"
    return subprocess.run(
        [sys.executable, "-c", program.format(str(folder)), "demo", "--list-samples"],
        env={"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout
