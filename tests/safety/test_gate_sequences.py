"""The gate over a whole session: what was found, changed and looked at decides what may be done next."""

import asyncio
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from midwatch.domain.errors import LeaseLost
from midwatch.domain.safety import ControlLevel, SafetyMode
from midwatch.domain.tools import ClearedCall, Refusal, ToolCall, ToolDefinition, ToolKind, ToolResult, Waiting
from midwatch.kit.ids import new_id
from midwatch.safety.kinds import OperatorKinds
from midwatch.safety.machine import Machine, Phase
from midwatch.safety.policy import Stance
from midwatch.safety.rules import Decision, Rule
from midwatch.safety.session import SessionSafety
from midwatch.safety.targets import TargetTemplate
from midwatch.tools.appraisal import ServerRules
from midwatch.tools.consent import ConsentRequest, Granted, Look
from midwatch.tools.contents import NamedContents
from midwatch.tools.gate import Gate
from midwatch.tools.inflight import CallsInFlight
from midwatch.tools.journaled import Journaled
from midwatch.tools.learning import Learning
from midwatch.tools.order import group_calls
from tests.fakes.call_journal import FakeCallJournal
from tests.fakes.stepped_clock import SteppedClock
from tests.fakes.toolset import FakeToolset, define_tool
from tests.safety.requirements import requirement

ENFORCE = Stance(mode=SafetyMode.ENFORCE)
OBSERVE = Stance(mode=SafetyMode.OBSERVE)
RULES = ServerRules(
    kinds=OperatorKinds(read=("get", "list", "run", "query"), write=("set",), resolve=("find",)),
    level=ControlLevel.AUTONOMOUS,
    templates={
        "list": TargetTemplate(target="fleet:all"),
        "run": TargetTemplate(target="node:{host}"),
        "[gsf]*": TargetTemplate(target="pump:{name}"),
    },
)
PATHS = {"ship": {"list": "items[]", "find": "@"}}
WHOLE = replace(RULES, templates={})
WEB, DB = '{"name":"web"}', '{"name":"db"}'


def define(tool: str, **properties: Mapping[str, Any]) -> ToolDefinition:
    return replace(define_tool(f"ship.{tool}"), schema={"type": "object", "properties": properties})


TEXT = {"type": "string"}
TOOLS = (
    *(define(name, name=TEXT) for name in ("get", "set", "find", "list", "odd")),
    define("run", host=TEXT, command=TEXT),
    define("query", query=TEXT),
)


class Deck:
    """A session of several executions over one set of tools."""

    def __init__(
        self, rules: ServerRules = RULES, *, stance: Stance = ENFORCE, safety: SessionSafety | None = None
    ) -> None:
        self.journal = FakeCallJournal()
        self.tools = FakeToolset(*TOOLS, log=self.journal.log)
        self.tools.results["ship.list"] = ToolResult(content='{"items": ["pump:web", "pump:db"]}')
        self.safety = safety or SessionSafety()
        self.calls = CallsInFlight()
        self.rules = rules
        self.stance = stance

    def open_gate(self, owner: UUID | None = None, *, consent: "Answers | None" = None) -> Gate:
        journaled = Journaled(inner=self.tools, journal=self.journal, calls=self.calls, safety=self.safety)
        gate = Gate(
            inner=Learning(inner=journaled, safety=self.safety, paths=PATHS),
            journal=self.journal,
            stance=self.stance,
            rules={"ship": self.rules},
            safety=self.safety,
            owner=owner or new_id(),
        )
        if consent is not None:
            gate.consent = consent
        return gate

    @property
    def log(self) -> list[str]:
        return [line for line in self.journal.log if line != "list" and not line.startswith("dispatch")]


class Answers:
    """Says the same to every question, and keeps what it was asked."""

    def __init__(self, answer: Granted | Waiting | Refusal) -> None:
        self.answer = answer
        self.recalled: Waiting | Refusal | ToolCall | None = None
        self.asked: list[ConsentRequest] = []
        self.meanwhile: list[ToolCall] = []
        self.looking: list[ToolCall] = []
        self.seen: list[ToolResult | None] = []
        self.gate: Gate | None = None

    async def recall(self, call: ToolCall, safety: SessionSafety, *, look: Look) -> Waiting | Refusal | None:
        assert safety is not None
        assert call.call_id
        if isinstance(self.recalled, ToolCall):
            await look(self.recalled)
            return None
        return self.recalled

    async def seek(self, request: ConsentRequest, *, look: Look) -> Granted | Waiting | Refusal:
        self.asked.append(request)
        self.seen += [await look(call) for call in self.looking]
        for call in self.meanwhile:
            assert self.gate is not None
            assert isinstance(await self.gate.call(call), ToolResult)
        return self.answer


