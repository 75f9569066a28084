"""A long result is kept whole, read in portions, summed up by a model, and opened again by the agent."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from midwatch.config.budgets import Budgets
from midwatch.config.mcp import Summarization
from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.messages import Usage
from midwatch.kit import json
from midwatch.llm.scripted import ScriptedTurn
from midwatch.store.engine import Store
from midwatch.store.results import read_result
from tests.fakes.openai_server import Body, Reply, Status, from_script
from tests.invariants import check_session
from tests.lives import World, stage
from tests.long_results import SHORTENER, call, fetch, find_name, open_long_world, read_answers, read_entries, run
from tests.safety.requirements import requirement

SUMMARY = ScriptedTurn(text="All pumps but one are cold.", usage=Usage(input_tokens=900, output_tokens=10))
DONE = ScriptedTurn(text="The pump ran dry.")
PLAIN = Summarization(enabled=False)


def asked(world: World, model: str) -> list[Body]:
    return [request.body for request in world.model.requests if request.body["model"] == model]


def last_message(body: Body) -> str:
    return body["messages"][-1]["content"]


async def test_a_long_result_is_kept_whole_and_summed_up_for_the_model(clean_store: Store, tmp_path: Path) -> None:
    script = {"model": [ScriptedTurn(calls=(call("report", bytes=200_000),)), DONE], SHORTENER: [SUMMARY]}
    async with open_long_world(clean_store, tmp_path, script) as world:
        session_id = await run(world)
        (question,) = asked(world, SHORTENER)
        second = asked(world, "model")[1]
        async with clean_store.connect() as tx:
            await check_session(tx, session_id, world.effects())
            (row,) = await tx.fetch("SELECT call_id FROM tool_calls WHERE session_id = $1", session_id)
            stored = await read_result(tx, session_id, row["call_id"])
    assert stored is not None
    whole = stored.unpack()
    assert stored.is_whole
    assert json.decode(whole)["total"] > 1000
    assert stored.packed is not None
    assert len(stored.packed) < len(whole) / 5
    assert len(stored.shown) <= 32_000
    assert find_name(stored.shown) in stored.shown
    assert whole[:1000] in last_message(question)
    (answer,) = await read_answers(clean_store, session_id)
    assert answer.endswith("\n\nAll pumps but one are cold.")
    assert f"{len(whole):,} characters" in answer
    assert last_message(second) == answer
    assert "tools" not in question


async def test_a_summary_is_an_interaction_of_its_own_with_its_cost_and_what_was_sent(
    clean_store: Store, tmp_path: Path
) -> None:
    script = {"model": [ScriptedTurn(calls=(call("report", bytes=40_000),)), DONE], SHORTENER: [SUMMARY]}
    async with open_long_world(clean_store, tmp_path, script) as world:
        session_id = await run(world)
        (question,) = (r for r in world.model.requests if r.body["model"] == SHORTENER)
    (interaction,) = await fetch(
        clean_store,
        "SELECT i.*, t.content FROM llm_interactions i JOIN texts t ON t.session_id = i.session_id AND "
        "t.text_id = i.response_text_id WHERE i.session_id = $1 AND interaction_type = 'summarization'",
        session_id,
    )
    assert (interaction["llm_provider"], interaction["model_name"]) == (SHORTENER, SHORTENER)
    assert (interaction["input_tokens"], interaction["output_tokens"]) == (900, 10)
    assert interaction["content"] == SUMMARY.text
    (entry,) = await read_entries(clean_store, session_id, "mcp_tool_summary")
    assert (entry["status"], entry["content"]) == ("completed", SUMMARY.text)
    assert entry["llm_interaction_id"] == interaction["interaction_id"]
    tokens = entry["metadata"].pop("original_tokens")
    assert 9_000 < tokens < 11_000
    assert entry["metadata"] == {
        "server_name": "deck",
        "tool_name": "report",
        "summarization_model": SHORTENER,
        "summarization_provider": SHORTENER,
    }
    (sent,) = await fetch(
        clean_store,
        "SELECT size, base_id FROM outbound_requests WHERE session_id = $1 AND interaction_id = $2",
        session_id,
        interaction["interaction_id"],
    )
    assert (sent["size"], sent["base_id"]) == (len(question.data), None)


@pytest.mark.parametrize(("size", "is_summed_up"), [(20_000, False), (20_001, True)])
async def test_what_is_summed_up_is_longer_than_the_threshold(
    clean_store: Store, tmp_path: Path, *, size: int, is_summed_up: bool
) -> None:
    script = {"model": [ScriptedTurn(calls=(call("big", bytes=size),)), DONE], SHORTENER: [SUMMARY]}
    async with open_long_world(clean_store, tmp_path, script) as world:
        session_id = await run(world)
        assert bool(asked(world, SHORTENER)) is is_summed_up
    (answer,) = await read_answers(clean_store, session_id)
    assert (answer == "x" * size) is not is_summed_up
    # All of it fits what the timeline holds: nothing is stored twice.
    assert await fetch(clean_store, "SELECT FROM tool_results") == []


async def test_a_summary_is_no_longer_than_it_may_be(clean_store: Store, tmp_path: Path) -> None:
    talk = ScriptedTurn(text=" ".join(f"pump {number} is cold" for number in range(200)), chunk_size=1000)
    script = {"model": [ScriptedTurn(calls=(call("report", bytes=40_000),)), DONE], SHORTENER: [talk]}
    limits = Summarization(summary_max_token_limit=50)
    async with open_long_world(clean_store, tmp_path, script, summarization=limits) as world:
        session_id = await run(world)
        (question,) = asked(world, SHORTENER)
    (answer,) = await read_answers(clean_store, session_id)
    assert len(answer.partition("]\n\n")[2]) == 200
    assert answer.endswith("[the summary was longer and is cut here]")
    assert "at most 50 tokens" in question["messages"][0]["content"]


async def test_only_so_much_of_a_result_is_given_to_whoever_sums_it_up(clean_store: Store, tmp_path: Path) -> None:
    script = {"model": [ScriptedTurn(calls=(call("report", bytes=1_500_000),)), DONE], SHORTENER: [SUMMARY]}
    async with open_long_world(clean_store, tmp_path, script) as world:
        session_id = await run(world)
        (question,) = asked(world, SHORTENER)
    output = last_message(question)
    assert 390_000 < len(output) < 430_000
    assert '"total": ' in output
    assert "characters are left out here" in output
    assert (await read_answers(clean_store, session_id))[0].endswith(SUMMARY.text)


async def test_whoever_sums_up_is_told_what_the_agent_is_after(clean_store: Store, tmp_path: Path) -> None:
    turn = ScriptedTurn(text="I look for hot pumps.", calls=(call("report", bytes=40_000),))
    async with open_long_world(clean_store, tmp_path, {"model": [turn, DONE], SHORTENER: [SUMMARY]}) as world:
        await run(world)
        (question,) = asked(world, SHORTENER)
    conversation = last_message(question).partition("TOOL_OUTPUT")[0]
    assert "The pump is hot." in conversation
    assert "I look for hot pumps." in conversation


REFUSED = ModelUnavailable("no key", code="credentials", retryable=False)


async def test_without_a_summary_the_model_reads_the_result_as_far_as_it_goes(
    clean_store: Store, tmp_path: Path
) -> None:
    script = {
        "model": [ScriptedTurn(calls=(call("report", bytes=200_000),)), DONE],
        SHORTENER: [ScriptedTurn(error=REFUSED)],
    }

    def answer(body: Body) -> Reply:
        """The agent's own model, asked in place of the other, is down as well, but only for summaries."""
        is_summary = "TOOL_OUTPUT" in last_message(body)
        return Status(status=401) if is_summary else from_script(script)(body)

    async with open_long_world(clean_store, tmp_path, answer) as world:
        session_id = await run(world)
        async with clean_store.connect() as tx:
            await check_session(tx, session_id, world.effects())
    (told,) = await read_answers(clean_store, session_id)
    assert told.startswith("[This result could not be summed up: ")
    assert '{"pumps": [' in told
    assert 31_000 < len(told) < 33_000
    assert f"all of them are kept as result {find_name(told)}" in told
    (entry,) = await read_entries(clean_store, session_id, "mcp_tool_summary")
    assert entry["status"] == "failed"
    assert entry["content"].startswith("deck.report could not be summed up: ")
    failed = await fetch(
        clean_store,
        "SELECT llm_provider, error_message FROM llm_interactions WHERE session_id = $1 "
        "AND interaction_type = 'summarization' ORDER BY interaction_id",
        session_id,
    )
    assert [row["llm_provider"] for row in failed] == [SHORTENER, "model"]
    assert all(row["error_message"] for row in failed)
    assert str(await world.status(session_id)) == "completed"


