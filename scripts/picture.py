"""Draws docs/images/demo.svg: the screen of a terminal after a real `midwatch demo --once`, in a folder of its own."""

import os
import pty
import re
import select
import subprocess
import sys
import tempfile
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
COMMAND = "midwatch demo --once"
_REMOTE_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def run_demo() -> bytes:
    """All that the program wrote to its terminal. Whoever draws the picture names neither user nor machine in it."""
    ours, theirs = pty.openpty()
    with tempfile.TemporaryDirectory(prefix="midwatch-picture-") as home:
        Path(home).chmod(0o755)
        environ = os.environ | {"MIDWATCH_HOME": home, "TERM": "xterm-256color", "COLUMNS": str(WIDTH)}
        program = [str(Path(sys.executable).parent / "midwatch"), "demo", "--once", "--port", "0", *sys.argv[1:]]
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
    TARGET.write_text(draw(read_screen(run_demo())), encoding="utf-8")
    print(f"wrote {TARGET.relative_to(ROOT)}")
