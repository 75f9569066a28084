"""Whole sessions whose LLM service misbehaves: documented codes, a standby that is asked from here, no hanging."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import UUID

import grpc
import grpc.aio
import pytest

from midwatch.config.agents import FallbackProvider
from midwatch.config.defaults import Defaults
from midwatch.config.limits import Limits
from midwatch.config.llm import ScriptedProvider
from midwatch.domain.session import SessionStatus
from midwatch.kit import json
from midwatch.llm.gateway import Remote
from midwatch.llm.grpc import llm_pb2 as pb
from midwatch.llm.grpc.client import connect
from midwatch.llm.scripted import ScriptedTurn
from midwatch.store.engine import Store
from tests.documents import list_failure_codes
from tests.fakes.llm_service import NO_WAITS
from tests.lives import World, open_world

pytestmark = pytest.mark.usefixtures("one_loop")

LIMITS = Limits(first_chunk=20, gap=20, call=20, iteration=20)
STANDBY = "The standby says: the pump ran dry."
Context = grpc.aio.ServicerContext[pb.GenerateRequest, pb.GenerateResponse]
Generate = Callable[[pb.GenerateRequest, Context], Awaitable[None]]


@dataclass
class Seen:
    """What became of the calls of a service."""

    asked: int = 0
    given_up: int = 0
    requests: list[pb.GenerateRequest] = field(default_factory=list[pb.GenerateRequest])


@asynccontextmanager
async def serving(generate: Generate | None) -> AsyncGenerator[Remote]:
    """A service that somebody else wrote, or one that does not know the method at all."""
    server = grpc.aio.server()
    if generate is not None:
        handler = grpc.unary_stream_rpc_method_handler(
            generate,
            request_deserializer=pb.GenerateRequest.FromString,
            response_serializer=pb.GenerateResponse.SerializeToString,
        )
        known = grpc.method_handlers_generic_handler("llm.v1.LLMService", {"Generate": handler})
        server.add_generic_rpc_handlers((known,))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with connect(f"127.0.0.1:{port}", environ={}, backoff=NO_WAITS) as service:
            yield service
    finally:
        await server.stop(None)


@asynccontextmanager
async def nobody_there(_: Seen) -> AsyncGenerator[Remote]:
    async with connect("127.0.0.1:1", environ={}, backoff=NO_WAITS) as service:
        yield service


def another_version(_: Seen) -> AbstractAsyncContextManager[Remote]:
    return serving(None)


def dies_in_the_middle(seen: Seen) -> AbstractAsyncContextManager[Remote]:
    async def generate(_: pb.GenerateRequest, context: Context) -> None:
        seen.asked += 1
        await context.write(pb.GenerateResponse(text=pb.TextDelta(content="I was about to")))
        await context.abort(grpc.StatusCode.UNAVAILABLE, "Socket closed")

    return serving(generate)


def says_nothing(seen: Seen) -> AbstractAsyncContextManager[Remote]:
    async def generate(_: pb.GenerateRequest, __: Context) -> None:
        seen.asked += 1
        try:
            await asyncio.Event().wait()
        finally:
            seen.given_up += 1

    return serving(generate)


def answers_too_much(seen: Seen) -> AbstractAsyncContextManager[Remote]:
    async def generate(_: pb.GenerateRequest, context: Context) -> None:
        seen.asked += 1
        await context.write(pb.GenerateResponse(text=pb.TextDelta(content="word ")))
        await context.write(pb.GenerateResponse(text=pb.TextDelta(content="x" * (65 * 1024 * 1024))))

    return serving(generate)


def wants_a_token(seen: Seen) -> AbstractAsyncContextManager[Remote]:
    async def generate(_: pb.GenerateRequest, context: Context) -> None:
        seen.asked += 1
        await context.abort(grpc.StatusCode.UNAUTHENTICATED, "the LLM service asks for a token")

    return serving(generate)


def takes_less(seen: Seen) -> AbstractAsyncContextManager[Remote]:
    async def generate(_: pb.GenerateRequest, context: Context) -> None:
        seen.asked += 1
        await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "Received message larger than max (9 vs. 4)")

    return serving(generate)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    open: Callable[[Seen], AbstractAsyncContextManager[Remote]]
    codes: tuple[str, ...]
    """Of the failed calls, one after another."""
    limits: Limits = LIMITS

    @property
    def name(self) -> str:
        return self.open.__name__


FAULTS = (
    Fault(open=nobody_there, codes=("max_retries",)),
    Fault(open=another_version, codes=("invalid_request",) * 2),
    Fault(open=dies_in_the_middle, codes=("partial_stream_error",) * 2),
    Fault(open=says_nothing, codes=("initial_response_timeout",) * 2, limits=replace(LIMITS, first_chunk=0.3)),
    Fault(open=answers_too_much, codes=("partial_stream_error",) * 2),
    Fault(open=wants_a_token, codes=("credentials",)),
    Fault(open=takes_less, codes=("context_too_long",)),
)


def with_standby(world: World, remote: Remote) -> World:
    """One that needs no service."""
    folder = world.effects_file.parent
    (folder / "standby.yaml").write_text(json.encode_text({"turns": [{"text": STANDBY}]}), encoding="utf-8")
    providers = {**world.config.providers, "spare": ScriptedProvider(type="scripted", script=Path("standby.yaml"))}
    defaults = Defaults(fallback_providers=(FallbackProvider(provider="spare", backend="langchain"),))
    config = replace(world.config, providers=providers, defaults=defaults)
    return replace(world, config=config, remote=remote)


async def read_story(store: Store, session_id: UUID) -> tuple[list[str], str]:
    """The codes of the investigation's failed calls, and its conclusion. The summary has an end of its own."""
    async with store.connect() as tx:
        codes = await tx.fetch(
            "SELECT metadata->>'code' AS code FROM timeline_events JOIN stages USING (stage_id) "
            "WHERE stages.session_id = $1 AND stage_type = 'investigation' "
            "AND event_type IN ('provider_retry', 'error') AND metadata ? 'provider' "
            "AND metadata->>'code' <> 'provider_retry' ORDER BY sequence_number",
            session_id,
        )
        final = await tx.fetchval(
            "SELECT t.content FROM timeline_events e JOIN texts t USING (session_id, text_id) "
            "JOIN stages s USING (stage_id) "
            "WHERE e.session_id = $1 AND e.event_type = 'final_analysis' AND s.stage_type = 'investigation'",
            session_id,
        )
    return [row["code"] for row in codes], final


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
async def test_a_standby_that_is_asked_from_here_takes_over(store: Store, tmp_path: Path, fault: Fault) -> None:
    seen = Seen()
    async with (
        asyncio.timeout(60),
        open_world(store, tmp_path / "effects", lambda _: ScriptedTurn(text="nobody asks this one")) as plain,
        fault.open(seen) as remote,
    ):
        world = replace(with_standby(plain, remote), limits=fault.limits)
        session_id = await world.submit()
        await world.live_on(session_id)
        assert plain.model.requests == []
    assert await world.status(session_id) is SessionStatus.COMPLETED
    codes, final = await read_story(store, session_id)
    assert tuple(codes) == fault.codes
    assert set(codes) <= list_failure_codes()
    assert final == STANDBY
    if fault.open is says_nothing:
        assert seen.given_up == seen.asked >= len(fault.codes), "who gives up waiting tells the service so"