def call(tool: str, arguments: str = WEB) -> ToolCall:
    return ToolCall(call_id=new_id(), provider_id="p", name=f"ship.{tool}", arguments=arguments)


async def ask(gate: Gate, tool: str, arguments: str = WEB) -> str | None:
    result = await gate.call(call(tool, arguments))
    assert isinstance(result, ToolResult)
    return result.error


async def state_of(gate: Gate, tool: str, arguments: str = WEB) -> str:
    """Why a call is refused by what happened before."""
    result = await gate.call(call(tool, arguments))
    assert isinstance(result, ToolResult)
    assert result.error == "FSM_BLOCKED"
    return json.loads(result.content)["error"]["details"]["state"]


@requirement("gate:session-decides")
async def test_a_thing_is_found_before_it_is_changed_and_looked_at_before_it_is_changed_again() -> None:
    gate = Deck().open_gate()
    assert await ask(gate, "set") == "STRICT_RESOLUTION"
    assert await ask(gate, "list", "{}") is None
    assert await ask(gate, "set") is None
    assert await state_of(gate, "set") == Phase.VERIFYING
    assert await ask(gate, "set", DB) is None, "another thing is another matter"
    assert await ask(gate, "get", DB) is None
    assert await state_of(gate, "set") == Phase.VERIFYING
    assert await ask(gate, "get") is None
    assert await ask(gate, "set") is None


@requirement("gate:session-decides")
async def test_a_server_as_a_whole_needs_no_finding_but_a_look_after_each_change() -> None:
    gate = Deck(WHOLE).open_gate()
    assert await ask(gate, "set") is None
    assert await state_of(gate, "set", DB) == Phase.VERIFYING
    assert await ask(gate, "find") is None
    assert await state_of(gate, "set") == Phase.VERIFYING
    assert await ask(gate, "get", DB) is None
    assert await ask(gate, "set") is None


@requirement("gate:session-decides")
async def test_looks_of_a_server_without_templates_are_never_refused_by_the_session() -> None:
    gate = Deck(replace(WHOLE, level=ControlLevel.READ_ONLY)).open_gate()
    for tool, arguments in (("get", WEB), ("find", WEB), ("list", "{}"), ("run", '{"command": "docker exec web ls"}')):
        assert await ask(gate, tool, arguments) is None


@requirement("gate:entered-before-waiting")
async def test_of_two_changes_in_flight_on_one_target_the_second_is_refused() -> None:
    deck = Deck(WHOLE)
    deck.tools.released.clear()
    one, two = deck.open_gate(), deck.open_gate()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        first = group.create_task(ask(one, "set"))
        await deck.tools.arrived.acquire()
        assert await state_of(two, "set", DB) == Phase.WRITING
        deck.tools.released.set()
    assert first.result() is None


@requirement("gate:entered-before-waiting")
async def test_a_change_whose_start_is_still_being_committed_keeps_others_out() -> None:
    deck = Deck(WHOLE)
    gate = deck.open_gate()
    starting, committed = asyncio.Event(), asyncio.Event()

    async def start(cleared: ClearedCall) -> Refusal | None:
        assert cleared.clearance.ticket is not None
        starting.set()
        await committed.wait()
        return None

    deck.journal.on_start = start
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        first = group.create_task(ask(gate, "set"))
        await starting.wait()
        assert await state_of(gate, "set") == Phase.WRITING
        committed.set()
    assert first.result() is None


@requirement("gate:session-decides", "machine:read-after-end")
async def test_a_read_that_overlaps_a_change_does_not_verify_it() -> None:
    deck = Deck(WHOLE)
    gate = deck.open_gate()
    deck.tools.released.clear()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        group.create_task(ask(gate, "get"))
        await deck.tools.arrived.acquire()
        group.create_task(ask(gate, "set"))
        await deck.tools.arrived.acquire()
        group.create_task(ask(gate, "get", DB))
        await deck.tools.arrived.acquire()
        deck.tools.released.set()
    assert deck.safety.machine.unverified_targets == ("mcp:ship",)
    assert await ask(gate, "get") is None
    assert deck.safety.machine.unverified_targets == ()
    assert [record.verified for record in deck.journal.records.values() if record.verified] == [("mcp:ship",)]


