"""Tools as a model is told of them: a server's words about its tools may hold a secret like all its other words."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast, final

from midwatch.domain.tools import ToolDefinition
from midwatch.masking.mask import Mask, mask_result

_Told = tuple[ToolDefinition, ToolDefinition]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Introduction:
    """Masks each definition once."""

    masks: Mapping[str, Mask]
    """By server id; the tools of any other server are told as they are."""
    _told: dict[str, _Told] = field(default_factory=dict[str, _Told])

    def __call__(self, tool: ToolDefinition) -> ToolDefinition:
        """The very same where there is nothing to hide."""
        known, told = self._told.get(tool.full_name, (None, tool))
        if known is not tool:
            told = self._mask(tool)
            self._told[tool.full_name] = (tool, told)
        return told

    def _mask(self, tool: ToolDefinition) -> ToolDefinition:
        mask = self.masks.get(tool.server)
        if mask is None:
            return tool
        description, schema = mask_result(mask, tool.description), _mask_texts(mask, dict(tool.schema))
        if (description, schema) == (tool.description, tool.schema):
            return tool
        return replace(tool, description=description, schema=schema)


def _mask_texts(mask: Mask, value: Any) -> Any:
    match value:
        case str():
            return mask_result(mask, value)
        case dict():
            return {name: _mask_texts(mask, part) for name, part in cast("dict[str, Any]", value).items()}
        case list():
            return [_mask_texts(mask, part) for part in cast("list[Any]", value)]
        case _:
            return value
