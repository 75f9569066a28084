"""The loop: ask, act, observe, until the agent concludes, is made to, or cannot go on."""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import takewhile
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midwatch.agent.budget import Budget
from midwatch.agent.manners import choose_manner
from midwatch.agent.outcome import Concluded, Failed, Outcome
from midwatch.agent.prompts.render import render_conclude_now, render_say_something
from midwatch.domain.errors import LeaseLost, ModelUnavailable
from midwatch.domain.messages import AssistantMessage, Message, ToolMessage, Usage, UserMessage
from midwatch.domain.session import StageType
from midwatch.domain.timeline import InteractionType, Phase
from midwatch.domain.tools import ToolCall, ToolResult
from midwatch.llm.scripted import ScriptedTurn
from midwatch.safety.machine import Machine
from tests.safety.requirements import requirement
from tests.unit.agent.bench import OPENING, Bench, calling, saying

EMPTY = ScriptedTurn()
LIMIT = 5


def text_of(message: Message) -> str:
    match message:
        case ToolMessage(name=name, content=content):
            return f"{name}: {content}"
        case AssistantMessage(text=text, calls=calls):
            return " ".join([f"says {text!r}", *(call.name for call in calls)])
        case _:
            return message.text


def conversation(bench: Bench) -> list[str]:
    return [text_of(message) for message in bench.agent.messages[2:]]


async def test_an_agent_reads_and_then_concludes() -> None:
    bench = Bench([calling("get", text="I look."), saying("It is hot.")])
    assert await bench.agent.investigate() == Concluded(text="It is hot.", iterations=2)
    assert conversation(bench) == ["says 'I look.' k8s.get", "k8s.get: ran k8s.get", "says 'It is hot.'"]
    assert bench.journal.streamed == ["I look.", "It is hot."]
    first, second = bench.journal.replies
    assert (first.iteration, first.messages_count, first.interaction_type) == (1, 2, InteractionType.ITERATION)
    assert (second.iteration, second.messages_count) == (2, 4)
    assert [request.agent for request in bench.model.asked] == ["watch", "watch"]
    assert all(list(request.tools) == list(bench.tools.tools) for request in bench.model.asked)


async def test_who_watches_is_shown_what_the_agent_is_busy_with() -> None:
    bench = Bench([calling("get"), calling("get"), saying("Done.")], budget=Budget(max_iterations=2))
    await bench.agent.investigate()
    assert bench.journal.phases == [
        *(Phase.INVESTIGATING, Phase.GATHERING_INFO),
        *(Phase.INVESTIGATING, Phase.GATHERING_INFO),
        Phase.CONCLUDING,
    ]


async def test_the_model_sees_the_whole_conversation_so_far() -> None:
    bench = Bench([calling("get"), saying("Done.")])
    await bench.agent.investigate()
    assert [list(request.messages) for request in bench.model.asked] == [
        bench.agent.messages[:2],
        bench.agent.messages[:4],
    ]


async def test_what_a_model_thinks_costs_and_wants_back_is_recorded() -> None:
    usage = Usage(input_tokens=7, output_tokens=3)
    bench = Bench([ScriptedTurn(thinking="Hm. ", text="Done.", usage=usage)])
    await bench.agent.investigate()
    (reply,) = bench.journal.replies
    assert (reply.thinking, reply.usage, reply.calls) == ("Hm. ", usage, ())
    assert bench.journal.thought == ["Hm. "]


async def test_a_reply_is_committed_before_any_of_its_calls_run() -> None:
    bench = Bench([calling("get"), saying("Done.")])
    bench.tools.released.clear()
    async with asyncio.timeout(LIMIT), asyncio.TaskGroup() as group:
        group.create_task(bench.agent.investigate())
        await bench.tools.arrived.acquire()
        assert [reply.calls[0].name for reply in bench.journal.replies] == ["k8s.get"]
        bench.tools.released.set()


async def test_neighbouring_reads_run_side_by_side_and_answer_in_order() -> None:
    bench = Bench([calling("get", "list", "get"), saying("Done.")])
    bench.tools.released.clear()
    async with asyncio.timeout(LIMIT), asyncio.TaskGroup() as group:
        group.create_task(bench.agent.investigate())
        for _ in range(3):
            await bench.tools.arrived.acquire()
        assert bench.calls.finished == []
        bench.tools.released.set()
    assert conversation(bench)[1:4] == ["k8s.get: ran k8s.get", "k8s.list: ran k8s.list", "k8s.get: ran k8s.get"]