@requirement("gate:one-state")
async def test_two_executions_share_what_was_found_and_what_is_left_to_look_at() -> None:
    deck = Deck()
    one, two = deck.open_gate(), deck.open_gate()
    await ask(one, "list", "{}")
    assert await ask(two, "set") is None
    assert await state_of(one, "set") == Phase.VERIFYING
    assert one.refuse_conclusion() is None, "the other one's change"
    assert two.refuse_conclusion() is not None
    await ask(one, "get")
    assert two.refuse_conclusion() is None, "whoever looks"


@requirement("gate:one-state", "machine:rebuilt")
async def test_whoever_takes_over_inherits_what_is_left_to_look_at() -> None:
    first = Deck(WHOLE)
    owner = new_id()
    await ask(first.open_gate(owner), "set")
    heir = Deck(WHOLE, safety=SessionSafety(machine=Machine.rebuild(first.journal.records.values())))
    gate = heir.open_gate(owner)
    assert gate.refuse_conclusion() is not None
    assert await state_of(gate, "set") == Phase.VERIFYING
    await ask(gate, "get")
    assert gate.refuse_conclusion() is None


@requirement("gate:outcomes")
@pytest.mark.parametrize("error", ["TOOL_ERROR", "TIMEOUT", "TRANSPORT_ERROR", "PROTOCOL_ERROR", "odd words"])
async def test_a_change_that_failed_is_looked_at_like_any_other(error: str) -> None:
    deck = Deck(WHOLE)
    deck.tools.results["ship.set"] = ToolResult(content="no", error=error)
    gate = deck.open_gate()
    assert await ask(gate, "set") == error
    assert await state_of(gate, "set") == Phase.VERIFYING
    assert await ask(gate, "get") is None
    assert await ask(gate, "set") == error


@requirement("gate:outcomes")
async def test_a_look_that_failed_verifies_nothing() -> None:
    deck = Deck(WHOLE)
    gate = deck.open_gate()
    await ask(gate, "set")
    deck.tools.results["ship.get"] = ToolResult(content="no", error="TOOL_ERROR")
    await ask(gate, "get")
    assert await state_of(gate, "set") == Phase.VERIFYING


@requirement("gate:outcomes")
@pytest.mark.parametrize("error", ["NOT_DISPATCHED", "TOOL_NOT_FOUND"])
async def test_a_change_that_never_left_changes_nothing(error: str) -> None:
    deck = Deck(WHOLE)
    deck.tools.results["ship.set"] = ToolResult(content="no", error=error)
    gate = deck.open_gate()
    assert await ask(gate, "set") == error
    assert gate.refuse_conclusion() is None
    assert deck.safety.machine.unverified_targets == ()


@requirement("gate:outcomes")
async def test_a_change_that_the_journal_would_not_start_changes_nothing_and_says_by_what() -> None:
    deck = Deck(WHOLE)
    deck.journal.start_refusal = Refusal(code="TARGET_BUSY", reason="r", hint="h")
    gate = deck.open_gate()
    assert await ask(gate, "set") == "TARGET_BUSY"
    assert deck.safety.machine.unverified_targets == ()
    assert deck.journal.judged == [
        {"kind": "write", "rule": "operator:write:set", "policy_rule": "journal:TARGET_BUSY"}
    ]


@requirement("gate:outcomes", "journal:person-ends-one-call")
async def test_a_change_that_a_person_ends_before_it_is_sent_changes_nothing() -> None:
    deck = Deck(WHOLE)
    gate, asked = deck.open_gate(), call("set")
    deck.calls.cancel(asked.call_id)
    result = await gate.call(asked)
    assert isinstance(result, ToolResult)
    assert result.error == "CANCELLED_BY_PERSON"
    assert deck.safety.machine.unverified_targets == ()


@requirement("gate:outcomes", "machine:unknown-stays-closed")
async def test_a_change_that_a_person_ends_keeps_its_target_closed_until_its_time_is_over() -> None:
    clock = SteppedClock()
    deck = Deck(WHOLE, safety=SessionSafety(machine=Machine(clock=clock)))
    gate, asked = deck.open_gate(), call("set")
    deck.tools.released.clear()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        ended = group.create_task(gate.call(asked))
        await deck.tools.arrived.acquire()
        deck.calls.cancel(asked.call_id)
    deck.tools.released.set()
    result = ended.result()
    assert isinstance(result, ToolResult)
    assert result.error == "CANCELLED_BY_PERSON"
    assert await ask(gate, "get") is None
    assert await state_of(gate, "set") == Phase.WRITING, "the look came while it may still have been at work"
    clock.step(gate.timeout)
    assert await state_of(gate, "set") == Phase.VERIFYING
    await ask(gate, "get")
    assert await ask(gate, "set") is None