async def answer_as_tarsy(responses: Sequence[pb.GenerateResponse], context: Context) -> None:
    for response in responses:
        await context.write(response)


async def test_a_service_that_knows_nothing_of_our_fields_is_understood(store: Store, tmp_path: Path) -> None:
    """One message for each piece, no bundles, no state, and `is_final` with the last."""
    seen = Seen()
    call = pb.ToolCallDelta(call_id="c", name="deck.echo", arguments='{"text": "aye"}')
    usage = pb.UsageInfo(input_tokens=7, output_tokens=5, total_tokens=12)
    turns = [
        [pb.GenerateResponse(thinking=pb.ThinkingDelta(content="hm")), pb.GenerateResponse(tool_call=call)],
        [pb.GenerateResponse(text=pb.TextDelta(content=piece)) for piece in ("The pump ", "ran dry.")],
    ]

    async def generate(request: pb.GenerateRequest, context: Context) -> None:
        seen.requests.append(request)
        turn = turns[min(len(seen.requests), len(turns)) - 1]
        await answer_as_tarsy([*turn, pb.GenerateResponse(usage=usage), pb.GenerateResponse(is_final=True)], context)

    async with (
        asyncio.timeout(60),
        open_world(store, tmp_path / "effects", lambda _: ScriptedTurn()) as plain,
        serving(generate) as remote,
    ):
        world = replace(plain, remote=remote)
        session_id = await world.submit()
        await world.live_on(session_id)
        assert [effect["arguments"] for effect in world.effects()] == [{"text": "aye"}]
    assert await read_story(store, session_id) == ([], "The pump ran dry.")
    asked = [(message.role, message.tool_call_id, message.content) for message in seen.requests[1].messages[-2:]]
    assert asked == [("assistant", "", ""), ("tool", "c", "aye")]
