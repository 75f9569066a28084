"""How every command meets the terminal: one kind of console, and text from outside made harmless."""

import io
import re
import sys

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment

_SEQUENCES = re.compile(
    # A title or a link ends on its line, or it is none: nothing may hide what comes after it.
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|\x1b[ -/]*[0-~]"
)
_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_HARMFUL = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
_HALVES = re.compile("[\ud800-\udfff]")


def make_console(*, stderr: bool = False, no_color: bool = False) -> Console:
    """Plain in a pipe and under NO_COLOR. Text is never read as markup: much of it comes from outside."""
    stream = sys.stderr if stderr else sys.stdout
    if isinstance(stream, io.TextIOWrapper):
        # A terminal that cannot show a character shows a question mark; it does not end the program.
        stream.reconfigure(errors="replace")
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False, no_color=no_color or None)


def clean(text: str) -> str:
    """Without what could move the cursor, colour the screen, hide text or turn its direction. Lines and tabs stay."""
    lines = _LINE_ENDS.sub("\n", _SEQUENCES.sub("", text))
    return _HALVES.sub("\ufffd", _HARMFUL.sub("", lines))


def clean_line(text: str) -> str:
    """The same in one line."""
    return " ".join(clean(text).split())


class Cleaned:
    """Cleans what comes out: a document may spell a character so that it appears only when it is rendered.

    Lines are not filled up with blanks, which are seen only by whoever copies them.
    """

    def __init__(self, inner: RenderableType) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        has_colors = console.color_system is not None
        for line in Segment.split_lines(console.render(self._inner, options)):
            cleaned = [Segment(clean(text), style) for text, style, control in line if not control]
            yield from _trim(cleaned, has_colors=has_colors)
            yield Segment.line()


def _trim(line: list[Segment], *, has_colors: bool) -> list[Segment]:
    while line:
        text, style, _ = line.pop()
        is_seen = has_colors and style is not None and style.bgcolor is not None
        if kept := text if is_seen else text.rstrip():
            return [*line, Segment(kept, style)]
    return []