@requirement("gate:outcomes", "journal:person-ends-one-call")
async def test_a_look_that_a_person_ends_verifies_nothing() -> None:
    deck = Deck(WHOLE)
    gate, asked = deck.open_gate(), call("get")
    await ask(gate, "set")
    await deck.tools.arrived.acquire()
    deck.tools.released.clear()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        group.create_task(gate.call(asked))
        await deck.tools.arrived.acquire()
        deck.calls.cancel(asked.call_id)
    deck.tools.released.set()
    assert await state_of(gate, "set") == Phase.VERIFYING


@requirement("gate:torn-away")
@pytest.mark.parametrize("tool", ["set", "get"])
async def test_a_call_that_is_torn_away_leaves_a_changed_target_closed_and_nothing_verified(tool: str) -> None:
    clock = SteppedClock()
    deck = Deck(WHOLE, safety=SessionSafety(machine=Machine(clock=clock)))
    gate = deck.open_gate()
    deck.tools.released.clear()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        running = group.create_task(ask(gate, tool))
        await deck.tools.arrived.acquire()
        running.cancel()
    assert running.cancelled()
    deck.tools.released.set()
    if tool == "set":
        assert await state_of(gate, "set") == Phase.WRITING
        clock.step(gate.timeout)
        assert await state_of(gate, "set") == Phase.VERIFYING, "its time is over"
    else:
        assert await ask(gate, "set") is None


@requirement("gate:torn-away")
async def test_a_change_whose_lease_was_lost_before_it_left_counts_as_perhaps_made() -> None:
    deck = Deck(WHOLE)
    gate = deck.open_gate()
    deck.journal.dispatch_failure = LeaseLost("gone")
    with pytest.raises(LeaseLost):
        await ask(gate, "set")
    assert deck.safety.machine.phase_of("mcp:ship") is Phase.WRITING


@requirement("conclusion:refused")
async def test_a_conclusion_is_refused_until_what_was_changed_has_been_looked_at() -> None:
    gate = Deck(WHOLE).open_gate()
    assert gate.refuse_conclusion() is None
    await ask(gate, "set")
    refusal = gate.refuse_conclusion()
    assert refusal is not None
    assert "mcp:ship" in refusal.reason
    await ask(gate, "get")
    assert gate.refuse_conclusion() is None


@requirement("gate:observe-tracks")
async def test_observe_lets_pass_what_the_session_would_refuse_and_keeps_account_of_it() -> None:
    deck = Deck(stance=OBSERVE)
    gate = deck.open_gate()
    assert await ask(gate, "set") is None
    assert await ask(gate, "set") is None
    observed = [cleared.clearance.observed for cleared in deck.tools.calls]
    assert observed == ["STRICT_RESOLUTION", "STRICT_RESOLUTION"]
    assert deck.safety.machine.unverified_targets == ("pump:web",)
    assert gate.refuse_conclusion() is None, "it is told at the end, and not refused"
    await ask(gate, "get")
    assert deck.safety.machine.unverified_targets == ()


@requirement("gate:observe-tracks")
async def test_observe_tells_of_a_change_that_nobody_has_looked_at() -> None:
    deck = Deck(WHOLE, stance=OBSERVE)
    gate = deck.open_gate()
    await ask(gate, "set")
    await ask(gate, "set")
    assert [cleared.clearance.observed for cleared in deck.tools.calls] == [None, "FSM_BLOCKED"]


@requirement("gate:observe-tracks")
async def test_observe_refuses_a_second_change_while_one_is_under_way() -> None:
    deck = Deck(WHOLE, stance=OBSERVE)
    gate = deck.open_gate()
    deck.tools.released.clear()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        group.create_task(ask(gate, "set"))
        await deck.tools.arrived.acquire()
        assert await state_of(gate, "set") == Phase.WRITING
        assert await ask_beside(deck, gate, "get") is None
        deck.tools.released.set()


