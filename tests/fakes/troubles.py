"""All that is known to go wrong with a provider: what it does, and what must become of it, in every protocol."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import httpx

from midwatch.llm.scripted import ScriptedTurn
from tests.fakes.protocols import Spoken
from tests.fakes.provider_server import Cut, Reply, Status, Stream

SECRET = "sk-secret-0123456789"
HELLO = ScriptedTurn(text="hello")
PAGE = b"<html><body>Please log in</body></html>"

Misbehave = Callable[[Spoken], Reply]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    name: str
    reply: Misbehave
    code: str
    text: str
    """A part of the message."""
    codes: Mapping[str, str] = field(default_factory=dict[str, str])
    """Where a protocol has another one."""
    texts: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def timeout(self) -> httpx.Timeout:
        """Short for those that say nothing, and long enough not to disturb the others."""
        return httpx.Timeout(20, read=0.3 if self.name.startswith("silence") else 20)

    def expect(self, spoken: Spoken) -> tuple[str, str]:
        return self.codes.get(spoken.name, self.code), self.texts.get(spoken.name, self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreachable:
    """The address itself is wrong: `{idle}` is a port where nobody listens, `{plain}` one where nobody speaks TLS,
    `{secure}` one whose certificate nobody knows.
    """

    name: str
    host: str
    text: str


def _refusing(status: int, message: str, **kinds: str) -> Misbehave:
    return lambda spoken: spoken.refuse(status, kinds.get(spoken.name, "some_kind"), f"{message} for {SECRET}")


def _say_a_word(spoken: Spoken) -> list[bytes]:
    """The answer up to its first word."""
    events = spoken.dialect.list_events(HELLO, 0)
    place = next(index for index, event in enumerate(events) if b"hello" in event)
    return events[: place + 1]


def _report_amid(spoken: Spoken) -> Stream:
    return Stream([*_say_a_word(spoken), spoken.report(f"boom for {SECRET}")])


def _page(_: Spoken) -> Status:
    return Status(status=200, body=PAGE, headers=(("content-type", "text/html; charset=utf-8"),))


def _redirect(_: Spoken) -> Status:
    location = f"https://elsewhere.example/{SECRET}/v1?token={SECRET}"
    return Status(status=307, body=b"", headers=(("location", location),))


def _refuse_key(spoken: Spoken) -> Status:
    if spoken.name == "gemini":
        return spoken.refuse(400, "INVALID_ARGUMENT", f"API key not valid for {SECRET}")
    return spoken.refuse(401, "authentication_error", f"Incorrect API key for {SECRET}")


def _endless_line(_: Spoken) -> Stream:
    return Stream([*([b"x" * (1 << 20)] * 9), asyncio.Event()])


def _strange(spoken: Spoken) -> Stream:
    """JSON in the right frame and of no use."""
    return Stream([b"data: [1]\n\n", *spoken.dialect.list_events(HELLO, 0)])


TROUBLES = (
    Trouble(name="wrong key", reply=_refuse_key, code="credentials", text="API key"),
    Trouble(
        name="unknown model",
        reply=_refusing(404, "no such model", chat="model_not_found", messages="not_found_error"),
        code="invalid_request",
        text="HTTP 404: no such model",
    ),
    Trouble(
        name="quota",
        reply=_refusing(
            429, "quota exceeded", chat="insufficient_quota", responses="insufficient_quota", messages="billing_error"
        ),
        code="credentials",
        text="HTTP 429: quota exceeded",
        # Google says the same whether the minute is used up or the month.
        codes={"gemini": "max_retries"},
    ),
    Trouble(
        name="content filter",
        reply=lambda spoken: spoken.filtered,
        code="content_filter",
        text="the provider declined to answer",
        texts={"gemini": "the provider stopped the answer: SAFETY"},
    ),
    Trouble(name="overloaded", reply=_refusing(503, "busy"), code="max_retries", text="attempts: HTTP 503: busy"),
    Trouble(name="500 mid-stream", reply=_report_amid, code="provider_error", text="the provider reported: boom"),
    Trouble(
        name="500 before a word",
        reply=lambda spoken: Stream([spoken.report(f"boom for {SECRET}")]),
        code="max_retries",
        text="attempts: the provider reported: boom",
    ),
    Trouble(
        name="garbage",
        reply=lambda _: Stream([b"data: \xff\xfe{{{\n\n", b"\x00" * 99]),
        code="max_retries",
        text="the provider sent a malformed event",
    ),
    Trouble(name="strange JSON", reply=_strange, code="max_retries", text="the provider sent a malformed event"),
    Trouble(
        name="a line without an end",
        reply=_endless_line,
        code="max_retries",
        text="the provider sent a malformed event",
    ),
    Trouble(
        name="garbage mid-stream",
        reply=lambda spoken: Stream([*_say_a_word(spoken), b'data: {"choices": [\n\n']),
        code="provider_error",
        text="the provider sent a malformed event",
    ),
    Trouble(
        name="cut mid-stream",
        reply=lambda spoken: Stream([*_say_a_word(spoken), Cut()]),
        code="partial_stream_error",
        text="RemoteProtocolError",
    ),
    Trouble(
        name="silence mid-stream",
        reply=lambda spoken: Stream([*_say_a_word(spoken), asyncio.Event()]),
        code="partial_stream_error",
        text="ReadTimeout",
    ),
    Trouble(
        name="silence", reply=lambda _: Stream([asyncio.Event()]), code="max_retries", text="attempts: ReadTimeout"
    ),
    Trouble(
        name="half a tool call",
        reply=lambda spoken: spoken.half_a_call,
        code="max_retries",
        text="the answer reached its limit in the middle of a tool call",
        # Here the model is told what was wrong.
        codes={"gemini": "provider_error"},
        texts={"gemini": "the answer ended with MALFORMED_FUNCTION_CALL"},
    ),
    Trouble(
        name="a tool call that breaks off",
        reply=lambda spoken: Stream([*spoken.half_a_call.pieces[:1], Cut()]),
        code="max_retries",
        text="RemoteProtocolError",
        # Its calls come in one piece, and its answers may end anywhere after their reason.
        codes={"gemini": "provider_error"},
        texts={"gemini": "the answer ended with MALFORMED_FUNCTION_CALL"},
    ),
    Trouble(
        name="redirect", reply=_redirect, code="invalid_request", text="HTTP 307: it leads on to https://elsewhere"
    ),
    Trouble(
        name="empty body", reply=lambda _: Status(status=200, body=b""), code="max_retries", text="answer is empty"
    ),
    Trouble(name="an HTML page", reply=_page, code="max_retries", text="the answer is text/html and not a stream"),
)

UNREACHABLE = (
    Unreachable(name="connection refused", host="http://127.0.0.1:{idle}", text="All connection attempts failed"),
    Unreachable(name="no such host", host="http://nowhere.invalid", text="ConnectError"),
    Unreachable(name="no TLS there", host="https://127.0.0.1:{plain}", text="[SSL: "),
    Unreachable(name="unknown certificate", host="https://127.0.0.1:{secure}", text="CERTIFICATE_VERIFY_FAILED"),
)
