"""The configuration reference, written from the models themselves so that it cannot go stale."""

import types
from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from midwatch.config.agents import Agent
from midwatch.config.approvals import Approvals
from midwatch.config.chains import Chain
from midwatch.config.defaults import Defaults
from midwatch.config.llm import PROVIDER_SHAPES, LlmService
from midwatch.config.mcp import McpServer
from midwatch.config.queue import Queue
from midwatch.config.safety import Safety
from midwatch.config.system import System
from midwatch.config.telemetry import Telemetry

_INTRODUCTION = """\
# Configuration

A folder with two files: `midwatch.yaml` and `llm-providers.yaml`. `{{.VAR}}` in them is replaced from the environment
or from a `.env` beside them; a variable that is not set is an error. So is a key that is not in this list, with the
line it stands on and the key you may have meant. `midwatch check-config` says the same without starting anything.

A folder with `tarsy.yaml` instead of `midwatch.yaml` loads too: there unknown keys, missing variables and values that
TARSy never looks at are warnings, and `safety.mode` starts as `observe`.

Some things are there without being written: the agents `KubernetesAgent`, `ChatAgent`, `SynthesisAgent`,
`ExecSummaryAgent`, `ScoringAgent`, `WebResearcher`, `CodeExecutor` and `GeneralWorker`; the tool server
`kubernetes-server`; the chain `kubernetes`, where `defaults.llm_provider` is set and no chain of yours takes its alert
type; and a provider for each well-known model. An entry of yours with the same name takes its place as a whole. What
nothing refers to is neither started nor asked for a key.

Without any folder an agent looks at the machine that Midwatch runs on, with the built-in provider of the first of these
variables that is set: `OPENAI_API_KEY`, `ANTHROPIC_API_KEY`, `GOOGLE_API_KEY`, `XAI_API_KEY`. With none of them it is
the built-in provider `demo`, which follows rules and is no language model.

Skills stand in the folder `skills`: `<name>/SKILL.md` or `<name>.md`, each beginning with its `name` and `description`
between two lines of `---`.

Durations are written like `90s`, `1m30s`, `500ms` or as a number of seconds. Written from the models; do not edit.
"""

_MAIN = "midwatch.yaml"
_PROVIDERS = "llm-providers.yaml"
_SECTIONS: tuple[tuple[str, str, type[BaseModel]], ...] = (
    (_MAIN, "mcp_servers.<id>", McpServer),
    (_MAIN, "agents.<name>", Agent),
    (_MAIN, "agent_chains.<id>", Chain),
    (_MAIN, "defaults", Defaults),
    (_MAIN, "queue", Queue),
    (_MAIN, "system", System),
    (_MAIN, "safety", Safety),
    (_MAIN, "approvals", Approvals),
    (_MAIN, "llm", LlmService),
    (_MAIN, "telemetry", Telemetry),
    *((_PROVIDERS, f"llm_providers.<name> with type {kind}", shape) for kind, shape in PROVIDER_SHAPES.items()),
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
        yield f"| `{key}` | {_type(field.annotation)} | {_default(field)} | {field.description or ''} |"
        for inner, joint in _inner_models(field.annotation):
            yield from _rows(inner, prefix=f"{key}{joint}")


def _inner_models(annotation: Any) -> Iterator[tuple[type[BaseModel], str]]:
    """The models a field may hold, and what stands between its key and theirs."""
    for part in _parts(annotation):
        if isinstance(part, type) and issubclass(part, BaseModel):
            yield part, "."
        elif get_origin(part) is tuple:
            yield from ((model, f"[]{joint}") for model, joint in _inner_models(get_args(part)[0]))
        elif get_origin(part) is dict:
            yield from ((model, f".<name>{joint}") for model, joint in _inner_models(get_args(part)[1]))


def _parts(annotation: Any) -> tuple[Any, ...]:
    if get_origin(annotation) is Annotated:
        return _parts(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return tuple(part for arm in get_args(annotation) if arm is not type(None) for part in _parts(arm))
    return (annotation,)


def _type(annotation: Any) -> str:
    return " or ".join(dict.fromkeys(_type_name(part) for part in _parts(annotation)))


_NAMES: dict[Any, str] = {
    str: "text",
    int: "number",
    float: "number",
    bool: "true or false",
    timedelta: "duration",
    datetime: "time",
    Path: "path",
}


def _type_name(part: Any) -> str:
    origin = get_origin(part)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in get_args(part) if value)
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
    return _value(field.get_default(call_default_factory=True, validated_data={}))


def _value(value: Any) -> str:
    match value:
        case None | "" | BaseModel() | dict() | (BaseModel(), *_):
            return ""
        case bool():
            return str(value).lower()
        case timedelta():
            return f"{value.total_seconds():g}s"
        case tuple():
            return ", ".join(_value(item) for item in cast("tuple[Any, ...]", value))
        case _:
            return f"`{value}`"


if __name__ == "__main__":
    print(render_reference(), end="")  # noqa: T201 -- this is what running it is for