async def test_writes_run_one_after_another_and_never_beside_a_read() -> None:
    bench = Bench([calling("get", "list", "set", "nothing", "get", "put", "get"), saying("Done.")])
    await bench.agent.investigate()
    written = [line for line in bench.log if not line.startswith("dispatch")]
    assert sorted(written[:4]) == ["finish k8s.get", "finish k8s.list", "run k8s.get", "run k8s.list"]
    assert written[4:] == [
        *("start k8s.set", "run k8s.set", "finish k8s.set"),
        "refuse k8s.nothing TOOL_NOT_FOUND",
        *("run k8s.get", "finish k8s.get"),
        *("start k8s.put", "run k8s.put", "finish k8s.put"),
        *("run k8s.get", "finish k8s.get"),
    ]
    assert conversation(bench)[1:4] == [f"k8s.{n}: ran k8s.{n}" for n in ("get", "list", "set")]


@requirement("conclusion:refused", "conclusion:withdrawn")
async def test_an_answer_before_the_last_look_is_no_conclusion() -> None:
    bench = Bench([calling("set"), saying("Done."), saying("Really."), calling("get"), saying("It is up.")])
    assert await bench.agent.investigate() == Concluded(text="It is up.", iterations=5)
    assert len(bench.journal.withdrawn) == 2
    assert "Read mcp:k8s" in bench.journal.withdrawn[0]
    assert bench.agent.messages[5] == UserMessage(text=bench.journal.withdrawn[0])
    assert bench.journal.messages[-1] == bench.agent.messages[-1]


@requirement("conclusion:forced-says-so")
async def test_an_answer_that_is_the_last_there_can_be_is_a_conclusion() -> None:
    bench = Bench([calling("set"), saying("Done.")], budget=Budget(max_iterations=2))
    assert await bench.agent.investigate() == Concluded(text="Done.", iterations=2)
    assert bench.journal.withdrawn == []
    told = Bench([calling("set"), saying("Done.")], budget=Budget(max_iterations=1))
    outcome = await told.agent.investigate()
    assert outcome == Concluded(text="Done.", iterations=2, used_up="1 iterations")


@requirement("conclusion:forced-says-so")
async def test_a_model_is_not_sent_back_for_ever() -> None:
    drafts = [saying("Done."), saying("Really."), calling("get"), saying("I say."), saying("It cannot be read.")]
    bench = Bench([calling("set"), *drafts])
    bench.tools.results["k8s.get"] = ToolResult(content="no", error="TOOL_ERROR")
    assert await bench.agent.investigate() == Concluded(text="It cannot be read.", iterations=6)
    assert len(bench.journal.withdrawn) == 3
    assert bench.agent.tools.refuse_conclusion() is not None, "the target is as unverified as before"


@requirement("conclusion:resumed")
async def test_whoever_takes_over_sends_a_model_back_no_more_often() -> None:
    drafts = [saying("Done."), saying("Really."), saying("I say."), calling("get"), saying("It cannot be read.")]
    first = Bench([calling("set"), *drafts], budget=Budget(max_iterations=6))
    first.tools.results["k8s.get"] = ToolResult(content="no", error="TOOL_ERROR")
    await first.agent.investigate()
    assert len(first.journal.withdrawn) == 3
    machine = Machine.rebuild(first.calls.records.values())
    heir = Bench([saying("Too late.")], messages=first.agent.messages, machine=machine)
    assert await heir.agent.investigate() == Concluded(text="It cannot be read.", iterations=6)
    assert heir.journal.withdrawn == []


@requirement("conclusion:refused")
async def test_each_change_is_worth_being_sent_back_for() -> None:
    look, change = calling("get"), calling("set")
    drafts = [change, saying("a"), saying("b"), look, change, saying("c"), saying("d"), look, saying("It is up.")]
    bench = Bench(drafts)
    assert await bench.agent.investigate() == Concluded(text="It is up.", iterations=9)
    assert len(bench.journal.withdrawn) == 4


@requirement("conclusion:resumed")
async def test_a_resumed_run_takes_back_what_the_former_owner_had_not() -> None:
    first = Bench([calling("set"), saying("Done.")], budget=Budget(max_iterations=2))
    await first.agent.investigate()
    machine = Machine.rebuild(first.calls.records.values())
    heir = Bench(
        [calling(), saying("No."), calling("get"), saying("It is up.")], messages=first.agent.messages, machine=machine
    )
    assert await heir.agent.investigate() == Concluded(text="It is up.", iterations=4)
    assert len(heir.journal.withdrawn) == 1


