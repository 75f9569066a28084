"""What pydantic found wrong, in sentences an operator can act on. They name keys and what was expected, no values."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from midwatch.config.yaml import KeyPath

_EXPECTED = {
    "string_type": "expected text",
    "path_type": "expected a path",
    "int_type": "expected a whole number",
    "int_parsing": "expected a whole number",
    "int_from_float": "expected a whole number",
    "float_type": "expected a number",
    "float_parsing": "expected a number",
    "finite_number": "expected a number",
    "bool_type": "expected true or false",
    "bool_parsing": "expected true or false",
    "tuple_type": "expected a list",
    "list_type": "expected a list",
    "dict_type": "expected keys with values",
    "model_type": "expected keys with values",
    "model_attributes_type": "expected keys with values",
    "string_too_short": "must not be empty",
    "too_short": "needs at least one entry",
    "none_required": "does not belong here",
}

_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "more than"),
    "less_than_equal": ("le", "at most"),
}


def explain(error: ErrorDetails) -> str:
    context = error.get("ctx", {})
    match error["type"]:
        case "missing":
            return "is missing"
        case "literal_error" | "enum":
            return _explain_choice(context["expected"], error["input"])
        case ("greater_than_equal" | "greater_than" | "less_than_equal") as kind:
            key, bound = _BOUNDS[kind]
            return f"must be {bound} {context[key]:g}"
        case "value_error":
            return str(context["error"])
        case kind:
            return _EXPECTED.get(kind, "is not a valid value")


def explain_unknown_key(key: str, known: Iterable[str]) -> str:
    return f'unknown key "{key}"{suggest(key, known)}'


def suggest(written: str, known: Iterable[str]) -> str:
    """A tail such as `; did you mean "agents"?`, or nothing when nothing is near."""
    near = get_close_matches(written, list(known), n=1)
    return f'; did you mean "{near[0]}"?' if near else ""


def dotted(path: KeyPath) -> str:
    """`agent_chains.web.stages[0].name`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def keys_at(shape: Any, path: KeyPath) -> list[str]:
    """The keys a shape accepts at a path inside it."""
    return sorted({key for model in _models_at(shape, path) for key in model.model_fields})


def _models_at(shape: Any, path: KeyPath) -> Iterator[type[BaseModel]]:
    if isinstance(shape, type) and issubclass(shape, BaseModel):
        if not path:
            yield shape
        elif path[0] in shape.model_fields:
            yield from _models_at(shape.model_fields[str(path[0])].annotation, path[1:])
        return
    for inner in get_args(shape):
        yield from _models_at(inner, path)
        yield from _models_at(inner, path[1:])


def _explain_choice(expected: str, written: object) -> str:
    named = (choice.strip("'") for choice in expected.replace(" or ", ", ").split(", "))
    choices = [choice for choice in named if choice]
    hint = suggest(written, choices) if isinstance(written, str) else ""
    return (
        f"expected {', '.join(choices[:-1])} or {choices[-1]}{hint}" if choices[1:] else f"expected {choices[0]}{hint}"
    )
