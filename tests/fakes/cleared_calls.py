"""Calls as the gate would hand them on, for tests of what lies behind it."""

from collections.abc import Mapping
from typing import Any

from midwatch.domain.tools import Clearance, ClearedCall, ToolCall, ToolKind
from midwatch.kit.ids import new_id
from midwatch.kit.json import encode_text
from tests.fakes.toolset import define_tool

_NONE: Mapping[str, Any] = {}


def cleared_read(
    name: str, arguments: Mapping[str, Any] = _NONE, *, proven: bool = True, timeout: float = 10.0
) -> ClearedCall:
    return _clear(name, arguments, kind=ToolKind.READ, proven=proven, timeout=timeout)


def cleared_write(name: str, arguments: Mapping[str, Any] = _NONE, *, timeout: float = 10.0) -> ClearedCall:
    return _clear(name, arguments, kind=ToolKind.WRITE, proven=True, timeout=timeout)


def _clear(name: str, arguments: Mapping[str, Any], *, kind: ToolKind, proven: bool, timeout: float) -> ClearedCall:
    return ClearedCall(
        call=ToolCall(call_id=new_id(), provider_id="call_1", name=name, arguments=encode_text(arguments)),
        tool=define_tool(name),
        arguments=arguments,
        clearance=Clearance(kind=kind, proven=proven, rule="test", targets=(), timeout=timeout),
    )
