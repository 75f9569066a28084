"""Secrets whose name is on another line: variables of containers, and YAML's blocks of several lines."""

import re
from collections.abc import Iterator, Sequence

from midwatch.masking.assignments import TELLING_NAME
from midwatch.masking.regex import Regex
from midwatch.masking.rule import Edit, Pattern, Rule, find_matches
from midwatch.masking.values import is_telling, measure_variable
from midwatch.masking.windows import Window

_NAME = re.compile(
    rb"""(?i)(?:name|key)["'\\]*\s*:\s*["'\\]*([\w.\-]+)["'\\]*\s*,?\s*["'\\]*\w*value["'\\]*\s*:\s*["'\\]*\Z"""
)
_FIRST = r"(?:name|key|parameterkey|optionname)"
_SECOND = r"(?:value|parametervalue|optionvalue)"


def measure_pair(before: bytes, value: bytes) -> int:
    named = _NAME.search(before)
    return measure_variable(named[1] + b"=" + before[-1:] if named else before, value)


NAMED_VALUE = Pattern(
    regex=(
        rf"(?i)\b{_FIRST}:[ \t]*[\"']?(?-i:{TELLING_NAME})[\"']?[ \t]*\r?\n[ \t]*{_SECOND}:[ \t]*"
        r"(?:\"((?:[^\"\\\n]|\\.)+)|'((?:[^'\n]|'')+)|([^\s\"'|>&*!{\[][^\r\n]*))"
        rf"|\"{_FIRST}\"\s*:\s*\"(?-i:{TELLING_NAME})\"\s*,\s*\"{_SECOND}\"\s*:\s*\"((?:[^\"\\\n]|\\.)+)"
        rf"|\\+\"{_FIRST}\\+\"\s*:\s*\\+\"(?-i:{TELLING_NAME})\\+\"\s*,\s*\\+\"{_SECOND}\\+\"\s*:\s*\\+\"([^\"\\\n]+)"
    ),
    tag="SECRET_VALUE",
    measure=measure_pair,
    # The second line may be in the next window.
    gate=rf"(?i){_FIRST}\\*[\"']?\s*:\s*\\*[\"']?(?-i:{TELLING_NAME})\\*[\"']?\s*,?\s*(?:\\*[\"']?{_SECOND}\\*[\"']?\s*:|\z)",
    spans_lines=True,
)

_BLOCK_GATE = rf"(?im)^[ \t]*(?:-[ ]+)*[\"']?(?-i:{TELLING_NAME})[\"']?:[ \t]*[|>][-+0-9]*[ \t]*(?:#[^\n]*)?\r?$"
_BLOCK = Regex(rf"(?im)^([ \t]*(?:-[ ]+)*)[\"']?((?-i:{TELLING_NAME}))[\"']?:[ \t]*[|>][-+0-9]*[ \t]*(?:#[^\n]*)?\r?$")
_CONTENT = re.compile(rb"\n([ \t]*)([^\n]*)")


def hide_yaml_blocks(name: str, placeholder: str) -> Rule:
    def find(data: bytes, windows: Sequence[Window]) -> Iterator[Edit]:
        for whole, indent, key in find_matches(_BLOCK, data, windows=windows):
            if is_telling(data[slice(*key)]):
                yield from _find_content(data, whole[1], indent=indent[1] - indent[0], hidden=placeholder.encode())

    return Rule(name=name, gate=_BLOCK_GATE, find=find, placeholder=placeholder)


def _find_content(data: bytes, at: int, *, indent: int, hidden: bytes) -> Iterator[Edit]:
    begin = end = None
    while line := _CONTENT.match(data, at):
        if line[2].strip():
            if len(line[1]) <= indent:
                break
            begin = line.start(2) if begin is None else begin
            end = line.end(2) - (len(line[2]) - len(line[2].rstrip()))
        at = line.end()
    if begin is not None and end is not None and data[begin:end] != hidden:
        yield (begin, end), hidden
