"""The `safety` block: how far agents may go, and the operator's rules for single calls."""

import ipaddress
import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from midwatch.config.strict import Name, Strict
from midwatch.domain.safety import ControlLevel, SafetyMode
from midwatch.domain.tools import ToolKind

_HOST = re.compile(r"(?:\*\.)?(?:[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?\.)*[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?")


def _as_list(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _check_destination(written: str) -> str:
    if _HOST.fullmatch(written) and not re.fullmatch(r"[0-9.]+", written):
        return written
    try:
        ipaddress.ip_network(written, strict=True)
    except ValueError:
        raise ValueError("expected a host name, an address or a network such as 10.0.0.0/8") from None
    return written


_OneOrMore = BeforeValidator(_as_list)


class Rule(Strict):
    """What is unset matches everything."""

    tools: Annotated[tuple[Name, ...], _OneOrMore] = Field(default=(), description="Globs over `server.tool`")
    targets: Annotated[tuple[Name, ...], _OneOrMore] = Field(default=(), description="Globs over targets")
    kinds: Annotated[tuple[ToolKind, ...], _OneOrMore] = Field(default=(), description="Kinds of calls")
    risk: Annotated[tuple[Literal["low", "medium", "high"], ...], _OneOrMore] = Field(
        default=(), description="Risks of changes"
    )
    decision: Literal["allow", "ask", "refuse"] = Field(description="What to do with a call that matches")
    reason: str = Field(default="", description="Shown beside the decision")


class Safety(Strict):
    mode: SafetyMode = Field(default=SafetyMode.ENFORCE, description="Refuse, or only record what would be refused")
    control_level: ControlLevel = Field(default=ControlLevel.READ_ONLY, description="How far agents may go")
    strict_resolution: bool = Field(
        default=True, description="A target is changed only after something in the session has found it"
    )
    rules: tuple[Rule, ...] = Field(
        default=(), description="The first that matches a call decides; none allows more than the level"
    )
    egress_allow: tuple[Annotated[Name, AfterValidator(_check_destination)], ...] = Field(
        default=(),
        description="Hosts and networks that commands and looks may reach; others ask a person or are refused",
    )