async def ask_beside(deck: Deck, gate: Gate, tool: str) -> str | None:
    """While another call is held, without waiting for it."""
    async with asyncio.TaskGroup() as group:
        asked = group.create_task(ask(gate, tool))
        await deck.tools.arrived.acquire()
        deck.tools.released.set()
    return asked.result()


@requirement("gate:observe-tracks", "gate:rewrites-once")
async def test_observe_rewrites_nothing() -> None:
    deck = Deck(stance=OBSERVE)
    assert await ask(deck.open_gate(), "run", '{"host":"a","command":"tail -f /var/log/syslog"}') is None
    assert deck.tools.calls[0].arguments["command"] == "tail -f /var/log/syslog"
    assert deck.journal.rewritten == []


@requirement("gate:commands-judged")
@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("ls -l /var/log", None),
        ("rm -rf /var/log", "READ_ONLY_VIOLATION"),
        ("made-up-program", "READ_ONLY_VIOLATION"),
        ("cat /etc/shadow", "SENSITIVE_COMMAND"),
        ("curl -s http://example.com/", "EGRESS_BLOCKED"),
    ],
)
async def test_a_tool_that_takes_a_command_is_judged_by_it(command: str, error: str | None) -> None:
    gate = Deck(replace(WHOLE, level=ControlLevel.READ_ONLY)).open_gate()
    assert await ask(gate, "run", json.dumps({"host": "a", "command": command})) == error


@requirement("rules:secrets", "rules:egress")
async def test_a_tool_that_reads_opens_no_secrets_and_carries_nothing_out() -> None:
    deck = Deck(replace(WHOLE, level=ControlLevel.READ_ONLY, egress_allow=("*.ship",)))
    gate = deck.open_gate()
    assert await ask(gate, "get", '{"name":"x","path":"/root/.ssh/id_rsa"}') == "SENSITIVE_COMMAND"
    assert await ask(gate, "get", '{"name":"x","url":"https://example.com/?q=stolen"}') == "EGRESS_BLOCKED"
    assert deck.tools.calls == []
    assert await ask(gate, "get", '{"name":"x","path":"/var/log/web","url":"https://wiki.ship/x"}') is None


@requirement("gate:commands-judged")
async def test_a_harmless_command_covers_for_no_other_in_the_same_call() -> None:
    gate = Deck(replace(WHOLE, level=ControlLevel.READ_ONLY)).open_gate()
    for more in ({"cmd": "rm -rf /"}, {"options": {"command": "rm -rf /"}}, {"env": {"LD_PRELOAD": "/tmp/x.so"}}):
        arguments = json.dumps({"host": "a", "command": "uptime", **more})
        assert await ask(gate, "run", arguments) == "READ_ONLY_VIOLATION"
    assert await ask(gate, "run", '{"host":"a","command":"uptime","cmd":"ls"}') is None


@requirement("gate:commands-judged", "order:writes-alone")
async def test_a_command_that_changes_something_runs_alone() -> None:
    gate = Deck().open_gate()
    await gate.list_tools()
    commands = ["ls", "cat /etc/hosts", "rm x", "ls"]
    calls = [call("run", json.dumps({"host": "a", "command": command})) for command in commands]
    calls += [call("query", '{"query": "drop table crew"}'), call("run", "{"), call("get")]
    groups = group_calls(calls, gate.kind_of)
    assert [len(group) for group in groups] == [2, 1, 1, 1, 2]


@requirement("gate:commands-judged", "mask:no-placeholder-in-writes")
async def test_a_command_that_writes_holds_no_placeholder() -> None:
    gate = Deck(WHOLE).open_gate()
    command = json.dumps({"host": "a", "command": "echo [MASKED_PASSWORD] > /etc/app"})
    assert await ask(gate, "run", command) == "MASKED_VALUE_IN_WRITE"


@requirement("gate:queries-judged")
async def test_a_query_that_says_it_changes_something_is_a_change() -> None:
    deck = Deck(replace(WHOLE, level=ControlLevel.READ_ONLY))
    gate = deck.open_gate()
    assert await ask(gate, "query", '{"query": "DELETE FROM crew"}') == "READ_ONLY_VIOLATION"
    assert await ask(gate, "query", '{"query": "sum(rate(errors[5m]))"}') is None
    assert deck.journal.judged == [
        {"kind": "write", "rule": "query:delete", "policy_rule": "level:read_only"},
    ]


