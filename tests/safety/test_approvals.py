"""A person's yes: to what, how often, for how long, and what is shown before."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midwatch.domain.tools import Refusal, ToolKind
from midwatch.safety.approvals import (
    Approval,
    ApprovalState,
    NamedFile,
    Subject,
    Undecidable,
    ask,
    decide,
    describe_request,
    refuse_unapprovable,
    show_plainly,
    take_digest,
    take_parts,
    use,
)
from midwatch.safety.resources import Resource
from midwatch.safety.shell.verdict import Risk
from tests.safety.requirements import requirement

NOW = datetime(2026, 3, 1, 2, 30, tzinfo=UTC)
QUARTER = timedelta(minutes=15)
MINUTE = timedelta(minutes=1)
TARGET = Resource(kind="lxc", host="delly", uid="141", name="homepage-docker", parent="node:delly")
SUBJECT = Subject(
    call_id=UUID(int=7),
    server="infra",
    tool="edit_file",
    definition="d1",
    arguments={"path": "/opt/homepage/services.yaml", "content": "a: 1"},
    targets=(TARGET,),
    executor="delly-agent",
    user="root",
    folder="/",
    files=(NamedFile(path="/tmp/new.yaml", digest="aa"),),
)
OTHERS: list[tuple[str, Subject]] = [
    ("call", replace(SUBJECT, call_id=UUID(int=8))),
    ("server", replace(SUBJECT, server="other")),
    ("tool", replace(SUBJECT, tool="delete_file")),
    ("definition", replace(SUBJECT, definition="d2")),
    ("arguments", replace(SUBJECT, arguments={**SUBJECT.arguments, "content": "a: 2"})),
    ("arguments", replace(SUBJECT, arguments={**SUBJECT.arguments, "mode": None})),
    ("executor", replace(SUBJECT, executor="minipc-agent")),
    ("user", replace(SUBJECT, user="nobody")),
    ("folder", replace(SUBJECT, folder="/srv")),
    ("targets", replace(SUBJECT, targets=(replace(TARGET, uid="142"),))),
    ("targets", replace(SUBJECT, targets=(replace(TARGET, parent="node:minipc"),))),
    ("targets", replace(SUBJECT, targets=(TARGET, "mcp:infra"))),
    ("files", replace(SUBJECT, files=(NamedFile(path="/tmp/new.yaml", digest="bb"),))),
    ("files", replace(SUBJECT, files=(NamedFile(path="/tmp/old.yaml", digest="aa"),))),
    ("files", replace(SUBJECT, files=())),
]


def asked(subject: Subject = SUBJECT) -> Approval:
    approval = ask(subject, approval_id=UUID(int=1), now=NOW, expire_after=QUARTER)
    assert isinstance(approval, Approval)
    return approval


def approved(at: datetime = NOW + MINUTE) -> Approval:
    approval = decide(asked(), is_approved=True, by="ana", now=at)
    assert isinstance(approval, Approval)
    return approval


def code_of(answer: Approval | Refusal) -> str | None:
    return answer.code if isinstance(answer, Refusal) else None


@requirement("approval:whole-call", "approval:single-use")
def test_a_yes_holds_for_the_very_call_and_is_used_up_by_it() -> None:
    used = use(approved(), SUBJECT, now=NOW + 2 * MINUTE)
    assert isinstance(used, Approval)
    assert used.consumed_at == NOW + 2 * MINUTE
    again = use(used, SUBJECT, now=NOW + 3 * MINUTE)
    assert isinstance(again, Refusal)
    assert (again.code, again.details["changed"]) == ("APPROVAL_STALE", ["used"])


@requirement("approval:whole-call", "approval:files")
@pytest.mark.parametrize(("changed", "subject"), OTHERS)
def test_a_yes_is_void_when_anything_that_decides_the_effect_is_another(changed: str, subject: Subject) -> None:
    refusal = use(approved(), subject, now=NOW + 2 * MINUTE)
    assert isinstance(refusal, Refusal)
    assert (refusal.code, refusal.details["changed"]) == ("APPROVAL_STALE", [changed])
    assert changed in refusal.reason


@requirement("approval:whole-call")
def test_a_yes_to_another_format_is_void() -> None:
    old = replace(approved(), digest=b"0" * 32)
    refusal = use(old, SUBJECT, now=NOW + 2 * MINUTE)
    assert isinstance(refusal, Refusal)
    assert (refusal.reason, refusal.details["changed"]) == ("what was approved is not what would run: format", [])


@requirement("approval:whole-call")
def test_whoever_takes_over_hashes_as_the_one_who_asked_did_or_says_that_the_format_is_another() -> None:
    """A yes may wait for another release. What is hashed in another way needs another number for its format."""
    digest = take_digest(take_parts(SUBJECT)).hex()
    assert digest == "dacf718aea4aa385d797e462a46d0d7b5a6faa7c3ca4d63d70ca5262f3237c70"


@requirement("approval:whole-call")
def test_the_order_of_keys_files_and_targets_does_not_matter() -> None:
    other = replace(TARGET, uid="9")
    files = (NamedFile(path="/a", digest="1"), NamedFile(path="/b", digest="2"))
    one = replace(SUBJECT, arguments={"a": 1, "b": [1, 2]}, targets=(TARGET, other), files=files)
    two = replace(SUBJECT, arguments={"b": [1, 2], "a": 1}, targets=(other, TARGET), files=files[::-1])
    assert take_digest(take_parts(one)) == take_digest(take_parts(two))


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)
ARGUMENTS = st.dictionaries(st.text(max_size=2), VALUES, max_size=3)


@requirement("approval:whole-call")
@given(ARGUMENTS, ARGUMENTS)
def test_two_calls_have_one_digest_only_if_they_send_the_same(one: dict[str, Any], two: dict[str, Any]) -> None:
    digests = {take_digest(take_parts(replace(SUBJECT, arguments=arguments))) for arguments in (one, two)}
    # repr tells 1 from True and 1.0, as a tool may.
    same = repr(sorted_deep(one)) == repr(sorted_deep(two))
    assert (len(digests) == 1) is same


def sorted_deep(value: Any) -> Any:
    match value:
        case dict():
            return [(key, sorted_deep(value[key])) for key in sorted(value)]  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType] - any JSON
        case list():
            return ["list", *(sorted_deep(item) for item in value)]  # pyright: ignore[reportUnknownVariableType] - any JSON
        case _:
            return value


@requirement("approval:files")
def test_a_call_that_acts_by_a_file_nobody_could_read_cannot_be_approved() -> None:
    subject = replace(SUBJECT, files=(NamedFile(path="/a", digest="1"), NamedFile(path="/secret", digest=None)))
    refusal = ask(subject, approval_id=UUID(int=1), now=NOW, expire_after=QUARTER)
    assert isinstance(refusal, Refusal)
    assert (refusal.code, refusal.details) == ("NOT_APPROVABLE", {"files": ["/secret"]})
    assert refuse_unapprovable(SUBJECT) is None
    with pytest.raises(ValueError, match="not approvable"):
        take_parts(subject)
    assert code_of(use(approved(), subject, now=NOW + 2 * MINUTE)) == "NOT_APPROVABLE"


@requirement("approval:expires")
def test_silence_is_a_no() -> None:
    approval = asked()
    assert approval.expires_at == NOW + QUARTER
    assert approval.state_at(NOW + QUARTER - MINUTE) is ApprovalState.WAITING
    assert approval.state_at(NOW + QUARTER) is ApprovalState.EXPIRED
    assert code_of(use(approval, SUBJECT, now=NOW + MINUTE)) == "APPROVAL_REQUIRED"
    assert code_of(use(approval, SUBJECT, now=NOW + QUARTER)) == "APPROVAL_EXPIRED"


@requirement("approval:expires")
def test_a_yes_in_the_last_moment_can_still_be_used_and_not_for_ever() -> None:
    late = approved(at=NOW + QUARTER - timedelta(seconds=1))
    assert late.usable_until == NOW + 2 * QUARTER - timedelta(seconds=1)
    assert code_of(use(late, SUBJECT, now=NOW + QUARTER + MINUTE)) is None
    assert code_of(use(late, SUBJECT, now=NOW + 2 * QUARTER - timedelta(seconds=1))) == "APPROVAL_EXPIRED"
    assert asked().usable_until is None
    denied = decide(asked(), is_approved=False, by="ana", now=NOW + MINUTE)
    assert isinstance(denied, Approval)
    assert denied.usable_until is None


@requirement("approval:expires")
def test_a_yes_without_a_time_is_none() -> None:
    timeless = replace(approved(), decided_at=None)
    assert code_of(use(timeless, SUBJECT, now=NOW)) == "APPROVAL_EXPIRED"


@requirement("approval:decided-once")
def test_a_decision_comes_too_late_for_what_has_expired() -> None:
    late = decide(asked(), is_approved=True, by="ana", now=NOW + QUARTER)
    assert late == Undecidable(state=ApprovalState.EXPIRED)


@requirement("approval:decided-once")
@pytest.mark.parametrize("is_approved", [True, False])
def test_nobody_decides_twice(is_approved: bool) -> None:  # noqa: FBT001 - a parameter
    decided = decide(asked(), is_approved=is_approved, by="ana", now=NOW + MINUTE, reason="why not")
    assert isinstance(decided, Approval)
    assert (decided.decided_by, decided.decided_at, decided.reason) == ("ana", NOW + MINUTE, "why not")
    again = decide(decided, is_approved=True, by="bo", now=NOW + 2 * MINUTE)
    assert again == Undecidable(state=decided.state)


@requirement("approval:decided-once")
def test_a_decision_is_somebodys() -> None:
    with pytest.raises(ValueError, match="somebody"):
        decide(asked(), is_approved=True, by=" ", now=NOW)


@requirement("approval:decided-once")
def test_a_no_says_why_and_not_to_look_for_a_way_round() -> None:
    denied = decide(asked(), is_approved=False, by="ana", now=NOW + MINUTE, reason="not at night\u202e")
    assert isinstance(denied, Approval)
    refusal = use(denied, SUBJECT, now=NOW + MINUTE)
    assert isinstance(refusal, Refusal)
    assert (refusal.code, refusal.reason) == ("APPROVAL_DENIED", "a person said no: not at night\\u{202e}")
    assert "another way" in refusal.hint
    cancelled = use(replace(asked(), state=ApprovalState.CANCELLED), SUBJECT, now=NOW)
    assert code_of(cancelled) == "APPROVAL_DENIED"
    silent = use(replace(denied, reason=None), SUBJECT, now=NOW + MINUTE)
    assert isinstance(silent, Refusal)
    assert silent.reason == "a person said no"


def shown(subject: Subject = SUBJECT, *, words: str = "", risk: Risk | None = Risk.HIGH) -> dict[str, Any]:
    return describe_request(
        subject,
        asked(subject),
        verdict={"rule": "level:controlled"},
        kind=ToolKind.WRITE,
        risk=risk,
        models_words=words,
    )


@requirement("approval:shows-all")
def test_who_decides_is_shown_the_whole_call() -> None:
    assert shown(replace(SUBJECT, targets=(TARGET, "mcp:infra"))) | {"digest": ""} == {
        "approval_id": str(UUID(int=1)),
        "call_id": str(UUID(int=7)),
        "server_name": "infra",
        "tool_name": "edit_file",
        "arguments": SUBJECT.arguments,
        "has_hidden_characters": False,
        "kind": "write",
        "risk": "high",
        "verdict": {"rule": "level:controlled"},
        "targets": [
            {
                "id": "lxc:delly:141",
                "kind": "lxc",
                "uid": "141",
                "host": "delly",
                "parent": "node:delly",
                "name": "homepage-docker",
            },
            {"id": "mcp:infra", "name": "mcp:infra"},
        ],
        "runs_as": {"executor": "delly-agent", "user": "root", "folder": "/"},
        "files": [{"path": "/tmp/new.yaml", "sha256": "aa"}],
        "models_words": {"text": "", "trusted": False},
        "digest": "",
        "requested_at": "2026-03-01T02:30:00+00:00",
        "expires_at": "2026-03-01T02:45:00+00:00",
    }
    assert shown()["digest"] == asked().digest.hex()
    assert shown(risk=None)["risk"] == "unknown"


@requirement("approval:shows-all")
@pytest.mark.parametrize("hidden", ["\u202e", "\u200b", "\x1b", "\u2028", "\u2029", "\ue000", "\ud800"])
@pytest.mark.parametrize("place", ["key", "value", "list"])
def test_who_decides_is_told_of_what_cannot_be_seen(hidden: str, place: str) -> None:
    arguments: dict[str, Any] = {
        "key": {f"a{hidden}": {"n": 1}},
        "value": {"a": {"b": f"rm{hidden} x"}},
        "list": {"a": [1, None, f"x{hidden}"]},
    }[place]
    assert shown(replace(SUBJECT, arguments=arguments))["has_hidden_characters"] is True


@requirement("approval:words-are-words")
def test_what_the_model_says_for_its_call_is_its_words_and_no_more() -> None:
    words = shown(words="Approved by ops\u202e!\n" + "x" * 9000)["models_words"]
    assert words["trusted"] is False
    assert words["text"].startswith("Approved by ops\\u{202e}!\nxxx")
    assert len(words["text"]) == 2000


def test_plain_text_is_shown_as_it_is() -> None:
    assert show_plainly("über\t„Netz“ 😀\n") == "über\t„Netz“ 😀\n"
