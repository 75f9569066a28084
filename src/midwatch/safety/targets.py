"""What a call acts on, by the operator's templates over its arguments. Without one, on its server as a whole."""

from collections.abc import Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any, Final, cast

from midwatch.domain.tools import Refusal, ToolKind
from midwatch.safety.context import SERVER_PREFIX
from midwatch.safety.refusals import Code, build_refusal
from midwatch.safety.resources import Origin, Resource, as_part, escape_part, find_flaw, first_match, split_id

_LOOKS: Final = (ToolKind.READ, ToolKind.RESOLVE)
_FORM: Final = "expected text with arguments in braces, such as pod:{namespace}:{name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    id: str
    parent: str | None = None
    """The id of what it is a part of or runs on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetTemplate:
    target: str
    parent: str | None = None


def check_template(template: str) -> str | None:
    """What is wrong with a template, for whoever wrote it."""
    try:
        pieces = list(Formatter().parse(template))
    except ValueError:
        return _FORM
    if not all(_is_hole(*piece) for _, *piece in pieces if piece[0] is not None):
        return _FORM
    flaw = find_flaw("".join(literal for literal, *_ in pieces) or "x")
    if flaw is not None:
        return f"the text around the braces {flaw}"
    return f"{SERVER_PREFIX} stands for tool servers" if template.startswith(SERVER_PREFIX) else None


def find_target(
    tool: str, arguments: Mapping[str, Any], *, server: str, templates: Mapping[str, TargetTemplate], kind: ToolKind
) -> Target | Refusal:
    """`templates` by globs over the tools' own names; the first that matches counts.

    A change whose template cannot be filled is refused; a look then speaks of the server as a whole.
    """
    whole = Target(id=f"{SERVER_PREFIX}{server}")
    template = first_match(tool, templates)
    if template is None:
        return whole
    filled = _fill_both(template, arguments)
    return whole if isinstance(filled, Refusal) and kind in _LOOKS else filled


def read_target(target: Target, *, origin: Origin | None = None) -> Resource | None:
    """What a target says of itself, once a tool that gets one thing has got it."""
    parts = split_id(target.id)
    if parts is None or target.id.startswith(SERVER_PREFIX):
        return None
    return Resource(kind=parts.kind, host=parts.host, uid=parts.uid, parent=target.parent, origin=origin)


def _is_hole(name: str | None, layout: str | None, conversion: str | None) -> bool:
    is_plain = not layout and not conversion
    return is_plain and name is not None and all(part.isidentifier() for part in name.split("."))


def _fill_both(template: TargetTemplate, arguments: Mapping[str, Any]) -> Target | Refusal:
    target = _fill(template.target, arguments)
    if isinstance(target, Refusal):
        return target
    parent = None if template.parent is None else _fill(template.parent, arguments)
    return parent if isinstance(parent, Refusal) else Target(id=target, parent=parent)


def _fill(template: str, arguments: Mapping[str, Any]) -> str | Refusal:
    pieces = list(Formatter().parse(template))
    # Alone in its template, an argument may be a whole id; elsewhere it is one part of one.
    is_alone = len(pieces) == 1 and not pieces[0][0]
    filled: list[str] = []
    for literal, name, _, _ in pieces:
        filled.append(literal)
        if name is not None:
            value = _read_argument(name, arguments)
            if isinstance(value, Refusal):
                return value
            filled.append(value if is_alone else escape_part(value))
    text = "".join(filled)
    return _refuse_argument(template, "would stand for a tool server") if text.startswith(SERVER_PREFIX) else text


def _read_argument(name: str, arguments: Mapping[str, Any]) -> str | Refusal:
    value: Any = arguments
    for part in name.split("."):
        value = cast("Mapping[str, Any]", value).get(part) if isinstance(value, Mapping) else None
    text = as_part(value)
    if text is None:
        return _refuse_argument(name, "is missing" if value is None else "is neither a text nor a whole number")
    flaw = find_flaw(text)
    return text if flaw is None else _refuse_argument(name, flaw)


def _refuse_argument(name: str, flaw: str) -> Refusal:
    return build_refusal(
        Code.INVALID_INPUT,
        f"what would be changed cannot be told: {name} {flaw}",
        hint=f"Nothing was sent. Name exactly one thing in {name}, then call the tool again.",
        details={"argument": name},
    )
