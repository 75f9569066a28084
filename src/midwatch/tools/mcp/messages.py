"""MCP's messages as bytes and back. An answer that is none still reaches whoever waits for it."""

import json
from collections.abc import Mapping
from typing import Any, cast

from mcp_types import JSONRPCMessage, JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter
from pydantic import ValidationError

from midwatch.kit.json import decode, encode

MAX_MESSAGE_BYTES = 10 * 1024 * 1024
TOO_LARGE = f"it sent a message over {MAX_MESSAGE_BYTES} bytes"


def encode_message(message: JSONRPCMessage) -> bytes:
    return encode(message.model_dump(by_alias=True, exclude_unset=True))


def find_trace(message: JSONRPCMessage) -> dict[str, str]:
    """The headers that say what the message belongs to, as the message itself has it. None when nobody traces."""
    match message:
        case JSONRPCRequest(params={"_meta": {"traceparent": str() as parent}}):
            return {"traceparent": parent}
        case _:
            return {}


def read_message(line: bytes | bytearray) -> JSONRPCMessage | None:
    """None when it is no message at all."""
    data = _decode_line(line)
    if not isinstance(data, dict):
        return None
    fields = cast("dict[str, Any]", data)
    try:
        if "result" in fields and "method" not in fields:
            # Most of what arrives; the union below would look at each of its members.
            return JSONRPCResponse.model_validate(fields)
        return jsonrpc_message_adapter.validate_python(fields, by_name=False)
    except ValidationError:
        return _fail_request(fields)


def _decode_line(line: bytes | bytearray) -> Any:
    try:
        return decode(bytes(line))
    except ValueError:
        pass
    try:
        # Broken text inside whole JSON, such as half a surrogate pair, costs its characters and not the answer.
        return decode(encode(json.loads(line.decode(errors="replace"))))
    except (ValueError, TypeError, RecursionError):
        return None


def _fail_request(fields: Mapping[str, Any]) -> JSONRPCMessage | None:
    """An answer that is none fails its request now, as an empty result that no method takes for valid."""
    match fields:
        case {"id": bool()} | {"method": _}:
            return None
        case {"id": int() | str() as request_id}:
            return JSONRPCResponse(jsonrpc="2.0", id=request_id, result={})
        case _:
            return None
