"""What a tool was when the operator vouched for it: a kind holds for one definition, not for a name."""

import hashlib
import json
from typing import Any

from midwatch.domain.tools import ToolDefinition, ToolKind
from midwatch.safety.kinds import KindVerdict

CHANGED = KindVerdict(kind=ToolKind.WRITE, proven=False, rule="pin:changed")
"""Somebody vouched for another definition of the tool."""


def needs_pin(verdict: KindVerdict) -> bool:
    """Only what was vouched for as harmless can turn out to be less so."""
    return verdict.proven and verdict.kind in (ToolKind.READ, ToolKind.RESOLVE)


def describe_definition(tool: ToolDefinition) -> dict[str, Any]:
    """All that a server says of a tool, and so all that an operator can have judged it by."""
    return {
        "name": tool.name,
        "description": tool.description,
        "schema": dict(tool.schema),
        "annotations": dict(tool.annotations),
    }


def take_fingerprint(tool: ToolDefinition) -> str:
    """The same for the same words, in whatever order a server writes the keys."""
    text = json.dumps(describe_definition(tool), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
