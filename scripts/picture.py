"""Draws docs/images/demo.svg: the screen of a terminal after a real `midwatch demo`, in a folder of its own.

The alert says that a port is taken. It is: a program that this script starts holds it, and the demo has to find it.
"""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

import pyte
from pyte.screens import Char
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "images" / "demo.svg"
WIDTH = 100
HEIGHT = 200
COMMAND = "midwatch demo --once --sample port-conflict"
HOLDER = "billing-worker"
HOLDING = """
import socket, time
listener = socket.create_server(("127.0.0.1", 8080))
print("holding", flush=True)
time.sleep(600)
"""
_REMOTE_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


@contextmanager
def holding_port() -> Generator[None]:
    """An interpreter under another name, since that is what all tools call the process."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / HOLDER
        shutil.copy(Path(sys.executable).resolve(), program)
        (Path(folder) / "worker.py").write_text(HOLDING, encoding="utf-8")
        command = [f"./{HOLDER}", "worker.py"]
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE) as process:  # noqa: S603 -- as above
            try:
                if process.stdout is None or not process.stdout.readline():
                    raise SystemExit("port 8080 is taken by somebody else: stop that first")
                yield
            finally:
                process.kill()


def run_demo() -> bytes:
    """All that the program wrote to its terminal. Whoever draws the picture names neither user nor machine in it."""
    ours, theirs = pty.openpty()
    with tempfile.TemporaryDirectory(prefix="midwatch-picture-") as home:
        Path(home).chmod(0o755)
        environ = os.environ | {"MIDWATCH_HOME": home, "TERM": "xterm-256color", "COLUMNS": str(WIDTH)}
        environ["PATH"] = f"{Path(sys.executable).parent}:{environ['PATH']}"
        program = [*COMMAND.split(), "--port", "0"]
        with subprocess.Popen(program, stdin=theirs, stdout=theirs, stderr=theirs, env=environ) as process:  # noqa: S603 -- our own program
            os.close(theirs)
            written = read_all(ours)
        if process.returncode:
            raise SystemExit(f"the demo ended with {process.returncode}")
    return written


def read_all(terminal: int) -> bytes:
    written = b""
    while select.select([terminal], [], [], 120)[0]:
        try:
            piece = os.read(terminal, 65_536)
        except OSError:
            break  # the other side has closed: that is how a terminal ends
        if not piece:
            break
        written += piece
    os.close(terminal)
    return written


def read_screen(written: bytes) -> list[Text]:
    screen = pyte.Screen(WIDTH, HEIGHT)
    pyte.ByteStream(screen).feed(written)
    lines = [read_line(screen, row) for row in range(HEIGHT)]
    while lines and not lines[-1].plain.strip():
        lines.pop()
    return lines


def read_line(screen: pyte.Screen, row: int) -> Text:
    line = Text()
    cells = [screen.buffer[row][column] for column in range(WIDTH)]
    for style, run in groupby(cells, key=read_style):
        line.append("".join(cell.data for cell in run), style)
    line.rstrip()
    return line


def read_style(cell: Char) -> Style:
    return Style(color=name_color(cell.fg), bold=cell.bold, italic=cell.italics)


def name_color(color: str) -> str | None:
    if color == "default":
        return None
    plain = {"brown": "yellow", "brightblack": "bright_black"}.get(color, color)
    return (
        f"#{plain}" if len(plain) == len("rrggbb") and all(letter in "0123456789abcdef" for letter in plain) else plain
    )


def draw(lines: list[Text]) -> str:
    console = Console(width=WIDTH, record=True, file=open(os.devnull, "w", encoding="utf-8"), force_terminal=True)  # noqa: PTH123, SIM115 -- nothing is kept
    console.print(Text("$ ", style="bold green") + Text(COMMAND, style="bold"))
    for line in lines:
        console.print(line, no_wrap=True, overflow="crop")
    drawn = console.export_svg(title="midwatch", theme=MONOKAI)
    # A picture has no business with the network: whoever looks at it has a font with letters of one width.
    return _REMOTE_FONT.sub("", drawn)


if __name__ == "__main__":
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    with holding_port():
        written = run_demo()
    TARGET.write_text(draw(read_screen(written)), encoding="utf-8")
    print(f"wrote {TARGET.relative_to(ROOT)}")