@requirement("gate:rewrites-once", "gate:same-arguments")
async def test_a_command_without_an_end_gives_way_to_one_that_has_one_and_both_are_told() -> None:
    deck = Deck(WHOLE)
    assert await ask(deck.open_gate(), "run", '{"host":"a","command":"tail -f /var/log/syslog"}') is None
    assert deck.log == ["rewrite ship.run READ_ONLY_VIOLATION", "run ship.run", "finish ship.run"]
    ((_, refusal),) = deck.journal.rewritten
    (sent,) = deck.tools.calls
    assert refusal.details == {
        "category": "unbounded_stream",
        "suggested_rewrite": sent.arguments["command"],
        "auto_recoverable": True,
    }
    assert refusal.hint == f"This is sent instead: {sent.arguments['command']}"
    assert "-f" not in str(sent.arguments["command"]).split()
    assert sent.arguments.keys() == {"host", "command"}
    assert sent.arguments["host"] == "a"
    assert json.loads(sent.call.arguments) == sent.arguments
    assert sent.clearance.read_as == "rewrite"


@requirement("gate:rewrites-once")
async def test_a_command_without_an_end_that_cannot_be_bounded_is_refused() -> None:
    deck = Deck(WHOLE)
    assert await ask(deck.open_gate(), "run", '{"host":"a","command":"python3"}') == "READ_ONLY_VIOLATION"
    ((_, refusal),) = deck.journal.refused
    assert (refusal.details["category"], refusal.details["suggested_rewrite"]) == ("interactive_repl", None)
    assert refusal.hint.startswith("Nothing was sent. Bound the command")
    assert deck.tools.calls == []


@requirement("gate:entered-targets", "routing:host-refused")
async def test_a_command_that_enters_something_acts_on_it() -> None:
    deck = Deck()
    gate = deck.open_gate()
    enter = '{"host":"pve1","command":"pct exec 141 -- rm /tmp/x"}'
    assert await ask(gate, "run", enter) == "STRICT_RESOLUTION"
    deck.tools.results["ship.list"] = ToolResult(
        content=json.dumps({"items": ["node:pve1", {"kind": "lxc", "host": "pve1", "uid": 141, "name": "homepage"}]})
    )
    await ask(gate, "list", "{}")
    assert await ask(gate, "run", enter) is None
    assert deck.tools.calls[-1].clearance.targets == ("node:pve1", "lxc:pve1:141")
    assert deck.safety.machine.unverified_targets == ("lxc:pve1:141", "node:pve1")


@requirement("gate:entered-targets")
async def test_on_a_server_as_a_whole_only_what_is_known_is_told_apart() -> None:
    deck = Deck(WHOLE)
    gate = deck.open_gate()
    enter = '{"command":"docker exec web rm /tmp/x"}'
    assert await ask(gate, "run", enter) is None
    assert deck.tools.calls[-1].clearance.targets == ("mcp:ship",)
    deck.tools.results["ship.list"] = ToolResult(content='{"items": ["container:server1:web"]}')
    await ask(gate, "list", "{}")
    assert await ask(gate, "run", enter) is None
    assert deck.tools.calls[-1].clearance.targets == ("mcp:ship", "container:server1:web")


@requirement("gate:no-marks", "gate:same-arguments")
async def test_marks_that_no_schema_names_are_not_sent() -> None:
    deck = Deck(WHOLE)
    await ask(deck.open_gate(), "get", '{"name":"web","_approved":true,"_approval_id":"1"}')
    (sent,) = deck.tools.calls
    assert sent.arguments == {"name": "web"} == json.loads(sent.call.arguments)
    assert sent.clearance.read_as == "unmarked"


@requirement("gate:no-marks")
async def test_a_property_of_the_tool_is_no_mark() -> None:
    deck = Deck(WHOLE)
    deck.tools.tools = (define("get", _id=TEXT),)
    await ask(deck.open_gate(), "get", '{"_id":"7"}')
    assert deck.tools.calls[0].arguments == {"_id": "7"}


@requirement("gate:judged")
async def test_refusals_say_by_which_rule_and_at_which_risk() -> None:
    rule = Rule(place=0, decision=Decision.REFUSE, kinds=(ToolKind.WRITE,))
    deck = Deck(replace(WHOLE, rules=(rule,)))
    gate = deck.open_gate()
    await ask(gate, "set")
    await ask(gate, "run", '{"command":"rm x"}')
    await ask(gate, "nothing")
    assert deck.journal.judged == [
        {"kind": "write", "rule": "operator:write:set", "policy_rule": "rules[0]"},
        {"kind": "write", "rule": "shell:verb:writes", "risk": "high", "policy_rule": "rules[0]"},
        {"policy_rule": "gate:TOOL_NOT_FOUND"},
    ]


