"""YAML files with the line of every key, so that whatever is said about a value can say where it stands."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import yaml
from yaml.error import MarkedYAMLError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.reader import ReaderError

from midwatch.config.findings import Findings, Place
from midwatch.config.template import Missing, Rendered, render

_DEEPEST = 50
_YAML_TAG = "tag:yaml.org,2002:"

KeyPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One file. Every scalar is text, as it was written; a key without a value counts as not written."""

    file: str
    data: dict[str, Any]
    lines: Mapping[KeyPath, int]
    hollow_lines: frozenset[int]
    """Lines whose variable is missing: what is wrong with their values needs no saying."""

    def place(self, path: KeyPath) -> Place:
        """Where `path` stands, or the nearest thing around it."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return Place(self.file, self.lines[path[:length]])
        return Place(self.file, 1)


def read_document(
    path: Path, environ: Mapping[str, str], *, findings: Findings, lenient: bool = False
) -> Document | None:
    """The parsed file, or nothing when its text cannot be made sense of. Lenient: a missing variable is empty."""
    text = _read_text(path, findings)
    if text is None:
        return None
    rendered = render(text, environ)
    node, sound = _compose(path.name, rendered, findings)
    hollow = _report_missing(path.name, rendered, node=node, findings=findings, lenient=lenient)
    if not sound:
        return None
    reading = _Reading(file=path.name, rendered=rendered, findings=findings)
    data: object = {} if node is None else reading.build(node, ())
    if not isinstance(data, dict):
        findings.problem(Place(path.name, 1), "expected a mapping of keys to values")
        return None
    return Document(file=path.name, data=cast("dict[str, Any]", data), lines=reading.lines, hollow_lines=hollow)


def _read_text(path: Path, findings: Findings) -> str | None:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        findings.problem(Place(path.name), f"not found in {path.parent}")
    except (OSError, UnicodeDecodeError) as error:
        findings.problem(Place(path.name), f"cannot be read ({type(error).__name__})")
    return None


def _compose(file: str, rendered: Rendered, findings: Findings) -> tuple[Node | None, bool]:
    try:
        return yaml.SafeLoader(rendered.text).get_single_node(), True
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = rendered.line_in_file(mark.line) if mark else None
        findings.problem(Place(file, line), f"not valid YAML: {_without_quotes(error.problem or '')}")
    except ReaderError as error:
        line = rendered.line_in_file(rendered.text.count("\n", 0, error.position))
        findings.problem(Place(file, line), "not valid YAML: a control character stands here")
    except RecursionError:
        findings.problem(Place(file, 1), "nested too deeply")
    return None, False


def _without_quotes(problem: str) -> str:
    """What the parser quotes may be a piece of a secret."""
    return re.sub(r"""'[^']*'|"[^"]*\"""", "…", problem)


def _report_missing(
    file: str, rendered: Rendered, *, node: Node | None, findings: Findings, lenient: bool
) -> frozenset[int]:
    """The lines left hollow, which a lenient reading has none of: there an empty value is a value."""
    spans = [] if node is None else list(_scalar_spans(node))
    missing = [each for each in rendered.missing if not _is_comment(rendered.text, each, spans=spans)]
    for each in missing:
        place = Place(file, each.line)
        if lenient:
            findings.warn(place, f"variable {each.name} is not set and counts as empty")
        else:
            findings.problem(place, f"variable {each.name} is not set")
    return frozenset[int]() if lenient else frozenset(each.line for each in missing)


def _is_comment(text: str, missing: Missing, *, spans: list[tuple[int, int]]) -> bool:
    before = text[text.rfind("\n", 0, missing.offset) + 1 : missing.offset]
    if not re.search(r"(?:^|\s)#", before):
        return False
    return not any(start <= missing.offset <= end for start, end in spans)


def _scalar_spans(root: Node) -> Iterator[tuple[int, int]]:
    waiting = [root]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        match node:
            case ScalarNode():
                yield node.start_mark.index, node.end_mark.index
            case SequenceNode():
                waiting += node.value
            case MappingNode():
                waiting += [part for pair in node.value for part in pair]
            case _:
                pass


@dataclass(slots=True, kw_only=True)
class _Reading:
    """Turns nodes into plain values, noting the line of each."""

    file: str
    rendered: Rendered
    findings: Findings
    lines: dict[KeyPath, int] = field(default_factory=dict[KeyPath, int])
    _loader: yaml.SafeLoader = field(default_factory=lambda: yaml.SafeLoader(""))
    _flattened: list[Node] = field(default_factory=list[Node])
    _open: list[Node] = field(default_factory=list[Node])

    def build(self, node: Node, path: KeyPath) -> Any:
        self.lines.setdefault(path, self._line(node))
        if not node.tag.startswith(_YAML_TAG):
            self._problem(node, "tags are not supported")
        if any(node is outer for outer in self._open) or len(path) > _DEEPEST:
            self._problem(node, "nested too deeply, or an alias points at what contains it")
            return None
        self._open.append(node)
        try:
            match node:
                case MappingNode():
                    return self._build_mapping(node, path)
                case SequenceNode():
                    return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
                case _:
                    return self._build_scalar(node)
        finally:
            self._open.pop()

    def _build_mapping(self, node: MappingNode, path: KeyPath) -> dict[str, Any]:
        self._flatten(node)
        built: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, ScalarNode):
                self._problem(key, "a key must be plain text")
                continue
            inner = (*path, key.value)
            self.lines[inner] = self._line(key)
            built[key.value] = self.build(value, inner)
        return {key: value for key, value in built.items() if value is not None}

    def _flatten(self, node: MappingNode) -> None:
        """Resolves `<<`. Once per mapping: afterwards inherited keys stand beside the ones that override them."""
        if any(node is done for done in self._flattened):
            return
        self._flattened.append(node)
        self._report_duplicates(node)
        try:
            self._loader.flatten_mapping(node)
        except MarkedYAMLError:
            self._problem(node, "<< must point at a mapping")

    def _report_duplicates(self, node: MappingNode) -> None:
        seen: dict[str, int] = {}
        for key, _ in node.value:
            if not isinstance(key, ScalarNode):
                continue
            if key.value in seen:
                self._problem(key, f'key "{key.value}" stands here a second time, first on line {seen[key.value]}')
            seen.setdefault(key.value, self._line(key))

    def _build_scalar(self, node: Node) -> str | None:
        return None if node.tag == f"{_YAML_TAG}null" else str(node.value)

    def _problem(self, node: Node, message: str) -> None:
        self.findings.problem(Place(self.file, self._line(node)), message)

    def _line(self, node: Node) -> int:
        return self.rendered.line_in_file(node.start_mark.line)
