"""`{{.NAME}}` in a file's text becomes the variable's value, before anything is parsed."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_VARIABLE = re.compile(r"\{\{\s*\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
_KEPT = "SESSION_ID"
"""Belongs to each tool session, not to the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    name: str
    line: int
    offset: int
    """Where in the rendered text the value would have stood."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    text: str
    missing: tuple[Missing, ...]
    _origins: tuple[int, ...]
    """The line in the file of each rendered line: a value of several lines moves what follows."""

    def line_in_file(self, rendered_line: int) -> int:
        """Both count from 1 and 0: parsers count from 0, people from 1."""
        return self._origins[min(rendered_line, len(self._origins) - 1)]


def render(text: str, environ: Mapping[str, str]) -> Rendered:
    lines: list[str] = []
    missing: list[Missing] = []
    origins: list[int] = []
    offset = 0
    for number, line in enumerate(text.split("\n"), 1):
        rendered, absent = _render_line(line, environ)
        missing += [Missing(name=name, line=number, offset=offset + column) for name, column in absent]
        origins += [number] * (rendered.count("\n") + 1)
        lines.append(rendered)
        offset += len(rendered) + 1
    return Rendered(text="\n".join(lines), missing=tuple(missing), _origins=tuple(origins))


def _render_line(line: str, environ: Mapping[str, str]) -> tuple[str, list[tuple[str, int]]]:
    """The line with its values, and the names that had none with the column they stood at."""
    done = ""
    absent: list[tuple[str, int]] = []
    rest = 0
    for variable in _VARIABLE.finditer(line):
        name = variable[1]
        done += line[rest : variable.start()]
        rest = variable.end()
        if name == _KEPT:
            done += variable[0]
        elif name in environ:
            done += environ[name]
        else:
            absent.append((name, len(done)))
    return done + line[rest:], absent
