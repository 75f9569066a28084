"""The configuration reference, written from the models themselves so that it cannot go stale."""

import types
from collections.abc import Iterator
from datetime import timedelta
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from midwatch.config.agents import Agent
from midwatch.config.chains import Chain
from midwatch.config.defaults import Defaults
from midwatch.config.llm import OpenAiProvider, ScriptedProvider
from midwatch.config.mcp import McpServer
from midwatch.config.queue import Queue
from midwatch.config.safety import Safety

_INTRODUCTION = """\
# Configuration

A folder with two files: `midwatch.yaml` and `llm-providers.yaml`. `{{.VAR}}` in them is replaced from the environment
or from a `.env` beside them; a variable that is not set is an error. So is a key that is not in this list, with the
line it stands on and the key you may have meant. A folder with `tarsy.yaml` instead of `midwatch.yaml` loads too: there
unknown keys and missing variables are warnings, and `safety.mode` starts as `observe`.

Durations are written like `90s`, `1m30s`, `500ms` or as a number of seconds. Written from the models; do not edit.
"""

_SECTIONS: tuple[tuple[str, str, type[BaseModel]], ...] = (
    ("midwatch.yaml", "mcp_servers.<id>", McpServer),
    ("midwatch.yaml", "agents.<name>", Agent),
    ("midwatch.yaml", "agent_chains.<id>", Chain),
    ("midwatch.yaml", "defaults", Defaults),
    ("midwatch.yaml", "queue", Queue),
    ("midwatch.yaml", "safety", Safety),
    ("llm-providers.yaml", "llm_providers.<name> with type openai", OpenAiProvider),
    ("llm-providers.yaml", "llm_providers.<name> with type scripted", ScriptedProvider),
)


def render_reference() -> str:
    lines = [_INTRODUCTION]
    for file, path, model in _SECTIONS:
        lines += [f"## `{path}` in {file}", "", "| key | type | default | meaning |", "|---|---|---|---|"]
        lines += [*_rows(model, prefix=""), ""]
    return "\n".join(lines).rstrip() + "\n"


def _rows(model: type[BaseModel], *, prefix: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        if field.annotation is type(None):
            continue
        key = f"{prefix}{name}"
        inner, many = _inner_model(field.annotation)
        yield f"| `{key}` | {_type(field.annotation)} | {_default(field)} | {field.description or ''} |"
        if inner is not None:
            yield from _rows(inner, prefix=f"{key}[]." if many else f"{key}.")


def _inner_model(annotation: Any) -> tuple[type[BaseModel] | None, bool]:
    for part in _parts(annotation):
        if isinstance(part, type) and issubclass(part, BaseModel):
            return part, False
        if get_origin(part) is tuple:
            return _inner_model(get_args(part)[0])[0], True
    return None, False


def _parts(annotation: Any) -> tuple[Any, ...]:
    if get_origin(annotation) is Annotated:
        return _parts(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return tuple(part for arm in get_args(annotation) if arm is not type(None) for part in _parts(arm))
    return (annotation,)


def _type(annotation: Any) -> str:
    return " or ".join(dict.fromkeys(_type_name(part) for part in _parts(annotation)))


_NAMES: dict[Any, str] = {str: "text", int: "number", bool: "true or false", timedelta: "duration", Path: "path"}


def _type_name(part: Any) -> str:
    origin = get_origin(part)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in get_args(part))
    if origin is tuple:
        return f"list of {_type(get_args(part)[0])}"
    if origin is dict:
        return f"map of {_type(get_args(part)[1])}"
    return _NAMES.get(part) or _class_name(part)


def _class_name(kind: type[Any]) -> str:
    if issubclass(kind, Enum):
        return ", ".join(f"`{value}`" for value in kind.__members__.values())
    return "block" if issubclass(kind, BaseModel) else kind.__name__


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value: Any = field.get_default(call_default_factory=True, validated_data={})
    match value:
        case None | "" | () | BaseModel() | dict():
            return ""
        case bool():
            return str(value).lower()
        case timedelta():
            return f"{value.total_seconds():g}s"
        case _ if value is PydanticUndefined:
            return ""
        case _:
            return f"`{value}`"


if __name__ == "__main__":
    print(render_reference(), end="")  # noqa: T201 -- this is what running it is for
