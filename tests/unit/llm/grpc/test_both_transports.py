"""What holds for a model in this process holds for one behind the LLM service, word for word."""

import gzip
import socket
from pathlib import Path
from typing import Any

import httpx
import pytest

from midwatch.config.llm import VertexAiProvider
from midwatch.domain.messages import AssistantMessage, UserMessage
from midwatch.llm.gateway import Gateway, Remote
from midwatch.llm.grpc.client import connect
from midwatch.llm.model import CallChunk, CodeChunk, GroundingChunk, Source, Support, TextChunk
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from tests.fakes import gemini_events
from tests.fakes.gemini_server import GEMINI
from tests.fakes.llm_service import serve_models
from tests.fakes.protocols import CHAT, CLAUDE, GOOGLE, RESPONSES_API, Spoken
from tests.fakes.provider_server import Cut, Reply, Status, Stream, in_order, serve_dialect
from tests.fakes.troubles import HELLO, SECRET, UNREACHABLE, Unreachable
from tests.unit.llm.asking import ask_once
from tests.unit.llm.grpc.both import (
    TOOL,
    go_on,
    make_request,
    over_both,
    read_notices,
    read_text,
    set_up,
    spoken_by_all,
)

pytestmark = pytest.mark.usefixtures("one_loop")

CALLING = ScriptedTurn(thinking="hm", calls=(ScriptedCall(name="deck.echo", arguments={"n": 1}),))
BUSY = Status(status=503)


def begin(spoken: Spoken) -> list[bytes]:
    """The answer up to its first word."""
    events = spoken.dialect.list_events(HELLO, 0)
    return events[: next(index for index, event in enumerate(events) if b"hello" in event) + 1]


@over_both
@spoken_by_all
async def test_a_passing_trouble_is_asked_again(spoken: Spoken, transport: str) -> None:
    async with set_up(spoken, transport, in_order([BUSY, Stream([Cut()]), HELLO])) as setting:
        asking = await ask_once(setting.model, make_request())
    assert (read_text(asking), asking.failure) == ("hello", None)
    assert len(asking.retries) == 2
    assert "HTTP 503" in asking.retries[0]
    assert len(setting.server.requests) == 3


@over_both
@spoken_by_all
async def test_an_answer_that_breaks_off_is_not_asked_for_again(spoken: Spoken, transport: str) -> None:
    async with set_up(spoken, transport, in_order([Stream([*begin(spoken), Cut()]), HELLO])) as setting:
        asking = await ask_once(setting.model, make_request())
    assert (read_text(asking), asking.outcome) == ("hello", ("partial_stream_error", True))
    assert len(setting.server.requests) == 1


@over_both
async def test_a_pause_that_was_asked_for_is_told_and_kept(transport: str) -> None:
    long = Status(status=429, headers=(("retry-after", "3600"),))
    async with set_up(CHAT, transport, in_order([long, HELLO])) as setting:
        first = await ask_once(setting.model, make_request())
        second = await ask_once(setting.open(), make_request())
    assert first.outcome == ("max_retries", True)
    assert getattr(first.failure, "retry_after", None) == 3600.0
    assert second.outcome == ("circuit_open", False)
    assert len(setting.server.requests) == 1


@over_both
async def test_a_provider_that_is_down_is_left_alone(transport: str) -> None:
    async with set_up(CHAT, transport, lambda _: BUSY) as setting:
        outcomes = [(await ask_once(setting.open(), make_request())).outcome for _ in range(3)]
    assert outcomes == [("max_retries", True), ("circuit_open", False), ("circuit_open", False)]
    assert len(setting.server.requests) == 5


@over_both
@spoken_by_all
@pytest.mark.parametrize("unreachable", UNREACHABLE[:2], ids=lambda unreachable: unreachable.name)
async def test_whoever_cannot_be_reached_is_named(spoken: Spoken, transport: str, unreachable: Unreachable) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = unreachable.host.format(idle=unused.getsockname()[1])
        async with set_up(spoken, transport, lambda _: HELLO, address=f"{address}/v1") as setting:
            asking = await ask_once(setting.model, make_request())
    assert asking.outcome == ("max_retries", True)
    assert unreachable.text in str(asking.failure)