@requirement("gate:judged")
async def test_refusals_by_the_session_name_its_code() -> None:
    deck = Deck()
    await ask(deck.open_gate(), "set")
    assert deck.journal.judged == [
        {"kind": "write", "rule": "operator:write:set", "policy_rule": "gate:STRICT_RESOLUTION"}
    ]


@requirement("target:no-holes")
async def test_a_change_whose_target_cannot_be_told_is_refused() -> None:
    assert await ask(Deck().open_gate(), "set", "{}") == "INVALID_INPUT"


CONTROLLED = replace(RULES, level=ControlLevel.CONTROLLED)
YES = Granted(approval_id=new_id(), digest=b"d")


@requirement("gate:asks-last")
async def test_a_person_is_asked_only_about_what_nothing_else_stands_against() -> None:
    deck, person = Deck(CONTROLLED), Answers(YES)
    gate = deck.open_gate(consent=person)
    assert await ask(gate, "set") == "STRICT_RESOLUTION"
    await ask(gate, "list", "{}")
    assert await ask(gate, "set", '{"name":"web","value":"[MASKED_PASSWORD]"}') == "MASKED_VALUE_IN_WRITE"
    assert person.asked == []
    assert await ask(gate, "set") is None
    (asked,) = person.asked
    assert (asked.arguments, [target.id for target in asked.targets]) == ({"name": "web"}, ["pump:web"])
    assert (asked.kind.kind, asked.risk, asked.decision.rule) == (ToolKind.WRITE, None, "level:controlled")
    clearance = deck.tools.calls[-1].clearance
    assert (clearance.approval_id, clearance.approval_digest) == (YES.approval_id, YES.digest)


@requirement("gate:asks-last")
async def test_what_happens_while_a_person_thinks_counts() -> None:
    deck, person = Deck(CONTROLLED), Answers(YES)
    gate = deck.open_gate(consent=person)
    await ask(gate, "list", "{}")
    deck.rules = RULES
    person.gate, person.meanwhile = deck.open_gate(), [call("set")]
    assert await state_of(gate, "set") == Phase.VERIFYING
    assert [cleared.clearance.approval_id for cleared in deck.tools.calls if cleared.tool.name == "set"] == [None]


@requirement("gate:asks-last")
async def test_what_waits_for_a_person_is_begun_by_nobody() -> None:
    waiting = Waiting(call_id=new_id(), approval_id=new_id())
    deck = Deck(CONTROLLED)
    gate = deck.open_gate(consent=Answers(waiting))
    await ask(gate, "list", "{}")
    assert await gate.call(call("set")) is waiting
    assert deck.safety.machine.unverified_targets == ()
    assert gate.refuse_conclusion() is None


@requirement("gate:asks-last")
async def test_a_persons_no_is_the_result() -> None:
    no = Refusal(code="APPROVAL_DENIED", reason="r", hint="h")
    deck = Deck(CONTROLLED)
    gate = deck.open_gate(consent=Answers(no))
    await ask(gate, "list", "{}")
    assert await ask(gate, "set") == "APPROVAL_DENIED"
    assert deck.safety.machine.unverified_targets == ()


@requirement("gate:asks-last")
async def test_what_was_asked_before_is_recalled_before_anything_is_decided() -> None:
    deck, person = Deck(CONTROLLED), Answers(YES)
    gate = deck.open_gate(consent=person)
    person.recalled = Waiting(call_id=new_id(), approval_id=new_id())
    assert await gate.call(call("set")) is person.recalled
    person.recalled = Refusal(code="APPROVAL_EXPIRED", reason="r", hint="h")
    assert await ask(gate, "set") == "APPROVAL_EXPIRED"
    person.recalled = call("list", "{}")
    assert await ask(gate, "set") is None, "code has found the target again"


@requirement("gate:asks-last")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("set", WEB),
        ("nothing", WEB),
        ("get", "{"),
        ("odd", WEB),
        ("run", '{"host":"pve1","command":"cat /etc/shadow"}'),
    ],
)
async def test_code_that_looks_for_itself_does_nothing_else(tool: str, arguments: str) -> None:
    deck, person = Deck(RULES), Answers(YES)
    gate = deck.open_gate(consent=person)
    await ask(gate, "list", "{}")
    person.recalled = call(tool, arguments)
    await ask(gate, "get")
    assert [cleared.tool.name for cleared in deck.tools.calls] == ["list", "get"]


