"""What a failed request to a provider becomes: a stable code, whether to try again, and a text without the key."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, cast

import httpx

from midwatch.domain.errors import ModelUnavailable
from midwatch.kit import json

_TEXT_LIMIT = 300
_LONGEST_RETRY_AFTER = 20.0
_CREDENTIALS = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.PAYMENT_REQUIRED, HTTPStatus.FORBIDDEN})
_TRANSIENT = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS})
_OUR_FAULT = (httpx.UnsupportedProtocol, httpx.LocalProtocolError)


class ProviderFailure(ModelUnavailable):
    """A failed request, with the wait the provider asked for."""

    def __init__(self, message: str, *, code: str, retryable: bool, retry_after: float | None = None) -> None:
        super().__init__(message, code=code, retryable=retryable)
        self.retry_after = retry_after


def refused_by_status(
    status: int, body: bytes, *, api_key: str | None, retry_after: str | None = None
) -> ProviderFailure:
    code, retryable = _judge_status(status)
    text = f"HTTP {status}"
    if explanation := _read_explanation(body):
        text = f"{text}: {quote_provider(explanation, api_key=api_key)}"
    return ProviderFailure(text, code=code, retryable=retryable, retry_after=_read_seconds(retry_after))


def reported_in_stream(error: Any, *, api_key: str | None) -> ProviderFailure:
    """The provider answered 200 and then sent an error instead of the rest."""
    text = f"the provider reported: {quote_provider(_find_message(error), api_key=api_key)}"
    status: Any = cast("dict[str, Any]", error).get("code") if isinstance(error, dict) else None
    is_status = isinstance(status, int) and status >= HTTPStatus.BAD_REQUEST
    code, retryable = _judge_status(status) if is_status else ("provider_error", True)
    return ProviderFailure(text, code=code, retryable=retryable)


def broken_transport(error: httpx.HTTPError, *, is_answering: bool, api_key: str | None) -> ProviderFailure:
    reason = quote_provider(f"{type(error).__name__}: {error}".rstrip(": "), api_key=api_key)
    if isinstance(error, _OUR_FAULT):
        return ProviderFailure(reason, code="invalid_request", retryable=False)
    code = "partial_stream_error" if is_answering else "provider_error"
    return ProviderFailure(reason, code=code, retryable=True)


def quote_provider(text: str, *, api_key: str | None) -> str:
    """Hides the key first and cuts after, so that no half of a key is left."""
    if api_key:
        text = text.replace(api_key, "[MASKED_API_KEY]")
    return text[:_TEXT_LIMIT]


def _judge_status(status: int) -> tuple[str, bool]:
    if status in _CREDENTIALS:
        return "credentials", False
    if status in _TRANSIENT or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "provider_error", True
    return "invalid_request", False


def _read_explanation(body: bytes) -> str:
    try:
        answer = json.decode(body)
    except ValueError:
        return ""
    if isinstance(answer, list) and answer:
        answer = cast("list[Any]", answer)[0]
    if not isinstance(answer, dict):
        return ""
    fields = cast("dict[str, Any]", answer)
    return _find_message(fields.get("error") or fields)


def _find_message(error: Any) -> str:
    if isinstance(error, str):
        return error
    if not isinstance(error, Mapping):
        return ""
    fields = cast("Mapping[str, Any]", error)
    message = fields.get("message") or fields.get("detail")
    return message if isinstance(message, str) else ""


def _read_seconds(header: str | None) -> float | None:
    try:
        seconds = float(header or "")
    except ValueError:
        return None
    return min(seconds, _LONGEST_RETRY_AFTER) if seconds >= 0 else None
