"""Chooses a tool for a need by its name, its description and its schema, and fills its arguments.

A tool whose required arguments cannot be filled is not chosen, nor is one that sounds as if it changed something.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from midwatch.domain.tools import ToolDefinition
from midwatch.llm.demo.needs import PROFILES, SPELLINGS, Need, Profile

_DEEPEST = 8
"""References and alternatives inside each other that are followed."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_CHANGES = frozenset(
    {"add", "apply", "clean", "clear", "create", "delete", "disable", "drop", "edit", "enable", "exec", "execute"}
    | {"force", "install", "kill", "move", "patch", "prune", "purge", "reboot", "reload", "remove", "replace"}
    | {"reset", "resize", "restart", "rotate", "run", "scale", "send", "set", "shutdown", "signal", "start", "stop"}
    | {"terminate", "truncate", "update", "upgrade", "vacuum", "wipe", "write"}
)
_ELSEWHERE = ("kubernetes", "cluster", "namespace", "pod", "cloud")
_NAMED = frozenset(need.value for need in Need) | frozenset(
    alias for profile in PROFILES.values() for alias in profile.aliases
)
_ELASTIC = frozenset({"limit", "lines", "since_minutes"})
"""Arguments that may be more or less than wanted. A port or a process id may not."""
_MISSING = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    name: str
    """Full name of the tool."""
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Toolbox:
    tools: Sequence[ToolDefinition]

    def choose(self, need: Need, wanted: Mapping[str, Any]) -> Chosen | None:
        """The first of the tools that suit best and whose arguments can be filled."""
        for tool in self._candidates(need):
            arguments = fill_arguments(tool.schema, wanted, essential=PROFILES[need].essential)
            if arguments is not None:
                return Chosen(name=tool.full_name, arguments=arguments)
        return None

    def _candidates(self, need: Need) -> list[ToolDefinition]:
        ranked = [(_rank(tool, need, PROFILES[need]), tool) for tool in self.tools if not _may_change(tool)]
        return [tool for rank, tool in sorted(ranked, key=lambda pair: -pair[0]) if rank]


def fill_arguments(
    schema: Mapping[str, Any], wanted: Mapping[str, Any], *, essential: frozenset[str]
) -> dict[str, Any] | None:
    """None when something essential finds no place, or something required stays empty."""
    properties = _as_object(schema.get("properties"))
    filled: dict[str, Any] = {}
    placed: set[str] = set()
    for name, value in wanted.items():
        for spelling in SPELLINGS.get(name, (name,)):
            if spelling in filled or spelling not in properties:
                continue
            options = _options(schema, _as_object(properties[spelling]))
            fitted = _fit(value, options, elastic=name in _ELASTIC)
            if fitted is not _MISSING:
                filled[spelling] = fitted
                placed.add(name)
                break
    required = schema.get("required")
    needed = set(map(str, cast("list[Any]", required))) if isinstance(required, list) else set[str]()
    return filled if essential <= placed and needed <= filled.keys() else None


def _rank(tool: ToolDefinition, need: Need, profile: Profile) -> int:
    """3 the very name, 2 one like it, 1 by its description, 0 not at all."""
    name = tool.name.lower().replace("-", "_")
    if name in _NAMED:
        return 3 if name == need.value else 2 if name in profile.aliases else 0
    described = re.split(r"[.\n]", tool.description.strip().lower(), maxsplit=1)[0]
    suits = any(re.search(rf"\b{phrase}\b", described) for phrase in profile.phrases)
    return int(suits and not any(word in described for word in _ELSEWHERE))


def _may_change(tool: ToolDefinition) -> bool:
    words = {word.lower() for word in _WORD.findall(tool.name)}
    return tool.read_only_hint is False or not words.isdisjoint(_CHANGES)


def _fit(value: Any, options: Iterator[Mapping[str, Any]], *, elastic: bool) -> Any:
    fits = (_fit_option(value, option, elastic=elastic) for option in options)
    return next((fitted for fitted in fits if fitted is not _MISSING), _MISSING)


def _options(schema: Mapping[str, Any], prop: Mapping[str, Any], depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """The property's alternatives with references resolved."""
    if depth > _DEEPEST:
        return
    reference = prop.get("$ref")
    if isinstance(reference, str):
        defined = _as_object(schema.get("$defs")).get(reference.rpartition("/")[2])
        yield from _options(schema, _as_object(defined), depth + 1)
    inner = [
        alternative
        for key in ("anyOf", "oneOf", "allOf")
        if isinstance(alternatives := prop.get(key), list)
        for alternative in cast("list[Any]", alternatives)
    ]
    for alternative in inner:
        yield from _options(schema, _as_object(alternative), depth + 1)
    if not inner and not isinstance(reference, str):
        yield prop


def _fit_option(value: Any, option: Mapping[str, Any], *, elastic: bool) -> Any:
    choices = [option["const"]] if "const" in option else option.get("enum")
    if isinstance(choices, list):
        return _choose(value, cast("list[Any]", choices))
    written = option.get("type")
    kinds = set(map(str, cast("list[Any]", written))) if isinstance(written, list) else {str(written or "any")}
    match value:
        case bool():
            return value if kinds & {"boolean", "any"} else _MISSING
        case int() if kinds & {"integer", "number", "any"}:
            clamped = _clamp(value, option)
            return clamped if elastic or clamped == value else _MISSING
        case int() | str() if kinds & {"string", "any"}:
            return str(value)
        case _:
            return _MISSING


def _choose(value: Any, choices: Sequence[Any]) -> Any:
    if value in choices:
        return value
    like = (choice for choice in choices if isinstance(choice, str) and str(value)[:3].lower() in choice.lower())
    return next(like, _MISSING)


def _clamp(value: int, option: Mapping[str, Any]) -> int:
    lowest, highest = (_as_bound(option.get(key)) for key in ("minimum", "maximum"))
    if highest is not None:
        value = min(value, math.floor(highest))
    return value if lowest is None else max(value, math.ceil(lowest))


def _as_bound(written: Any) -> float | None:
    return written if isinstance(written, int | float) and math.isfinite(written) else None


def _as_object(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
