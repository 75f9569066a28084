"""What a provider refuses is given up once, before the answer has begun, and told with its first word."""

from collections.abc import AsyncGenerator, Sequence

from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.messages import UserMessage
from midwatch.llm.concession import ConcedingModel
from midwatch.llm.model import Chunk, ModelRequest, NoticeChunk, TextChunk
from tests.unit.llm.asking import Asking, ask_once

REQUEST = ModelRequest(messages=(UserMessage(text="go"),), tools=(), agent="A")
REFUSED = ModelUnavailable("no", code="invalid_request", retryable=False)
WORD = TextChunk(text="so")
ASIDE = NoticeChunk(code="aside", message="by the way")
GIVEN_UP = NoticeChunk(code="given_up", message="without it then")


class FakeModel:
    """Plays one list of chunks and errors after another."""

    provider = "fake"
    name = "fake"

    def __init__(self, *attempts: Sequence[Chunk | ModelUnavailable]) -> None:
        self.attempts = list(attempts)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        assert request is REQUEST
        for step in self.attempts.pop(0):
            if isinstance(step, ModelUnavailable):
                raise step
            yield step


class FakeProtocol:
    def __init__(self, concessions: int) -> None:
        self.left = concessions

    def concede(self, failure: ModelUnavailable) -> NoticeChunk | None:
        assert failure is REFUSED
        self.left -= 1
        return GIVEN_UP if self.left >= 0 else None


async def ask(*attempts: Sequence[Chunk | ModelUnavailable], concessions: int = 1) -> Asking:
    return await ask_once(ConcedingModel(FakeModel(*attempts), protocol=FakeProtocol(concessions)), REQUEST)


async def test_the_notice_comes_with_the_first_word() -> None:
    asking = await ask([REFUSED], [REFUSED], [WORD, WORD], concessions=2)
    assert (asking.chunks, asking.failure) == ([GIVEN_UP, GIVEN_UP, WORD, WORD], None)


async def test_when_nothing_is_left_to_give_up_the_failure_stands() -> None:
    asking = await ask([REFUSED], [REFUSED], [WORD])
    assert (asking.chunks, asking.failure) == ([], REFUSED)


async def test_nothing_is_given_up_once_the_answer_has_begun() -> None:
    asking = await ask([WORD, REFUSED], [WORD])
    assert (asking.chunks, asking.failure) == ([WORD], REFUSED)


async def test_a_notice_is_no_answer() -> None:
    asking = await ask([ASIDE, REFUSED], [WORD])
    assert (asking.chunks, asking.failure) == ([ASIDE, GIVEN_UP, WORD], None)