async def test_a_summary_that_fails_is_asked_of_the_next_provider_and_the_agent_stays_with_its_own(
    clean_store: Store, tmp_path: Path
) -> None:
    script = {
        "model": [ScriptedTurn(calls=(call("report", bytes=40_000),)), DONE],
        SHORTENER: [ScriptedTurn(error=REFUSED)],
        "spare": [SUMMARY],
    }

    def answer(body: Body) -> Reply:
        is_own = body["model"] == "model" and "TOOL_OUTPUT" in last_message(body)
        return Status(status=401) if is_own else from_script(script)(body)

    async with open_long_world(clean_store, tmp_path, answer, fallbacks=["spare"]) as world:
        session_id = await run(world)
    (told,) = await read_answers(clean_store, session_id)
    assert told.endswith(SUMMARY.text)
    (entry,) = await read_entries(clean_store, session_id, "mcp_tool_summary")
    assert entry["metadata"]["summarization_provider"] == "spare"
    (execution,) = await fetch(
        clean_store,
        "SELECT llm_provider, fallback_attempt FROM agent_executions WHERE session_id = $1 AND agent_name = 'watch'",
        session_id,
    )
    assert (execution["llm_provider"], execution["fallback_attempt"]) == ("model", None)
    assert await read_entries(clean_store, session_id, "provider_fallback") == []


