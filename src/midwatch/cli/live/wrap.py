"""Text broken into lines as it comes, for a page on which nothing is taken back. Pure."""

from dataclasses import dataclass

from rich.cells import cell_len, chop_cells

_LOOKED_AT = 4
"""Characters that are looked at for each column: more than that only marks without width could fill."""


@dataclass(slots=True)
class Wrapping:
    """What was not yet long enough for a line waits for more."""

    rest: str = ""

    def feed(self, text: str, width: int) -> list[str]:
        *whole, last = (self.rest + text.expandtabs(4)).split("\n")
        lines = [line.rstrip() for each in whole for line in _fill(each, width)]
        *filled, self.rest = _fill(last, width)
        return [*lines, *filled]

    def finish(self, width: int) -> list[str]:
        lines = self.feed("", width)
        rest, self.rest = self.rest.rstrip(), ""
        return [*lines, rest] if rest else lines


def _fill(text: str, width: int) -> list[str]:
    """The last of the lines may still grow."""
    lines: list[str] = []
    while len(text) > _LOOKED_AT * width or cell_len(text) > width:
        line, text = _cut(text, width)
        lines.append(line)
    return [*lines, text]


def _cut(text: str, width: int) -> tuple[str, str]:
    looked_at = text[: _LOOKED_AT * width]
    fitting = next(iter(chop_cells(looked_at, width)), "") or looked_at
    if text[len(fitting) : len(fitting) + 1].isspace():
        return fitting.rstrip(), text[len(fitting) + 1 :]
    head, gap, _ = fitting.rpartition(" ")
    if not gap or not head.strip():
        return fitting.rstrip(), text[len(fitting) :]
    return head.rstrip(), text[len(head) + 1 :]