@over_both
@spoken_by_all
async def test_two_calls_with_one_id_are_told_apart(spoken: Spoken, transport: str) -> None:
    twins = spoken.call([("twin", '{"n":1}'), ("twin", '{"n":2}')], TOOL.full_name)
    async with set_up(spoken, transport, lambda _: twins) as setting:
        asking = await ask_once(setting.model, make_request())
    calls = [chunk for chunk in asking.chunks if isinstance(chunk, CallChunk)]
    assert [(call.name, call.arguments) for call in calls] == [("deck.echo", '{"n":1}'), ("deck.echo", '{"n":2}')]
    assert len({call.provider_id for call in calls}) == 2


@over_both
@spoken_by_all
async def test_arguments_that_are_no_json_are_never_made_into_some(spoken: Spoken, transport: str) -> None:
    """Gemini's are part of the event, and there the event is refused."""
    broken = spoken.call([("c", '{"text": ')], TOOL.full_name)
    async with set_up(spoken, transport, lambda _: broken) as setting:
        asking = await ask_once(setting.model, make_request())
    calls = [chunk.arguments for chunk in asking.chunks if isinstance(chunk, CallChunk)]
    assert (asking.outcome, calls) == ((("max_retries", True), []) if spoken is GOOGLE else (None, ['{"text": ']))


@over_both
@spoken_by_all
async def test_an_answer_that_somebody_compressed_is_read_all_the_same(spoken: Spoken, transport: str) -> None:
    packed = gzip.compress(b"".join(spoken.dialect.list_events(HELLO, 0)))
    answer = Status(status=200, body=packed, headers=(("content-encoding", "gzip"),))
    async with set_up(spoken, transport, lambda _: answer) as setting:
        assert read_text(await ask_once(setting.model, make_request())) == "hello"


@over_both
@pytest.mark.parametrize("spoken", [RESPONSES_API, CLAUDE, GOOGLE], ids=lambda spoken: spoken.name)
async def test_signed_thinking_comes_back_even_from_a_model_opened_anew(spoken: Spoken, transport: str) -> None:
    """Which is what a resumed session has."""
    async with set_up(spoken, transport, spoken.dialect.by_turn([CALLING, HELLO])) as setting:
        first = await ask_once(setting.model, make_request())
        second = await ask_once(setting.open(), go_on(first))
    assert read_text(second) == "hello"
    sign = {"responses": "encrypted_content", "messages": "'signature': 'sig-0'", "gemini": "'signature-0'"}
    assert sign[spoken.name] in str(setting.server.requests[1].body)


LEFT_OUT = {
    "responses": ("invalid_encrypted_content", "The encrypted content gAA could not be verified."),
    "messages": ("invalid_request_error", "messages.1.content.0: Invalid `signature` in `thinking` block. Remove it"),
    "gemini": ("INVALID_ARGUMENT", "Corrupted thought signature."),
}
OFF = {
    "responses": ("invalid", "Unsupported parameter: 'reasoning' is not supported with this model."),
    "messages": ("invalid_request_error", "adaptive thinking is not supported on this model"),
    "gemini": ("INVALID_ARGUMENT", "Thinking level is not supported for this model."),
}


@over_both
@pytest.mark.parametrize("spoken", [RESPONSES_API, CLAUDE, GOOGLE], ids=lambda spoken: spoken.name)
async def test_thinking_that_is_not_taken_back_is_left_out_for_good(spoken: Spoken, transport: str) -> None:
    refused = spoken.refuse(400, *LEFT_OUT[spoken.name])
    async with set_up(spoken, transport, in_order([CALLING, refused, HELLO, HELLO])) as setting:
        first = await ask_once(setting.model, make_request())
        second = await ask_once(setting.model, go_on(first))
        third = await ask_once(setting.model, go_on(first))
    assert (read_notices(second), read_text(second)) == (["thinking_left_out"], "hello")
    assert (read_notices(third), read_text(third)) == ([], "hello")


@over_both
@pytest.mark.parametrize("spoken", [RESPONSES_API, CLAUDE, GOOGLE], ids=lambda spoken: spoken.name)
async def test_a_model_that_may_not_think_is_asked_without(spoken: Spoken, transport: str) -> None:
    refused = spoken.refuse(400, *OFF[spoken.name])
    async with set_up(spoken, transport, in_order([refused, HELLO, HELLO])) as setting:
        first = await ask_once(setting.model, make_request())
        again = make_request(UserMessage(text="go"), AssistantMessage(text="hello"), UserMessage(text="on"))
        second = await ask_once(setting.model, again)
    assert (read_notices(first), read_text(first)) == (["thinking_off"], "hello")
    assert (read_notices(second), read_text(second)) == ([], "hello")