async def test_summaries_are_paid_out_of_the_same_purse(clean_store: Store, tmp_path: Path) -> None:
    look = ScriptedTurn(calls=(call("report", bytes=40_000),), usage=Usage(input_tokens=50, output_tokens=0))
    script = {"model": [look, ScriptedTurn(text="Enough.", calls=look.calls)], SHORTENER: [SUMMARY]}
    async with open_long_world(clean_store, tmp_path, script) as world:
        (chain,) = world.config.chains.values()
        poor = chain.model_copy(update={"budgets": Budgets(tokens=900)})
        session_id = await run(replace(world, config=replace(world.config, chains={"chain": poor})))
        assert len(asked(world, "model")) == 2
    assert len(await read_answers(clean_store, session_id)) == 1


async def test_a_server_without_summaries_shows_its_results_as_they_are(clean_store: Store, tmp_path: Path) -> None:
    turns = [ScriptedTurn(calls=(call("big", bytes=60_000), call("big", bytes=150_000))), DONE]
    async with open_long_world(clean_store, tmp_path, {"model": turns}, summarization=PLAIN) as world:
        session_id = await run(world)
    first, second = await read_answers(clean_store, session_id)
    assert first == "x" * 60_000
    assert 99_000 < len(second) <= 100_000
    (kept,) = await fetch(clean_store, "SELECT characters FROM tool_results WHERE session_id = $1", session_id)
    assert kept["characters"] == 150_000


async def test_a_long_error_is_cut_and_not_summed_up(clean_store: Store, tmp_path: Path) -> None:
    turns = [ScriptedTurn(calls=(call("fail", message="no such valve " * 5_000),)), DONE]
    async with open_long_world(clean_store, tmp_path, {"model": turns, SHORTENER: [SUMMARY]}) as world:
        session_id = await run(world)
        assert asked(world, SHORTENER) == []
    (told,) = await read_answers(clean_store, session_id)
    assert len(told) <= 32_000
    assert "characters are left out here" in told


async def test_an_answer_beyond_every_limit_is_refused(clean_store: Store, tmp_path: Path) -> None:
    turns = [ScriptedTurn(calls=(call("big", bytes=50_000_000),)), DONE]
    async with open_long_world(clean_store, tmp_path, {"model": turns, SHORTENER: [SUMMARY]}) as world:
        session_id = await run(world)
    (told,) = await read_answers(clean_store, session_id)
    assert told == "The connection to deck was lost: it sent a message over 10485760 bytes."


def offered(body: Body) -> set[str]:
    return {tool["function"]["name"] for tool in body.get("tools", ())}


class Curious:
    """A model that reads the name of the result where it is told, and opens it in the ways it was given."""

    def __init__(self, first: ScriptedTurn, *questions: tuple[str, dict[str, Any]]) -> None:
        self.first = first
        self.questions = questions

    def __call__(self, body: Body) -> Reply:
        if body["model"] == SHORTENER:
            return SUMMARY
        answers = [message["content"] for message in body["messages"] if message["role"] == "tool"]
        number = len(answers) - len(self.first.calls)
        if number < 0:
            return self.first
        if number == len(self.questions):
            return DONE
        tool, arguments = self.questions[number]
        return ScriptedTurn(calls=(call(f"result.{tool}", **({"result": find_name(answers[0])} | arguments)),))


