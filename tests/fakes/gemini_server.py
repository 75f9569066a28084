"""A loopback server that speaks Gemini's streamGenerateContent over real HTTP, from a script."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

from tests.fakes.gemini_events import list_events
from tests.fakes.provider_server import Answer, BeforeTurn, Body, Dialect, ProviderServer, serve_dialect


def count_turns(body: Body) -> int:
    return sum(content["role"] == "model" for content in body["contents"])


GEMINI = Dialect(path=":streamGenerateContent", count_turns=count_turns, list_events=list_events)


@asynccontextmanager
async def serve(answer: Answer, *, before_turn: BeforeTurn | None = None) -> AsyncGenerator[ProviderServer]:
    async with serve_dialect(answer, dialect=GEMINI, before_turn=before_turn) as server:
        server.base_url = server.base_url.removesuffix("/v1")
        yield server


def find_unanswered(body: Body) -> list[str]:
    """What Google refuses: calls that the content right after them does not answer, by name and in order."""
    end: dict[str, Any] = {"parts": []}
    contents: list[dict[str, Any]] = [*body["contents"], end]
    wrong: list[str] = []
    for content, following in pairwise(contents):
        asked = [part["functionCall"]["name"] for part in content["parts"] if "functionCall" in part]
        answers = [part["functionResponse"] for part in following["parts"] if "functionResponse" in part]
        if asked != [answer["name"] for answer in answers]:
            wrong.extend(asked)
    return wrong
