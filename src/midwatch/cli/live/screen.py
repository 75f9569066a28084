"""Where a transcript is written: lines that stay and, on a real terminal only, a last line that tells what goes on."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.text import Text

from midwatch.cli.live.digest import format_seconds
from midwatch.cli.terminal import Cleaned, clean, clean_line
from midwatch.kit.clock import Clock, boottime

_TICK = 0.1
_WIDEST = 100
_MINUTE = 60
_FRAME = 6
"""Columns of the last line that are neither words nor the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """Signs that stand before lines."""

    call: str = "●"
    good: str = "✓"
    bad: str = "✗"
    again: str = "↻"
    note: str = "·"
    unknown: str = "?"
    line: str = "─"
    spinner: str = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


ASCII = Marks(call="*", good="ok", bad="x", again="~", note="-", line="-", spinner="|/-\\")


@dataclass(slots=True, kw_only=True)
class Screen:
    console: Console
    clock: Clock = boottime
    doing: str = ""
    """What goes on, in few words."""
    partial: str = ""
    """A line that is still being written."""
    _began: float = field(init=False)
    _live: Live | None = None

    def __post_init__(self) -> None:
        self._began = self.clock()

    @property
    def width(self) -> int:
        """Lines that are longer are hard to read, however wide the terminal is."""
        return min(self.console.width, _WIDEST)

    @property
    def marks(self) -> Marks:
        return Marks() if self.console.encoding.lower().startswith("utf") else ASCII

    def show(self, *lines: RenderableType) -> None:
        for line in lines:
            self.console.print(Cleaned(line), width=self.width)

    def show_exactly(self, line: str) -> None:
        """Not broken where the terminal ends, so that it can be copied."""
        self.console.print(clean(line), soft_wrap=True)

    def prompt(self, text: str) -> None:
        """What is typed stands on the same line."""
        self.console.print(clean(text), end="", soft_wrap=True)

    @contextmanager
    def silent(self) -> Generator[None]:
        """Without the last line, so that somebody can type."""
        live, self._live = self._live, None
        if live is None:
            yield
            return
        live.stop()
        try:
            yield
        finally:
            live.start()
            self._live = live

    @asynccontextmanager
    async def alive(self) -> AsyncGenerator[None]:
        """The last line is there while the block runs, and gone after it."""
        console = self.console
        if not (console.is_terminal and not console.is_dumb_terminal and console.file.isatty()):
            yield
            return
        live = Live(
            _LastLine(self),
            console=console,
            transient=True,
            auto_refresh=False,
            redirect_stdout=False,
            # What is logged meanwhile stands above the last line and not in it.
            redirect_stderr=sys.stderr.isatty(),
        )
        with live:
            self._live = live
            async with asyncio.TaskGroup() as group:
                ticking = group.create_task(self._tick(), name="last-line")
                yield
                ticking.cancel()

    async def _tick(self) -> None:
        while True:
            if self._live is not None:
                self._live.refresh()
            await asyncio.sleep(_TICK)

    @property
    def elapsed(self) -> float:
        return self.clock() - self._began

    @property
    def spinner(self) -> str:
        turns = self.marks.spinner
        return turns[int(self.elapsed / _TICK) % len(turns)]


@dataclass(frozen=True, slots=True)
class _LastLine:
    screen: Screen

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        screen = self.screen
        if screen.partial:
            yield Text(f"  {clean_line(screen.partial)}", style="dim italic", no_wrap=True, overflow="crop")
        elapsed = f"{int(screen.elapsed)} s" if screen.elapsed < _MINUTE else format_seconds(screen.elapsed)
        doing = Text(clean_line(screen.doing))
        doing.truncate(max(options.max_width - len(elapsed) - _FRAME, 0), overflow="ellipsis")
        yield Text.assemble((screen.spinner, "cyan"), " ", doing, f" · {elapsed}", no_wrap=True, overflow="crop")
