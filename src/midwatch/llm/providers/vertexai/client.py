"""Models on Google Cloud's Vertex AI: Gemini in its own words, Claude in Anthropic's."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Literal
from urllib.parse import quote

import httpx

from midwatch.domain.errors import ModelUnavailable
from midwatch.llm.breaker import Breaker
from midwatch.llm.concession import ConcedingModel
from midwatch.llm.model import Model
from midwatch.llm.providers.anthropic.client import Messages
from midwatch.llm.providers.google.client import GenerateContent, is_versioned
from midwatch.llm.retry import BACKOFF, Sleep
from midwatch.llm.wire import Authorise, Credentials, HttpModel, extend_path

DEFAULT_LOCATION = "global"
_CLAUDE_VERSION = "vertex-2023-10-16"
_LOCATION = re.compile(r"[a-z0-9-]+")
_MULTI_REGIONS = frozenset({"us", "eu"})

Publisher = Literal["google", "anthropic"]


def open_vertex(
    *,
    provider: str,
    name: str,
    project: str,
    location: str | None,
    authorise: Authorise,
    http: httpx.AsyncClient,
    base_url: str | None = None,
    backoff: Sequence[float] = BACKOFF,
    sleep: Sleep = asyncio.sleep,
    breaker: Breaker | None = None,
) -> Model:
    place = location or DEFAULT_LOCATION
    url = build_url(base_url or find_host(place), model=name, project=project, location=place)
    connect = partial(HttpModel, provider=provider, name=name, http=http, backoff=backoff, sleep=sleep, breaker=breaker)
    if find_publisher(name) == "anthropic":
        claude = Messages(model=name, url=url, hosted_version=_CLAUDE_VERSION)
        return ConcedingModel(connect(protocol=claude, authorise=_add_beta(authorise, claude.beta)), protocol=claude)
    gemini = GenerateContent(model=name, url=url, label=f"vertexai/{name}")
    return ConcedingModel(connect(protocol=gemini, authorise=authorise), protocol=gemini)


def find_host(location: str) -> str:
    """Raises ModelUnavailable for a name that would lead the token to some other host."""
    if not _LOCATION.fullmatch(location):
        told = f"{location!r} is not a location of Google Cloud"
        raise ModelUnavailable(told, code="invalid_request", retryable=False)
    if location == "global":
        return "https://aiplatform.googleapis.com"
    if location in _MULTI_REGIONS:
        return f"https://aiplatform.{location}.rep.googleapis.com"
    return f"https://{location}-aiplatform.googleapis.com"


def find_publisher(model: str) -> Publisher:
    return "anthropic" if model.startswith("claude") else "google"


def build_url(base_url: str, *, model: str, project: str, location: str) -> httpx.URL:
    publisher = find_publisher(model)
    version = "" if is_versioned(base_url) else "v1/"
    place = f"{version}projects/{quote(project, safe='')}/locations/{quote(location, safe='')}"
    path = f"{place}/publishers/{publisher}/models/{quote(model, safe='@')}"
    if publisher == "anthropic":
        return extend_path(base_url, f"{path}:streamRawPredict")
    return extend_path(base_url, f"{path}:streamGenerateContent").copy_merge_params({"alt": "sse"})


def _add_beta(authorise: Authorise, beta: str | None) -> Authorise:
    if beta is None:
        return authorise

    async def authorise_with_beta() -> Credentials:
        credentials = await authorise()
        return replace(credentials, headers={**credentials.headers, "anthropic-beta": beta})

    return authorise_with_beta
