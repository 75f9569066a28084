"""Failures inside pydantic-ai and below, whatever the way they came, end in our codes."""

import pytest
from pydantic import TypeAdapter, ValidationError
from pydantic_ai.exceptions import (
    ContentFilterError,
    IncompleteToolCall,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelServerError,
    UserError,
)

from midwatch.llm.providers.longtail.faults import explain

KEY = "sk-1"
AMAZON = {"Error": {"Message": f"no {KEY}", "Code": "AccessDeniedException"}, "ResponseMetadata": {}}


def find_validation_error() -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(int).validate_python("a piece of the answer")
    return caught.value


@pytest.mark.parametrize(
    ("error", "outcome", "text"),
    [
        (ModelAuthenticationError("m", f"who is {KEY}"), ("credentials", False), "who is [MASKED_API_KEY]"),
        (ModelQuotaExceededError("m", "no money"), ("credentials", False), "no money"),
        (ModelContextWindowExceededError("m", "too much"), ("context_too_long", False), "too much"),
        (ModelRequestRejectedError("m", "odd"), ("invalid_request", False), "odd"),
        (ModelRateLimitError("m", "slow down"), ("provider_error", True), "slow down"),
        (ModelServerError("m", "broken"), ("provider_error", True), "broken"),
        (ModelAPIError("m", "not JSON: a piece"), ("provider_error", True), "the provider sent a malformed event"),
        (ModelConnectionError("m", "gone"), ("provider_error", True), "gone"),
        (ModelHTTPError(403, "m", AMAZON), ("credentials", False), "HTTP 403: no [MASKED_API_KEY]"),
        (ModelHTTPError(503, "m", '{"message": "busy"}'), ("provider_error", True), "HTTP 503: busy"),
        (ModelHTTPError(503, "m", "busy"), ("provider_error", True), "HTTP 503: busy"),
        (ModelHTTPError(502, "m", "<html>"), ("provider_error", True), "HTTP 502"),
        (ContentFilterError("flagged"), ("content_filter", False), "the provider declined to answer"),
        (UserError("cannot"), ("invalid_request", False), "UserError: cannot"),
        (ImportError("no boto"), ("invalid_request", False), "ImportError: no boto"),
        (RuntimeError(f"odd {KEY}"), ("provider_error", True), "RuntimeError: odd [MASKED_API_KEY]"),
        (find_validation_error(), ("provider_error", True), "the provider sent a malformed event"),
    ],
)
def test_each_failure_has_its_code(error: Exception, outcome: tuple[str, bool], text: str) -> None:
    failure = explain(error, is_answering=False, api_key=KEY)
    assert (failure.code, failure.retryable) == outcome
    assert str(failure) == text


@pytest.mark.parametrize("error", [ModelConnectionError("m", "gone"), RuntimeError("gone")])
def test_what_breaks_in_the_middle_of_an_answer_says_so(error: Exception) -> None:
    assert explain(error, is_answering=True, api_key=None).code == "partial_stream_error"


def test_a_call_that_was_cut_is_said_to_be_cut() -> None:
    assert explain(IncompleteToolCall("cut"), is_answering=True, api_key=None).code == "answer_too_long"


@pytest.mark.parametrize(
    "error",
    [
        ModelRateLimitError("m", "slow down", retry_after=7.0),
        ModelHTTPError(429, "m", {}, headers={"retry-after": "7"}),
        ModelHTTPError(429, "m", {}, headers={"Retry-After-Ms": "7000"}),
    ],
)
def test_a_pause_that_was_asked_for_is_handed_on(error: Exception) -> None:
    assert explain(error, is_answering=False, api_key=None).retry_after == 7.0
