"""What a failed request to a provider becomes: a stable code, whether to try again, and a text without the key."""

import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from ssl import SSLError
from typing import Any, cast

import httpx

from midwatch.domain.errors import ModelUnavailable
from midwatch.kit import json
from midwatch.llm.pauses import read_delay, read_pause

LONGEST_RETRY_AFTER = 20.0
"""Seconds. Whoever is asked to wait longer is better served elsewhere."""
_TEXT_LIMIT = 300
_CREDENTIALS = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.PAYMENT_REQUIRED, HTTPStatus.FORBIDDEN})
_REDIRECTS = range(300, 400)
_TRANSIENT = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS})
_OUR_FAULT = (httpx.UnsupportedProtocol, httpx.LocalProtocolError)
_UNREACHED = (httpx.ConnectError, httpx.ConnectTimeout)
_NO_HEADERS: Mapping[str, str] = {}

Verdict = tuple[str, bool]
"""The code, and whether it helps to ask again."""

_CREDENTIALS_VERDICT: Verdict = ("credentials", False)
_TOO_LONG: Verdict = ("context_too_long", False)
_FILTERED: Verdict = ("content_filter", False)
_REFUSED: Verdict = ("invalid_request", False)
_PASSING: Verdict = ("provider_error", True)

# Names that say more than the status they come with, as the providers write them in `code` or `type`.
_BY_NAME: Mapping[str, Verdict] = {
    "billing_error": _CREDENTIALS_VERDICT,
    "insufficient_quota": _CREDENTIALS_VERDICT,
    "invalid_api_key": _CREDENTIALS_VERDICT,
    "context_length_exceeded": _TOO_LONG,
    "exceed_context_size_error": _TOO_LONG,
    "request_too_large": _TOO_LONG,
    "content_filter": _FILTERED,
    "content_policy_violation": _FILTERED,
    "invalid_prompt": _FILTERED,
}
# Names that stand in for the status where an error comes without one, inside a stream.
_WITHOUT_STATUS: Mapping[str, Verdict] = {
    "authentication_error": _CREDENTIALS_VERDICT,
    "permission_error": _CREDENTIALS_VERDICT,
    "invalid_request_error": _REFUSED,
    "not_found_error": _REFUSED,
    "model_not_found": _REFUSED,
}
# Several providers answer 400 to a wrong key or a conversation that grew too long, and only the text tells.
_BY_TEXT: tuple[tuple[re.Pattern[str], Verdict], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), verdict)
    for pattern, verdict in (
        (r"prompt is too long|exceeds? (the )?(available )?context", _TOO_LONG),
        (r"exceed(s|ed)? context limit|maximum (context|prompt) length", _TOO_LONG),
        (r"input token count.{0,40}exceeds", _TOO_LONG),
        (r"(incorrect|invalid) api key|api key (not valid|expired)|credit balance is too low", _CREDENTIALS_VERDICT),
        (r"content management policy|flagged as potentially violating|content filtering policy", _FILTERED),
    )
)


class ProviderFailure(ModelUnavailable):
    """A failed request, with the wait the provider asked for."""

    def __init__(self, message: str, *, code: str, retryable: bool, retry_after: float | None = None) -> None:
        super().__init__(message, code=code, retryable=retryable)
        self.retry_after = retry_after


def refused_by_status(
    status: int, body: bytes, *, api_key: str | None, headers: Mapping[str, str] = _NO_HEADERS
) -> ProviderFailure:
    error = _read_error(body)
    code, retryable = _judge(error, status)
    text = f"HTTP {status}"
    if explanation := _find_message(error) or _find_redirect(status, headers):
        text = f"{text}: {quote_provider(explanation, api_key=api_key)}"
    return ProviderFailure(text, code=code, retryable=retryable, retry_after=read_pause(headers, error))


def reported_in_stream(error: Any, *, api_key: str | None) -> ProviderFailure:
    """The provider answered 200 and then sent an error instead of the rest."""
    text = f"the provider reported: {quote_provider(_find_message(error), api_key=api_key)}"
    status: Any = cast("dict[str, Any]", error).get("code") if isinstance(error, dict) else None
    is_status = isinstance(status, int) and status >= HTTPStatus.BAD_REQUEST
    code, retryable = _judge(error, status if is_status else None)
    return ProviderFailure(text, code=code, retryable=retryable, retry_after=read_delay(error))