SEARCH: dict[str, Any] = {
    "webSearchQueries": ["pump hot"],
    "groundingChunks": [{"web": {"uri": "https://pumps.example", "title": "Pumps"}}],
    "groundingSupports": [{"segment": {"text": "runs dry"}, "groundingChunkIndices": [0]}],
}
LOOKED_UP = Stream(
    [
        gemini_events.event({"executableCode": {"language": "PYTHON", "code": "1 + 1"}}),
        gemini_events.event({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}}),
        gemini_events.event({"text": "It runs dry."}, finish="STOP", candidate={"groundingMetadata": SEARCH}),
    ]
)


@over_both
async def test_what_gemini_looked_up_and_ran_by_itself_is_told(transport: str) -> None:
    async with set_up(GOOGLE, transport, lambda _: LOOKED_UP) as setting:
        model = setting.open(native_tools=frozenset({"google_search", "code_execution"}))
        asking = await ask_once(model, make_request(tools=()))
    assert asking.failure is None
    assert [chunk for chunk in asking.chunks if isinstance(chunk, CodeChunk)] == [CodeChunk(code="1 + 1", output="2")]
    assert [chunk for chunk in asking.chunks if isinstance(chunk, GroundingChunk)] == [
        GroundingChunk(
            queries=("pump hot",),
            sources=(Source(uri="https://pumps.example", title="Pumps"),),
            supports=(Support(text="runs dry", sources=(0,)),),
        )
    ]
    [request] = setting.server.requests
    assert sorted(str(tool) for tool in request.body["tools"]) == ["{'codeExecution': {}}", "{'googleSearch': {}}"]


@over_both
async def test_native_tools_that_are_left_out_are_told_once_in_a_conversation(transport: str) -> None:
    async with set_up(GOOGLE, transport, GEMINI.by_turn([CALLING, HELLO])) as setting:
        model = setting.open(native_tools=frozenset({"google_search"}))
        first = await ask_once(model, make_request())
        second = await ask_once(model, go_on(first))
    assert read_notices(first) == ["native_tools_suppressed"]
    assert read_notices(second) == []


@over_both
@pytest.mark.parametrize(
    "reply", [CHAT.filtered, CHAT.half_a_call, Status(status=401, body=b'{"error": {"message": "for %b"}}')]
)
async def test_no_part_of_the_key_is_told(transport: str, reply: Reply) -> None:
    secret = SECRET.encode()
    told = Status(status=401, body=reply.body.replace(b"%b", secret)) if isinstance(reply, Status) else reply
    async with set_up(CHAT, transport, lambda _: told) as setting:
        asking = await ask_once(setting.model, make_request())
    assert asking.failure is not None
    assert SECRET not in str(asking.failure)
    assert [chunk for chunk in asking.chunks if isinstance(chunk, TextChunk)] == []


PLACE = {"GOOGLE_CLOUD_PROJECT": "ship", "GOOGLE_CLOUD_LOCATION": "europe-west1"}


@over_both
async def test_a_project_on_google_cloud_is_named_by_who_asks_and_paid_with_the_key_of_who_serves(
    transport: str, tmp_path: Path
) -> None:
    async with (
        serve_dialect(lambda _: HELLO, dialect=GEMINI) as server,
        httpx.AsyncClient() as http,
        serve_models(http, server.base_url, environ={"KEY": SECRET}) as service,
        connect(service.address, environ=PLACE) as remote,
    ):
        here = Gateway(http=http, environ={**PLACE, "KEY": SECRET}, folder=tmp_path)
        opener: Remote = remote if transport == "grpc" else here
        entry = VertexAiProvider(type="vertexai", model="gemini-3-pro", base_url=server.base_url, api_key_env="KEY")
        asking = await ask_once(opener.open("cloud", entry), make_request())
    assert (read_text(asking), asking.failure) == ("hello", None)
    [request] = server.requests
    assert "/projects/ship/locations/europe-west1/" in request.path
    assert request.headers["x-goog-api-key"] == SECRET
