"""A model behind Gemini's streamGenerateContent, at Google's own address or wherever else it is spoken."""

import asyncio
import re
from collections.abc import Sequence
from functools import partial
from typing import final
from urllib.parse import quote

import httpx

from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.messages import AssistantMessage
from midwatch.llm.breaker import Breaker
from midwatch.llm.concession import ConcedingModel
from midwatch.llm.model import Model, ModelRequest, NoticeChunk
from midwatch.llm.providers.google.request import RequestEncoder
from midwatch.llm.providers.google.response import StreamDecoder
from midwatch.llm.retry import BACKOFF, Sleep
from midwatch.llm.wire import Exchange, HttpModel, by_header, extend_path

DEFAULT_BASE_URL = "https://generativelanguage.googleapis.com"
KEY_HEADER = "x-goog-api-key"
_VERSION = re.compile(r"/v\d+\w*/?$")
_SUPPRESSED = NoticeChunk(
    code="native_tools_suppressed",
    message="Gemini's own tools are left out, because it does not take them together with functions",
)

_FORGOTTEN = NoticeChunk(
    code="thinking_left_out", message="the provider did not take the model's earlier thinking back; it was left out"
)
_NOT_TOLD = NoticeChunk(
    code="thinking_off", message="the provider refused to be told how much this model thinks; it was left to it"
)


def open_gemini(
    *,
    provider: str,
    name: str,
    api_key: str | None,
    http: httpx.AsyncClient,
    base_url: str | None = None,
    native_tools: frozenset[str] = frozenset(),
    backoff: Sequence[float] = BACKOFF,
    sleep: Sleep = asyncio.sleep,
    breaker: Breaker | None = None,
) -> Model:
    url = build_url(base_url or DEFAULT_BASE_URL, name)
    protocol = GenerateContent(model=name, url=url, label=f"google/{name}", native_tools=native_tools)
    model = HttpModel(
        provider=provider,
        name=name,
        protocol=protocol,
        authorise=by_header(KEY_HEADER, api_key),
        http=http,
        backoff=backoff,
        sleep=sleep,
        breaker=breaker,
    )
    return ConcedingModel(model, protocol=protocol)


def build_url(base_url: str, model: str) -> httpx.URL:
    version = "" if is_versioned(base_url) else "v1beta/"
    path = f"{version}models/{quote(model.removeprefix('models/'), safe='')}:streamGenerateContent"
    return extend_path(base_url, path).copy_merge_params({"alt": "sse"})


def is_versioned(base_url: str) -> bool:
    """A base that already ends in a version of the API keeps that one."""
    return _VERSION.search(httpx.URL(base_url).path) is not None


@final
class GenerateContent:
    """`label` names who signs the thoughts; signatures are sent back only where they came from."""

    def __init__(self, *, model: str, url: httpx.URL, label: str, native_tools: frozenset[str] = frozenset()) -> None:
        self._url = url
        self._label = label
        self._encoder = RequestEncoder(model, label=label, native_tools=native_tools)

    def prepare(self, request: ModelRequest) -> Exchange:
        body = self._encoder.encode(request)
        decoder = partial(StreamDecoder, self._encoder.names, label=self._label, notices=self._choose_notices(request))
        return Exchange(url=self._url, body=body, new_decoder=decoder)

    def concede(self, failure: ModelUnavailable) -> NoticeChunk | None:
        """Signatures may have become too old, and not every model can be told how much to think."""
        text = str(failure).lower()
        if failure.code != "invalid_request":
            return None
        if "signature" in text and self._encoder.forget_signatures():
            return _FORGOTTEN
        return _NOT_TOLD if "think" in text and self._encoder.stop_thinking() else None

    def _choose_notices(self, request: ModelRequest) -> tuple[NoticeChunk, ...]:
        """Said once in a conversation: with the first answer."""
        has_answered = any(isinstance(message, AssistantMessage) for message in request.messages)
        is_told = has_answered or not self._encoder.leaves_native_tools_out(request)
        return () if is_told else (_SUPPRESSED,)