async def test_failures_and_refusals_are_answers_the_model_reads() -> None:
    bench = Bench([calling("get", "nothing"), saying("Done.")])
    bench.tools.results["k8s.get"] = ToolResult(content="no such pod", error="TOOL_ERROR")
    await bench.agent.investigate()
    failed, refused = bench.agent.messages[3:5]
    assert isinstance(failed, ToolMessage)
    assert isinstance(refused, ToolMessage)
    assert (failed.content, failed.is_error) == ("no such pod", True)
    assert ("TOOL_NOT_FOUND" in refused.content, refused.is_error) == (True, True)


async def test_an_agent_whose_iterations_are_used_up_concludes_without_tools() -> None:
    bench = Bench([calling("get"), calling("get"), saying("Probably hot.")], budget=Budget(max_iterations=2))
    assert await bench.agent.investigate() == Concluded(text="Probably hot.", iterations=3, used_up="2 iterations")
    assert bench.model.asked[-1].tools == ()
    assert bench.model.asked[-1].messages[-1] == UserMessage(text=render_conclude_now(2))
    assert [reply.interaction_type for reply in bench.journal.replies] == [
        InteractionType.ITERATION,
        InteractionType.ITERATION,
        InteractionType.FORCED_CONCLUSION,
    ]


async def test_a_conclusion_in_the_last_iteration_is_not_forced() -> None:
    bench = Bench([calling("get"), saying("Hot.")], budget=Budget(max_iterations=2))
    assert await bench.agent.investigate() == Concluded(text="Hot.", iterations=2)


async def test_calls_made_instead_of_a_conclusion_come_to_nothing() -> None:
    turns = [calling("get"), calling("set"), calling("set", text="Enough.")]
    bench = Bench(turns, budget=Budget(max_iterations=1))
    assert await bench.agent.investigate() == Concluded(text="Enough.", iterations=3, used_up="1 iterations")
    assert bench.ran == ["k8s.get"]
    assert [len(reply.calls) for reply in bench.journal.replies] == [1, 0, 0]


async def test_an_agent_that_will_not_conclude_fails() -> None:
    bench = Bench([calling("get"), EMPTY, EMPTY, EMPTY, saying("Late.")], budget=Budget(max_iterations=1))
    assert await bench.agent.investigate() == Failed(
        error="the model was told to conclude and said nothing, again and again"
    )
    assert len(bench.model.asked) == 4
    assert conversation(bench).count(render_conclude_now(1)) == 1


async def test_an_empty_reply_is_asked_about_twice() -> None:
    bench = Bench([EMPTY, EMPTY, saying("Hot.")])
    assert await bench.agent.investigate() == Concluded(text="Hot.", iterations=3)
    nudge = render_say_something()
    assert conversation(bench) == ["says ''", nudge, "says ''", nudge, "says 'Hot.'"]


async def test_an_agent_without_tools_is_not_told_to_call_one() -> None:
    bench = Bench([EMPTY, saying("Both say that it is hot.")])
    bench.agent.manner = choose_manner(StageType.SYNTHESIS, "")
    assert await bench.agent.investigate() == Concluded(text="Both say that it is hot.", iterations=2)
    assert conversation(bench)[1] == render_say_something(has_tools=False)


@pytest.mark.parametrize("silence", [EMPTY, ScriptedTurn(text=" \n "), ScriptedTurn(thinking="Hm.")])
async def test_a_third_empty_reply_ends_the_run(silence: ScriptedTurn) -> None:
    bench = Bench([silence, silence, silence, saying("Late.")])
    assert await bench.agent.investigate() == Failed(error="the model answered with nothing, again and again")
    assert len(bench.model.asked) == 3


async def test_a_resumed_run_puts_late_answers_where_the_model_asked_for_them() -> None:
    first = Bench([calling("get", "list", "set"), calling("get"), saying("Done.")])
    await first.agent.investigate()
    *opening, reply, one, two, three, _, _, _ = first.agent.messages
    assert isinstance(reply, AssistantMessage)
    resumed = Bench([calling(), saying("Done.")], messages=[*opening, reply, three, two])
    await resumed.agent.investigate(reply.calls[:1])
    assert resumed.agent.messages[2:6] == [reply, one, two, three]
    assert resumed.ran == ["k8s.get"]


async def test_a_lost_lease_among_parallel_calls_is_raised_as_itself() -> None:
    bench = Bench([calling("get", "list"), saying("Done.")])
    bench.calls.dispatch_failure = LeaseLost("gone")
    with pytest.raises(LeaseLost, match="gone"):
        await bench.agent.investigate()