def broken_transport(error: httpx.HTTPError | SSLError, *, is_answering: bool, api_key: str | None) -> ProviderFailure:
    reason = f"{type(error).__name__}: {error}".rstrip(": ")
    if isinstance(error, _UNREACHED):
        reason = f"cannot reach {error.request.url.netloc.decode()}: {reason}"
    reason = quote_provider(reason, api_key=api_key)
    if isinstance(error, _OUR_FAULT):
        return ProviderFailure(reason, code="invalid_request", retryable=False)
    code = "partial_stream_error" if is_answering else "provider_error"
    return ProviderFailure(reason, code=code, retryable=True)


def no_stream(kind: str) -> ProviderFailure:
    """Something else than a model answered, such as a proxy's login page."""
    text = f"the answer is {kind} and not a stream of events; is the provider's address right?"
    return ProviderFailure(text, code="provider_error", retryable=True)


def declined(explanation: str = "", *, api_key: str | None = None) -> ProviderFailure:
    """The provider let the answer end because of what is asked or said in it."""
    text = f"the provider declined to answer: {quote_provider(explanation, api_key=api_key)}".rstrip(": ")
    return ProviderFailure(text, code="content_filter", retryable=False)


def cut_in_a_call() -> ProviderFailure:
    """Half a call must not be run, and what is whole beside it may need the other half. A new try may be shorter."""
    text = "the answer reached its limit in the middle of a tool call"
    return ProviderFailure(text, code="answer_too_long", retryable=True)


def quote_provider(text: str, *, api_key: str | None) -> str:
    """Hides the key first and cuts after, so that no half of a key is left."""
    if api_key:
        text = text.replace(api_key, "[MASKED_API_KEY]")
    return text[:_TEXT_LIMIT]


def _judge(error: Any, status: int | None) -> Verdict:
    names = _find_names(error)
    if named := _look_up(names, _BY_NAME):
        return named
    verdict = _look_up(names, _WITHOUT_STATUS) if status is None else _judge_status(status)
    if verdict in {None, _REFUSED}:
        verdict = _judge_text(_find_message(error)) or verdict
    return verdict or _PASSING


def _judge_status(status: int) -> Verdict:
    if status in _CREDENTIALS:
        return _CREDENTIALS_VERDICT
    if status in _TRANSIENT or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return _PASSING
    return _TOO_LONG if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE else _REFUSED


def _judge_text(text: str) -> Verdict | None:
    return next((verdict for pattern, verdict in _BY_TEXT if pattern.search(text)), None)


def _look_up(names: Sequence[str], table: Mapping[str, Verdict]) -> Verdict | None:
    return next((table[name] for name in names if name in table), None)


def _find_names(error: Any) -> list[str]:
    if not isinstance(error, Mapping):
        return []
    fields = cast("Mapping[str, Any]", error)
    return [name for name in (fields.get("code"), fields.get("type")) if isinstance(name, str)]


def _read_error(body: bytes) -> Any:
    try:
        answer = json.decode(body)
    except ValueError:
        return None
    if isinstance(answer, list) and answer:
        answer = cast("list[Any]", answer)[0]
    if not isinstance(answer, dict):
        return None
    fields = cast("dict[str, Any]", answer)
    return fields.get("error") or fields


def _find_redirect(status: int, headers: Mapping[str, str]) -> str:
    """Without its query, where others keep their secrets."""
    location = headers.get("location", "").partition("?")[0]
    if not location or status not in _REDIRECTS:
        return ""
    return f"it leads on to {location}, and redirects are not followed; name the right address"


def _find_message(error: Any) -> str:
    if isinstance(error, str):
        return error
    if not isinstance(error, Mapping):
        return ""
    fields = cast("Mapping[str, Any]", error)
    message = fields.get("message") or fields.get("detail")
    return message if isinstance(message, str) else ""