@requirement("gate:asks-last", "context:reading-commands")
async def test_code_that_looks_for_itself_is_refused_as_a_model_would_be() -> None:
    deck, person = Deck(RULES), Answers(YES)
    gate = deck.open_gate(consent=person)
    person.recalled = call("run", '{"host":"pve1","command":"ls"}')
    await ask(gate, "get")
    assert [cleared.tool.name for cleared in deck.tools.calls] == ["get"]


@requirement("approval:files")
async def test_with_a_change_a_person_is_asked_about_its_files_and_code_may_look_into_them() -> None:
    deck, person = Deck(replace(CONTROLLED, templates={})), Answers(YES)
    gate = deck.open_gate(consent=person)
    deck.tools.results["ship.run"] = ToolResult(content="d1  /x")
    person.looking = [call("run", '{"command":"sha256sum -- /x"}'), call("run", '{"command":"rm /x"}')]
    assert await ask(gate, "run", '{"command":"bash /x"}') is None
    (asked,) = person.asked
    assert [(file.path, file.asking) for file in asked.contents.files] == [("/x", {"command": "sha256sum -- /x"})]
    assert person.seen == [ToolResult(content="d1  /x"), None], "it looks, and does nothing else"
    assert [cleared.arguments["command"] for cleared in deck.tools.calls] == ["sha256sum -- /x", "bash /x"]


@requirement("approval:files")
async def test_a_look_that_a_person_is_asked_about_is_decided_by_no_file() -> None:
    deck, person = Deck(replace(CONTROLLED, templates={})), Answers(YES)
    gate = deck.open_gate(consent=person)
    await ask(gate, "run", '{"command":"cat /etc/shadow | grep root"}')
    (asked,) = person.asked
    assert asked.contents == NamedContents()


@requirement("gate:entered-targets")
async def test_what_is_entered_from_a_place_that_is_not_known_as_a_host_has_no_host() -> None:
    deck = Deck(replace(RULES, templates={"run": TargetTemplate(target="{host}"), "list": RULES.templates["list"]}))
    gate = deck.open_gate()
    deck.tools.results["ship.list"] = ToolResult(content='{"items": ["guest:141", "pve1"]}')
    await ask(gate, "list", "{}")
    assert await ask(gate, "run", '{"host":"pve1","command":"pct exec 141 -- rm x"}') is None
    assert deck.tools.calls[-1].clearance.targets == ("resource:pve1", "guest:141")


@requirement("gate:entered-targets")
async def test_another_host_is_not_on_this_one_and_processes_are_no_targets() -> None:
    deck = Deck()
    gate = deck.open_gate()
    deck.tools.results["ship.list"] = ToolResult(content='{"items": ["node:pve1", "host:server1"]}')
    await ask(gate, "list", "{}")
    ssh, enter = "ssh server1 uptime", "nsenter -t 1 ls"
    deck.rules = replace(RULES, egress_allow=("server1",))
    gate = deck.open_gate()
    for command in (ssh, enter):
        assert await ask(gate, "run", json.dumps({"host": "pve1", "command": command})) is None
    assert [cleared.clearance.targets for cleared in deck.tools.calls[-2:]] == [
        ("node:pve1", "host:server1"),
        ("node:pve1",),
    ]


@requirement("gate:session-decides")
async def test_what_acts_on_nothing_outside_has_no_target() -> None:
    deck = Deck(replace(WHOLE, acts_on_server=False))
    assert await ask(deck.open_gate(), "get") is None
    assert deck.tools.calls[0].clearance.targets == ()


class OnePin:
    """Somebody vouched for another definition of this tool."""

    async def find_changed(self, tools: Sequence[ToolDefinition]) -> Collection[str]:
        return [tool.full_name for tool in tools if tool.name == "get"]


@requirement("kind:changed-is-unknown")
async def test_a_tool_that_is_not_what_it_was_is_a_write_whatever_it_is_called_with() -> None:
    deck = Deck(replace(WHOLE, level=ControlLevel.READ_ONLY))
    gate = deck.open_gate()
    gate.pins = OnePin()
    assert await ask(gate, "get") == "READ_ONLY_VIOLATION"
    assert gate.kind_of(call("get")) is ToolKind.WRITE
    assert deck.journal.judged[0]["rule"] == "pin:changed"
