"""Anthropic's Messages API on loopback, from a script."""

from contextlib import AbstractAsyncContextManager

from tests.fakes.anthropic_events import list_events
from tests.fakes.provider_server import Answer, BeforeTurn, Body, Dialect, ProviderServer, serve_dialect


def count_turns(body: Body) -> int:
    return sum(message["role"] == "assistant" for message in body["messages"])


MESSAGES = Dialect(path="/v1/messages", count_turns=count_turns, list_events=list_events)


def serve(answer: Answer, *, before_turn: BeforeTurn | None = None) -> AbstractAsyncContextManager[ProviderServer]:
    return serve_dialect(answer, dialect=MESSAGES, before_turn=before_turn)
