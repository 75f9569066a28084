"""What a provider's error becomes: the same code for the same trouble, whoever reports it and in whatever words."""

import pytest

from midwatch.kit import json
from midwatch.llm.failures import refused_by_status, reported_in_stream

TOO_LONG = ("context_too_long", False)
FILTERED = ("content_filter", False)
CREDENTIALS = ("credentials", False)
PASSING = ("provider_error", True)
REFUSED = ("invalid_request", False)

BY_STATUS = [
    # OpenAI
    (
        400,
        {"message": "This model's maximum context length is 8192 tokens.", "code": "context_length_exceeded"},
        TOO_LONG,
    ),
    (400, {"message": "The response was filtered", "code": "content_filter"}, FILTERED),
    (429, {"message": "Check your plan and billing", "code": "insufficient_quota"}, CREDENTIALS),
    (429, {"message": "Limit 30000 tokens per min", "code": "rate_limit_exceeded"}, PASSING),
    (404, {"message": "no such model", "code": "model_not_found"}, REFUSED),
    # vLLM and llama.cpp
    (400, {"message": "This model's maximum context length is 4096 tokens", "code": 400}, TOO_LONG),
    (400, {"message": "the request exceeds the available context size", "type": "exceed_context_size_error"}, TOO_LONG),
    # Anthropic
    (400, {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum"}, TOO_LONG),
    (413, {"type": "request_too_large", "message": "Request exceeds the maximum size"}, TOO_LONG),
    (402, {"type": "billing_error", "message": "pay"}, CREDENTIALS),
    (529, {"type": "overloaded_error", "message": "Overloaded"}, PASSING),
    # Gemini
    (
        400,
        {
            "code": 400,
            "status": "INVALID_ARGUMENT",
            "message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        },
        TOO_LONG,
    ),
    (400, {"code": 400, "message": "API key not valid. Please pass a valid API key."}, CREDENTIALS),
    (429, {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "quota"}, PASSING),
    # xAI
    (400, "Incorrect API key provided: xai-***", CREDENTIALS),
    (400, "This model's maximum prompt length is 131072 but the request contains 140000 tokens.", TOO_LONG),
    # Whoever is short of words
    (400, None, REFUSED),
    (413, None, TOO_LONG),
    (500, {"message": "prompt is too long"}, PASSING),
]


@pytest.mark.parametrize(("status", "error", "outcome"), BY_STATUS)
def test_a_refused_request_has_its_code(status: int, error: object, outcome: tuple[str, bool]) -> None:
    failure = refused_by_status(status, json.encode({"error": error}), api_key=None)
    assert (failure.code, failure.retryable) == outcome


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, PASSING),
        ({"type": "authentication_error", "message": "no"}, CREDENTIALS),
        ({"type": "invalid_request_error", "message": "odd"}, REFUSED),
        ({"type": "invalid_request_error", "message": "prompt is too long"}, TOO_LONG),
        ({"message": "prompt is too long"}, TOO_LONG),
        ({"code": 429, "message": "prompt is too long"}, PASSING),
        ({"code": 400, "message": "odd"}, REFUSED),
        ({"code": "brand_new", "message": "odd"}, PASSING),
        ("busy", PASSING),
        (None, PASSING),
    ],
)
def test_an_error_inside_a_stream_has_its_code(error: object, outcome: tuple[str, bool]) -> None:
    failure = reported_in_stream(error, api_key=None)
    assert (failure.code, failure.retryable) == outcome


@pytest.mark.parametrize(
    ("status", "headers", "text"),
    [
        (
            307,
            {"location": "https://else.where/v1?session=abc"},
            "HTTP 307: it leads on to https://else.where/v1, and redirects are not followed; name the right address",
        ),
        (302, {}, "HTTP 302"),
        (404, {"location": "https://else.where"}, "HTTP 404"),
    ],
)
def test_a_redirect_says_where_to_without_what_may_be_secret(status: int, headers: dict[str, str], text: str) -> None:
    assert str(refused_by_status(status, b"", api_key=None, headers=headers)) == text