async def test_a_model_looks_again_instead_of_calling_again(clean_store: Store, tmp_path: Path) -> None:
    model = Curious(
        ScriptedTurn(calls=(call("report", bytes=5_000_000),)),
        ("query", {"expression": "length(pumps[?state=='hot'])"}),
        ("query", {"expression": "pumps[?state=='hot'].name | [1:3]"}),
        ("search", {"text": "pump-000042", "context": 0}),
        ("slice", {"from_character": -60}),
        ("query", {"expression": "pumps[?"}),
        ("query", {"result": "rffffffff", "expression": "total"}),
    )
    async with open_long_world(clean_store, tmp_path, model) as world:
        session_id = await run(world)
        first, second, *_ = asked(world, "model")
        async with clean_store.connect() as tx:
            await check_session(tx, session_id, world.effects())
        assert len(world.effects()) == 1
    assert offered(second) - offered(first) == {"result__search", "result__slice", "result__query"}
    _, count, names, found, end, wrong, missing = await read_answers(clean_store, session_id)
    total = int(end.partition('"total": ')[2].rstrip("}"))
    assert count.endswith(f"\n{-(-total // 7)}")
    assert json.decode(names.partition("]\n")[2]) == ["pump-000007", "pump-000014"]
    assert '"name": "pump-000042", "state": "hot"' in found
    assert "the expression cannot be used" in wrong
    assert "This session has no result" in missing
    rows = await fetch(
        clean_store,
        "SELECT tool_name, state, error_code, verdict, targets FROM tool_calls WHERE session_id = $1 AND "
        "tool_name LIKE 'result.%' ORDER BY message_sequence",
        session_id,
    )
    assert {row["state"] for row in rows} == {"finished"}
    assert [row["error_code"] for row in rows] == [None, None, None, None, "TOOL_ERROR", "TOOL_ERROR"]
    assert {json.decode(row["verdict"])["kind"] for row in rows} == {"read"}
    assert {tuple(row["targets"] or ()) for row in rows} == {()}


@requirement("result:own-session")
async def test_a_later_agent_opens_what_an_earlier_one_had_found_and_no_other_session_does(
    clean_store: Store, tmp_path: Path
) -> None:
    names: list[str] = []

    def answer(body: Body) -> Reply:
        if body["model"] == SHORTENER:
            return SUMMARY
        answers = [message["content"] for message in body["messages"] if message["role"] == "tool"]
        if body["model"] == "first" and not answers:
            return ScriptedTurn(calls=(call("report", bytes=100_000),))
        if body["model"] == "second" and not answers:
            return ScriptedTurn(calls=(call("result.query", result=names[0], expression="total"),))
        names.extend(find_name(told) for told in answers if body["model"] == "first")
        return DONE

    stages = (stage("look", model="first"), stage("again", model="second"))
    async with open_long_world(clean_store, tmp_path, answer, stages=stages) as world:
        one, other = await run(world), await run(world)
    assert int((await read_answers(clean_store, one))[1].partition("]\n")[2]) > 100
    assert "This session has no result" in (await read_answers(clean_store, other))[1]


async def test_old_results_become_references_before_the_window_is_full(clean_store: Store, tmp_path: Path) -> None:
    looks = [ScriptedTurn(calls=(call("echo", text=f"{letter * 6_000} end"),)) for letter in "abcd"]

    def answer(body: Body) -> Reply:
        answers = [message["content"] for message in body["messages"] if message["role"] == "tool"]
        if len(answers) < len(looks):
            return looks[len(answers)]
        if len(answers) == len(looks):
            name = find_name(next(told for told in answers if "were removed here" in told))
            return ScriptedTurn(calls=(call("result.slice", result=name, from_character=-4),))
        return DONE

    async with open_long_world(clean_store, tmp_path, answer) as world:
        provider = world.config.providers["model"].model_copy(update={"context_window": 8_000})
        config = replace(world.config, providers={**world.config.providers, "model": provider})
        session_id = await run(replace(world, config=config))
        bodies = asked(world, "model")
    assert "result__slice" not in offered(bodies[0])
    cut = [body for body in bodies if any("were removed here" in str(m["content"]) for m in body["messages"])]
    assert all("result__slice" in offered(body) for body in cut)
    assert (await read_answers(clean_store, session_id))[-1].endswith(" end")
    assert await read_entries(clean_store, session_id, "error") == []
