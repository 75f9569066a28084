"""Tool names as providers take them: `server.tool` here, `server__tool` on the wire.

The wire name depends on the name alone, so a past call keeps its wire name whatever tools are offered now.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from midwatch.domain.tools import ToolDefinition

_LEGAL = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_RUN_TO_REPLACE = re.compile(r"[^a-zA-Z0-9-]+")
# 64 bits: one server cannot search for a name that answers in the place of another server's tool.
_DIGEST_LENGTH = 16
_STEM_LENGTH = 64 - _DIGEST_LENGTH - 1


@dataclass(frozen=True, slots=True)
class ToolNames:
    """The names of one list of tools, wire name first."""

    by_wire: Mapping[str, str]

    def decode(self, wire: str) -> str:
        """The name of the tool; a name the model made up is only spelt our way, so that it can be refused by name."""
        return self.by_wire.get(wire) or _spell_plainly(wire)


def build_names(tools: Iterable[ToolDefinition]) -> ToolNames:
    return ToolNames({encode_name(tool.full_name): tool.full_name for tool in tools})


def encode_name(name: str) -> str:
    """The wire name: plain when that can be read back, otherwise a readable stem with a digest of the name."""
    plain = name.replace(".", "__", 1)
    if _LEGAL.fullmatch(plain) and _spell_plainly(plain) == name:
        return plain
    return _digested(name)


def _spell_plainly(wire: str) -> str:
    return wire.replace("__", ".", 1)


def _digested(name: str) -> str:
    # A stem never holds "__" and a plain name of a tool always does: the two kinds cannot meet.
    stem = _RUN_TO_REPLACE.sub("_", name)[:_STEM_LENGTH].rstrip("_") or "tool"
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_LENGTH]
    return f"{stem}_{digest}"
