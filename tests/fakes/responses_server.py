"""OpenAI's Responses API on loopback, from a script."""

from contextlib import AbstractAsyncContextManager
from itertools import groupby

from tests.fakes.provider_server import Answer, BeforeTurn, Body, Dialect, ProviderServer, serve_dialect
from tests.fakes.responses_events import list_events

_SAID_BY_THE_MODEL = frozenset({"reasoning", "function_call"})


def count_turns(body: Body) -> int:
    said = (item.get("role") == "assistant" or item.get("type") in _SAID_BY_THE_MODEL for item in body["input"])
    return sum(is_said for is_said, _ in groupby(said))


RESPONSES = Dialect(path="/responses", count_turns=count_turns, list_events=list_events)


def serve(answer: Answer, *, before_turn: BeforeTurn | None = None) -> AbstractAsyncContextManager[ProviderServer]:
    return serve_dialect(answer, dialect=RESPONSES, before_turn=before_turn)