async def test_a_lost_lease_while_a_turn_is_committed_stops_the_run() -> None:
    bench = Bench([calling("get"), saying("Done.")])
    bench.journal.failure = LeaseLost("gone")
    with pytest.raises(LeaseLost):
        await bench.agent.investigate()
    assert bench.ran == []


async def test_a_cancelled_run_cancels_its_calls() -> None:
    bench = Bench([calling("get", "list"), saying("Done.")])
    bench.tools.released.clear()
    async with asyncio.timeout(LIMIT), asyncio.TaskGroup() as group:
        run = group.create_task(bench.agent.investigate())
        await bench.tools.arrived.acquire()
        await bench.tools.arrived.acquire()
        run.cancel()
    assert run.cancelled()
    assert bench.calls.finished == []


_NAMES = st.sampled_from(("get", "list", "set", "nothing"))
_SCRIPTS = st.lists(
    st.one_of(
        st.lists(_NAMES, max_size=3).map(lambda names: calling(*names)),
        st.sampled_from(["Hot.", "Cold."]).map(saying),
        st.just(ScriptedTurn(error=ModelUnavailable("no", code="credentials", retryable=False))),
    ),
    max_size=6,
)


async def play(turns: Sequence[ScriptedTurn], budget: Budget) -> tuple[Outcome, Bench]:
    bench = Bench(turns, budget=budget)
    return await bench.agent.investigate(), bench


# Everything is drawn beforehand: a draw that gives up inside a coroutine would take the event loop with it.
@given(turns=_SCRIPTS, max_iterations=st.integers(1, 4), cut=st.integers(0, 99), out_of_order=st.booleans())
async def test_a_run_resumed_from_any_prefix_of_its_messages_goes_on_as_it_did(
    *, turns: list[ScriptedTurn], max_iterations: int, cut: int, out_of_order: bool
) -> None:
    budget = Budget(max_iterations=max_iterations)
    outcome, first = await play(turns, budget)
    messages = first.agent.messages
    prefix = messages[: len(OPENING) + cut % (len(messages) - len(OPENING) + 1)]
    open_calls, finished = find_open_calls(prefix), list(prefix)
    if out_of_order and is_within_first_group(prefix):
        open_calls, finished = drop_first_answer(prefix)
    sent = [first.calls.records[call_id] for call_id in answered_calls(finished) if call_id in first.calls.records]
    resumed = Bench(turns, budget=budget, messages=finished, machine=Machine.rebuild(sent))
    assert await resumed.agent.investigate(open_calls) == outcome
    assert strip_ids(resumed.agent.messages) == strip_ids(messages)
    answered = [m.name for m in finished if isinstance(m, ToolMessage) and "blocked" not in m.content]
    assert sorted(answered + resumed.ran) == sorted(first.ran)


def find_open_calls(messages: Sequence[Message]) -> list[ToolCall]:
    turns = [index for index, message in enumerate(messages) if isinstance(message, AssistantMessage)]
    if not turns:
        return []
    last = messages[turns[-1]]
    assert isinstance(last, AssistantMessage)
    answered = sum(isinstance(message, ToolMessage) for message in messages[turns[-1] :])
    return list(last.calls[answered:])


def is_within_first_group(messages: Sequence[Message]) -> bool:
    """The last turn's answers are those of reads that ran side by side, and some of its calls are open."""
    turns = [index for index, message in enumerate(messages) if isinstance(message, AssistantMessage)]
    last = messages[turns[-1]] if turns else None
    if not isinstance(last, AssistantMessage):
        return False
    answers = len(messages) - turns[-1] - 1
    reads = list(takewhile(lambda call: call.name in {"k8s.get", "k8s.list"}, last.calls))
    return 0 < answers <= len(reads) and answers < len(last.calls)


def answered_calls(messages: Sequence[Message]) -> Iterator[UUID]:
    asked: dict[str, UUID] = {}
    for message in messages:
        if isinstance(message, AssistantMessage):
            asked = {call.provider_id: call.call_id for call in message.calls}
        elif isinstance(message, ToolMessage):
            yield asked[message.provider_id]


def drop_first_answer(messages: Sequence[Message]) -> tuple[list[ToolCall], list[Message]]:
    """As if the first of the last turn's calls had been slower than the others."""
    turn = max(index for index, message in enumerate(messages) if isinstance(message, AssistantMessage))
    last = messages[turn]
    assert isinstance(last, AssistantMessage)
    answers = messages[turn + 1 :]
    return [*last.calls[: min(len(answers), 1)], *last.calls[len(answers) :]], [*messages[: turn + 1], *answers[1:]]


def strip_ids(messages: Sequence[Message]) -> list[str]:
    return [text_of(message) for message in messages]
