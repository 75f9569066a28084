"""What a failure inside pydantic-ai, or inside one of the many libraries below it, becomes here."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, cast

from pydantic import ValidationError
from pydantic_ai.exceptions import (
    ContentFilterError,
    IncompleteToolCall,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRequestRejectedError,
    UserError,
)

from midwatch.kit import json
from midwatch.llm.failures import (
    ProviderFailure,
    cut_in_a_call,
    declined,
    quote_provider,
    refused_by_status,
    reported_in_stream,
)
from midwatch.llm.loose_json import read_fields, read_text

_CATEGORIES: tuple[tuple[type[ModelAPIError], str], ...] = (
    (ModelAuthenticationError, "credentials"),
    (ModelQuotaExceededError, "credentials"),
    (ModelContextWindowExceededError, "context_too_long"),
)
_NETWORK = frozenset({"httpx", "httpx2", "botocore", "urllib3"})
_BAD_ADDRESSES = frozenset({"UnsupportedProtocol", "InvalidURL", "LocalProtocolError"})


def explain(error: Exception, *, is_answering: bool, api_key: str | None) -> ProviderFailure:
    match error:
        case ModelAPIError():
            return _explain_api(error, is_answering=is_answering, api_key=api_key)
        case ContentFilterError():
            return declined()
        case IncompleteToolCall():
            return cut_in_a_call()
        case ValidationError():
            return _malformed()
        case UserError() | ImportError():
            return _fail(error, code="invalid_request", retryable=False, api_key=api_key)
        case _:
            code = "partial_stream_error" if is_answering else "provider_error"
            return _fail(error, code=code, retryable=True, api_key=api_key)


def _explain_api(error: ModelAPIError, *, is_answering: bool, api_key: str | None) -> ProviderFailure:
    failure = _read_api(error, is_answering=is_answering, api_key=api_key)
    if code := next((code for category, code in _CATEGORIES if isinstance(error, category)), None):
        failure.code, failure.retryable = code, False
    failure.retry_after = failure.retry_after or error.retry_after
    return failure


def _read_api(error: ModelAPIError, *, is_answering: bool, api_key: str | None) -> ProviderFailure:
    if error.in_stream:
        return reported_in_stream(_read_body(error.body) or {"message": error.message}, api_key=api_key)
    status, headers = _find_status(error)
    if status is not None:
        body = _read_body(error.body or getattr(error.__cause__, "body", None))
        return refused_by_status(status, json.encode(body), api_key=api_key, headers=headers)
    if isinstance(error, ModelConnectionError):
        return _explain_transport(error, is_answering=is_answering, api_key=api_key)
    if type(error) is ModelAPIError:
        return _malformed()
    passes = not isinstance(error, ModelRequestRejectedError)
    return _fail(error, code="provider_error" if passes else "invalid_request", retryable=passes, api_key=api_key)


def _malformed() -> ProviderFailure:
    """What was wrong is not repeated: it is a piece of the answer."""
    return ProviderFailure("the provider sent a malformed event", code="provider_error", retryable=True)


def _find_status(error: ModelAPIError) -> tuple[int | None, Mapping[str, str]]:
    """A redirect is no HTTP error to the library; what it was stands in the exception below."""
    if isinstance(error, ModelHTTPError):
        return error.status_code, error.headers or {}
    status: Any = getattr(error.__cause__, "status_code", None)
    headers: Any = getattr(getattr(error.__cause__, "response", None), "headers", None)
    is_refusal = isinstance(status, int) and status >= HTTPStatus.MULTIPLE_CHOICES
    return (status, dict(headers or {})) if is_refusal else (None, {})


def _explain_transport(error: ModelConnectionError, *, is_answering: bool, api_key: str | None) -> ProviderFailure:
    root = _find_root(error)
    if type(root).__name__ in _BAD_ADDRESSES:
        return _fail(root, code="invalid_request", retryable=False, api_key=api_key)
    code = "partial_stream_error" if is_answering else "provider_error"
    return _fail(root, code=code, retryable=True, api_key=api_key)


def _find_root(error: BaseException) -> BaseException:
    """The network's own error: the libraries above it only say that there was one."""
    cause: BaseException | None = error
    while cause is not None:
        if type(cause).__module__.partition(".")[0] in _NETWORK:
            return cause
        cause = cause.__cause__
    return error


def _fail(error: BaseException, *, code: str, retryable: bool, api_key: str | None) -> ProviderFailure:
    text = str(error) if isinstance(error, ModelAPIError) else f"{type(error).__name__}: {error}".rstrip(": ")
    return ProviderFailure(quote_provider(text, api_key=api_key), code=code, retryable=retryable)


def _read_body(body: object) -> dict[str, Any]:
    """The libraries hand on what came as text, as a whole, or without its outer layer; Amazon's in capitals."""
    if isinstance(body, str):
        body = _read_text(body)
    if isinstance(body, list) and body:
        body = cast("list[Any]", body)[0]
    fields = read_fields(body)
    if amazon := read_fields(fields.get("Error")):
        return {"message": read_text(amazon.get("Message")), "code": read_text(amazon.get("Code"))}
    return _keep_words(fields.get("error") or fields)


def _read_text(body: str) -> object:
    """A page is not quoted; the text of an error is."""
    try:
        return json.decode(body)
    except ValueError:
        return {} if body.lstrip().startswith("<") else {"message": body}


def _keep_words(error: object) -> dict[str, Any]:
    """Only what is read here, since the rest may be anything at all, such as a date that is no JSON."""
    if isinstance(error, str):
        return {"message": error}
    fields = read_fields(error)
    kept = {key: fields.get(key) for key in ("message", "detail", "code", "type", "details")}
    return {key: value for key, value in kept.items() if isinstance(value, str | int | list)}
