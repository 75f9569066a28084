"""Asking a person about a call: what is asked, once, and what an answer is good for."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from midwatch.domain.tools import Refusal, ToolCall, ToolKind, ToolResult, Waiting
from midwatch.kit.ids import new_id
from midwatch.safety.kinds import KindVerdict
from midwatch.safety.machine import Phase
from midwatch.safety.refusals import Code
from midwatch.safety.resources import Origin, Resource
from midwatch.safety.rules import Ask
from midwatch.safety.session import SessionSafety
from midwatch.safety.shell.verdict import Risk
from midwatch.safety.targets import Target
from midwatch.tools.consent import ConsentRequest, Granted, Look, NoConsent, PersonalConsent
from midwatch.tools.contents import NamedContent, NamedContents
from tests.fakes.approval_journal import WORDS, FakeApprovalJournal
from tests.fakes.toolset import define_tool
from tests.safety.requirements import requirement

QUARTER = timedelta(minutes=15)
LISTED = Origin(tool="ship.list", arguments='{"of":"pumps"}')
PUMP = Resource(kind="pump", uid="p1", host="aft", parent="host:aft", origin=LISTED)
SPARE = Resource(kind="pump", uid="p2", origin=LISTED)
GOT = Resource(kind="pump", uid="p3", origin=Origin(tool="ship.find", arguments='{"name":"p3"}'))
BARE = "mcp:ship"
DECISION = Ask(rule="level:controlled", code=Code.APPROVAL_REQUIRED, reason="a person must approve every change")
CHANGE = KindVerdict(kind=ToolKind.WRITE, proven=False, rule="operator:write:set")


class Bench:
    """A session in which a call is asked about, and what it would be asked again after a take-over."""

    def __init__(self, *targets: Resource | str, user: str = "watch") -> None:
        self.journal = FakeApprovalJournal()
        self.safety = SessionSafety()
        self.targets = targets or (PUMP, BARE)
        self.learn(self.safety)
        self.consent = PersonalConsent(
            journal=self.journal, expire_after=QUARTER, users={"ship": user} if user else {"shore": "root"}
        )
        self.call = ToolCall(call_id=new_id(), provider_id="p", name="ship.set", arguments='{"name":"p1"}')

    def learn(self, safety: SessionSafety) -> None:
        safety.learn(target for target in self.targets if isinstance(target, Resource))

    def request(
        self, *, risk: Risk | None = Risk.HIGH, contents: NamedContents | None = None, **arguments: Any
    ) -> ConsentRequest:
        return ConsentRequest(
            call=self.call,
            tool=define_tool("ship.set"),
            arguments=arguments or {"name": "p1"},
            targets=tuple(Target(id=each if isinstance(each, str) else each.id) for each in self.targets),
            kind=CHANGE,
            risk=risk,
            decision=DECISION,
            safety=self.safety,
            contents=contents or NamedContents(),
        )

    async def ask(self) -> Waiting:
        waiting = await self.consent.seek(self.request(), look=see_nothing)
        assert isinstance(waiting, Waiting)
        return waiting

    async def take_over(self, look: Look | None = None) -> tuple[SessionSafety, Waiting | Refusal | None]:
        """What the next owner knows of the session, and is told of the call."""
        self.journal.waited = {self.call.call_id}
        heir = SessionSafety()

        async def find_again(call: ToolCall) -> ToolResult | None:
            assert call.is_own
            self.learn(heir)

        return heir, await self.consent.recall(self.call, heir, look=look or find_again)


async def see_nothing(call: ToolCall) -> ToolResult | None:
    assert call.is_own


def code_of(answer: Granted | Waiting | Refusal | None) -> str | None:
    return answer.code if isinstance(answer, Refusal) else None


@requirement("approval:shows-all", "approval:words-are-words")
async def test_a_person_is_asked_about_the_call_as_it_would_run() -> None:
    bench = Bench()
    waiting = await bench.ask()
    (new,) = bench.journal.requested
    assert waiting == Waiting(call_id=bench.call.call_id, approval_id=new.approval.approval_id)
    assert new.approval.call_id == bench.call.call_id
    assert new.approval.expires_at == bench.journal.now + QUARTER
    shown = new.request
    assert (shown["tool_name"], shown["arguments"], shown["kind"], shown["risk"]) == (
        "set",
        {"name": "p1"},
        "write",
        "high",
    )
    assert shown["runs_as"] == {"executor": "mcp:ship", "user": "watch", "folder": ""}
    assert shown["models_words"]["text"] == WORDS


@requirement("approval:looked-up-again")
async def test_with_the_question_is_kept_what_the_targets_are_and_how_they_were_found() -> None:
    bench = Bench()
    await bench.ask()
    (new,) = bench.journal.requested
    identity = {"id": "pump:aft:p1", "kind": "pump", "uid": "p1", "host": "aft", "parent": "host:aft"}
    assert list(new.targets) == [
        {"identity": identity, "origin": {"tool": "ship.list", "arguments": '{"of":"pumps"}'}},
        {"identity": {"id": BARE}, "origin": None},
    ]
    assert list(new.target_ids) == ["pump:aft:p1", BARE]


@requirement("approval:shows-all")
@pytest.mark.parametrize(("risk", "told"), [(None, {}), (Risk.LOW, {"risk": "low"})])
async def test_with_the_question_is_kept_why_it_is_asked(risk: Risk | None, told: dict[str, str]) -> None:
    bench = Bench()
    await bench.consent.seek(bench.request(risk=risk), look=see_nothing)
    (new,) = bench.journal.requested
    assert new.verdict == new.request["verdict"]
    assert new.verdict == told | {
        "kind": "write",
        "proven": False,
        "rule": "operator:write:set",
        "policy_rule": "level:controlled",
        "policy_code": "APPROVAL_REQUIRED",
        "policy_reason": "a person must approve every change",
    }


async def test_whom_the_operator_did_not_name_is_not_named() -> None:
    bench = Bench(user="")
    await bench.ask()
    assert bench.journal.requested[0].request["runs_as"]["user"] == ""


@requirement("context:pins")
async def test_what_is_asked_about_is_not_forgotten() -> None:
    bench = Bench(PUMP, SPARE)
    await bench.ask()
    assert bench.safety.context.pinned == {PUMP.id, SPARE.id}


@requirement("parking:survives")
async def test_a_question_is_asked_once_however_often_its_call_is_tried() -> None:
    bench = Bench()
    waiting = await bench.ask()
    assert await bench.consent.seek(bench.request(), look=see_nothing) == waiting
    assert len(bench.journal.requested) == 1


@requirement("approval:whole-call")
async def test_a_yes_is_handed_on_with_what_it_was_given_to() -> None:
    bench = Bench()
    waiting = await bench.ask()
    bench.journal.answer(bench.call.call_id, yes=True)
    granted = await bench.consent.seek(bench.request(), look=see_nothing)
    digest = bench.journal.requested[0].approval.digest
    assert granted == Granted(approval_id=waiting.approval_id, digest=digest)


@requirement("approval:whole-call")
async def test_a_yes_to_other_arguments_or_another_thing_is_void() -> None:
    bench = Bench()
    await bench.ask()
    bench.journal.answer(bench.call.call_id, yes=True)
    other = await bench.consent.seek(bench.request(name="p2"), look=see_nothing)
    bench.safety.learn([replace(PUMP, parent="host:fore")])
    moved = await bench.consent.seek(bench.request(), look=see_nothing)
    assert isinstance(other, Refusal)
    assert (other.code, other.details["changed"]) == ("APPROVAL_STALE", ["arguments"])
    assert isinstance(moved, Refusal)
    assert (moved.code, moved.details["changed"]) == ("APPROVAL_STALE", ["targets"])


@requirement("approval:no-is-read", "approval:expires")
async def test_a_no_and_silence_are_refusals_whoever_asks_for_them() -> None:
    denied, silent = Bench(), Bench()
    await denied.ask()
    denied.journal.answer(denied.call.call_id, yes=False)
    await silent.ask()
    silent.journal.pass_time(QUARTER)
    for bench, code in ((denied, "APPROVAL_DENIED"), (silent, "APPROVAL_EXPIRED")):
        _, recalled = await bench.take_over()
        assert (code_of(await bench.consent.seek(bench.request(), look=see_nothing)), code_of(recalled)) == (code, code)
        assert bench.journal.looks == [], "nothing is looked up for a no"


@requirement("approval:whole-call")
@pytest.mark.parametrize("value", [float("nan"), {1, 2}])
async def test_nobody_is_asked_about_what_cannot_be_written_down_exactly(value: Any) -> None:
    bench = Bench()
    refusal = await bench.consent.seek(bench.request(name=value), look=see_nothing)
    assert code_of(refusal) == "NOT_APPROVABLE"
    assert bench.journal.requested == []
    assert bench.safety.context.pinned == frozenset()


@requirement("gate:asks-last")
async def test_a_call_that_did_not_wait_when_the_run_began_is_asked_about_when_its_turn_comes() -> None:
    bench = Bench()
    assert await bench.consent.recall(bench.call, bench.safety, look=see_nothing) is None
    await bench.ask()
    bench.journal.answer(bench.call.call_id, yes=False)
    assert await bench.consent.recall(bench.call, bench.safety, look=see_nothing) is None


@requirement("parking:survives")
async def test_a_call_that_is_said_to_wait_without_a_question_is_asked_about_like_any_other() -> None:
    bench = Bench()
    _, recalled = await bench.take_over()
    assert recalled is None
    assert bench.journal.looks == []


@requirement("parking:survives")
async def test_a_call_that_still_waits_goes_on_waiting() -> None:
    bench = Bench()
    waiting = await bench.ask()
    assert (await bench.take_over())[1] == waiting
    assert bench.journal.looks == []


@requirement("approval:looked-up-again")
async def test_after_a_yes_what_had_found_the_targets_is_called_again_once_each() -> None:
    bench = Bench(PUMP, SPARE, GOT, BARE)
    await bench.ask()
    bench.journal.answer(bench.call.call_id, yes=True)
    heir, recalled = await bench.take_over()
    assert recalled is None
    assert [(look.name, look.arguments) for look in bench.journal.looks] == [
        ("ship.list", '{"of":"pumps"}'),
        ("ship.find", '{"name":"p3"}'),
    ]
    assert heir.context.pinned == {PUMP.id, SPARE.id, GOT.id}


@requirement("approval:looked-up-again")
async def test_what_was_looked_at_by_name_alone_has_been_looked_at_and_nothing_else_has() -> None:
    bench = Bench(PUMP, "pump:by-name")
    await bench.ask()
    bench.journal.answer(bench.call.call_id, yes=True)
    heir, _ = await bench.take_over(see_nothing)
    assert heir.machine.phase_of("pump:by-name") is Phase.READING
    assert heir.machine.phase_of(PUMP.id) is Phase.RESOLVING, "it was found once, and is not there any more"
    assert heir.context.ids == frozenset()


@requirement("policy:controlled-asks")
async def test_where_there_is_nobody_to_ask_the_answer_is_why_somebody_would_have_been() -> None:
    bench, nobody = Bench(), NoConsent()
    assert await nobody.recall(bench.call, bench.safety, look=see_nothing) is None
    refusal = await nobody.seek(bench.request(), look=see_nothing)
    assert isinstance(refusal, Refusal)
    assert (refusal.code, refusal.reason) == (DECISION.code, DECISION.reason)
    assert refusal.details["rule"] == "level:controlled"


SCRIPT = NamedContent(path="/opt/fix.sh", asking={"command": "sha256sum -- /opt/fix.sh"})
SEALED = NamedContent(path="/opt/sealed.sh", asking=None)


def printing(text: str, *, error: str | None = None) -> Look:
    async def look(call: ToolCall) -> ToolResult | None:
        assert call.is_own
        return ToolResult(content=text, error=error)

    return look


def printing_digest(digit: str) -> Look:
    return printing(f"{digit * 64}  /opt/fix.sh\n")


@requirement("approval:files", "approval:shows-all")
async def test_what_is_in_a_file_is_asked_of_the_same_tool_and_shown() -> None:
    bench = Bench()
    answer = await bench.consent.seek(bench.request(contents=NamedContents(files=(SCRIPT,))), look=printing_digest("a"))
    assert isinstance(answer, Waiting)
    assert [(look.name, look.arguments) for look in bench.journal.looks] == [
        ("ship.set", '{"command":"sha256sum -- /opt/fix.sh"}')
    ]
    assert bench.journal.requested[0].request["files"] == [{"path": "/opt/fix.sh", "sha256": "a" * 64}]


@requirement("approval:files", "approval:whole-call")
@pytest.mark.parametrize(("digit", "code"), [("a", None), ("b", "APPROVAL_STALE")])
async def test_a_yes_is_good_only_for_the_file_as_it_was(digit: str, code: str | None) -> None:
    bench = Bench()
    request = bench.request(contents=NamedContents(files=(SCRIPT,)))
    await bench.consent.seek(request, look=printing_digest("a"))
    bench.journal.answer(bench.call.call_id, yes=True)
    answer = await bench.consent.seek(request, look=printing_digest(digit))
    assert code_of(answer) == code
    if isinstance(answer, Refusal):
        assert answer.details["changed"] == ["files"]


@requirement("approval:files")
async def test_a_question_that_waits_and_a_no_are_known_without_a_look() -> None:
    bench = Bench()
    request = bench.request(contents=NamedContents(files=(SCRIPT,)))
    await bench.consent.seek(request, look=printing_digest("a"))
    assert isinstance(await bench.consent.seek(request, look=printing_digest("a")), Waiting)
    bench.journal.answer(bench.call.call_id, yes=False)
    assert code_of(await bench.consent.seek(request, look=printing_digest("a"))) == "APPROVAL_DENIED"
    assert len(bench.journal.looks) == 1


@requirement("approval:files")
@pytest.mark.parametrize(
    "look",
    [
        see_nothing,
        printing("sha256sum: /opt/fix.sh: No such file or directory"),
        printing(f"{'a' * 64}  /opt/fix.sh", error="EXECUTION_FAILED"),
        printing(f"{'a' * 64}  /opt/fix.sh\n{'b' * 64}  /opt/fix.sh"),
        printing("a" * 65),
    ],
)
async def test_nobody_is_asked_about_a_file_that_nobody_can_read(look: Look) -> None:
    bench = Bench()
    answer = await bench.consent.seek(bench.request(contents=NamedContents(files=(SCRIPT,))), look=look)
    assert isinstance(answer, Refusal)
    assert (answer.code, answer.details["files"]) == ("NOT_APPROVABLE", ["/opt/fix.sh"])
    assert bench.journal.requested == []


@requirement("approval:files")
@pytest.mark.parametrize(
    ("contents", "named", "told"),
    [
        (NamedContents(files=(SEALED,)), ["/opt/sealed.sh"], "the content of /opt/sealed.sh"),
        (NamedContents(unclear="`which`"), [], "does: `which`"),
        (NamedContents(files=(SCRIPT,) * 9), ["/opt/fix.sh"] * 9, "does: it names more than 8 files"),
    ],
)
async def test_nobody_is_asked_where_it_cannot_be_told_what_would_be_run(
    contents: NamedContents, named: list[str], told: str
) -> None:
    bench = Bench()
    answer = await bench.consent.seek(bench.request(contents=contents), look=printing_digest("a"))
    assert isinstance(answer, Refusal)
    assert (answer.code, answer.details["files"]) == ("NOT_APPROVABLE", named)
    assert told in answer.reason
    assert (bench.journal.looks, bench.journal.requested) == ([], [])


@requirement("approval:files")
async def test_as_many_files_as_a_person_compares_may_be_named() -> None:
    bench = Bench()
    contents = NamedContents(files=(SCRIPT,) * 8)
    assert isinstance(await bench.consent.seek(bench.request(contents=contents), look=printing_digest("a")), Waiting)
