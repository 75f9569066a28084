"""What a call is taken for, before anybody is asked: its kind, its targets, and whether it goes inside of something."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NoReturn

import pytest

from midwatch.domain.safety import ControlLevel, SafetyMode
from midwatch.domain.tools import ToolDefinition, ToolKind
from midwatch.safety.kinds import UNKNOWN, KindVerdict
from midwatch.safety.policy import Stance
from midwatch.safety.targets import Target, TargetTemplate
from midwatch.tools.appraisal import Appraisal, ServerRules, appraise, judge_kind
from midwatch.tools.arguments import Arguments
from tests.fakes.toolset import define_tool
from tests.safety.requirements import requirement
from tests.safety.test_policy import code_of

READS = KindVerdict(kind=ToolKind.READ, proven=True, rule="operator:read:*")
CHANGES = KindVerdict(kind=ToolKind.WRITE, proven=True, rule="operator:write:*")
RULES = ServerRules(templates={"*": TargetTemplate(target="{at}")})
FREE = replace(RULES, level=ControlLevel.AUTONOMOUS)
TEXT = {"type": "string"}


def define(*properties: str) -> ToolDefinition:
    schema = {"type": "object", "properties": dict.fromkeys(properties, TEXT)}
    return replace(define_tool("ship.run"), schema=schema)


def judge(
    values: Mapping[str, Any], *properties: str, declared: KindVerdict = READS, rules: ServerRules = RULES
) -> Appraisal:
    """Of a tool that takes the id of its target in `at`, in a session that knows nothing yet."""
    appraisal = appraise(
        define(*properties),
        Arguments(values=values),
        declared=declared,
        rules=rules,
        stance=Stance(mode=SafetyMode.ENFORCE),
        identify=lambda target: target,
        knows=lambda _: False,
    )
    assert isinstance(appraisal, Appraisal)
    return appraisal


@requirement("gate:entered-targets")
@pytest.mark.parametrize(
    ("at", "command", "entered"),
    [
        ("node:pve1", "pct exec 141 -- ls", Target(id="guest:pve1:141", parent="node:pve1")),
        ("node:n1", "kubectl exec web -- ls", Target(id="pod:n1:web", parent="node:n1")),
        ("host:aft", "docker exec web ls", Target(id="container:aft:web", parent="host:aft")),
        ("guest:pve1:141", "docker exec web ls", Target(id="container:141:web", parent="guest:pve1:141")),
        ("container:aft:db", "docker exec web ls", Target(id="container:aft:web", parent="container:aft:db")),
        ("deployment:web", "docker exec web ls", Target(id="container:web")),
        ("node:pve1", "ssh aft uptime", Target(id="host:aft")),
    ],
)
def test_what_a_command_enters_is_where_the_command_runs(at: str, command: str, entered: Target) -> None:
    assert judge({"at": at, "command": command}).targets == (Target(id=at), entered)


@requirement("routing:things-on-hosts")
@pytest.mark.parametrize(
    ("properties", "values", "enters"),
    [
        (("at", "path"), {"at": "host:aft", "path": "/etc/hosts"}, True),
        (("at", "filePath"), {"at": "host:aft"}, True),
        (("at",), {"at": "host:aft", "log_file": "/var/log/web"}, True),
        (("at",), {"at": "host:aft", "of": {"paths": ["/var/log/web"]}}, True),
        (("at", "profile"), {"at": "host:aft", "profile": "web"}, False),
        (("at", "command"), {"at": "host:aft", "command": "ls"}, True),
        (("at", "name"), {"at": "host:aft", "name": "web"}, False),
    ],
)
def test_what_runs_commands_or_takes_paths_goes_inside(
    properties: tuple[str, ...],
    values: dict[str, Any],
    enters: bool,  # noqa: FBT001 - a parameter
) -> None:
    assert judge(values, *properties).enters is enters


def told(appraisal: Appraisal) -> str | None:
    return code_of(appraisal.decision)


@requirement("rules:secrets", "rules:egress")
@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"path": "/etc/shadow"}, "SENSITIVE_COMMAND"),
        ({"url": "https://example.com/?stolen=1"}, "EGRESS_BLOCKED"),
        ({"path": "/var/log/syslog"}, None),
        ({"url": "https://wiki.ship/page"}, None),
    ],
)
@pytest.mark.parametrize("level", ControlLevel)
def test_a_look_is_judged_by_the_files_and_addresses_it_is_given(
    more: dict[str, str], code: str | None, level: ControlLevel
) -> None:
    rules = replace(RULES, level=level, egress_allow=("wiki.ship",))
    assert told(judge({"at": "host:aft", **more}, rules=rules)) == code


@requirement("rules:secrets", "rules:egress")
@pytest.mark.parametrize(
    ("declared", "code"),
    [(UNKNOWN, "SENSITIVE_COMMAND"), (replace(READS, proven=False), "SENSITIVE_COMMAND"), (CHANGES, None)],
)
def test_what_may_be_a_look_is_judged_like_one(declared: KindVerdict, code: str | None) -> None:
    assert told(judge({"at": "host:aft", "path": "/app/.env"}, declared=declared, rules=FREE)) == code


@requirement("rules:secrets", "rules:egress")
def test_a_command_says_itself_what_it_shows_and_reaches() -> None:
    looked_for = {"at": "host:aft", "command": "grep", "args": ["-c", "https://example.com/", "/var/log/web"]}
    assert told(judge(looked_for)) is None
    assert told(judge({"at": "host:aft", "command": "stat", "args": ["/etc/shadow"]})) is None
    assert told(judge({"at": "host:aft", "command": "cat", "args": ["/etc/shadow"]})) == "SENSITIVE_COMMAND"
    assert told(judge({"at": "host:aft", "command": "ls", "path": "/etc/shadow"})) == "SENSITIVE_COMMAND"
    assert (
        told(judge({"at": "host:aft", "command": "curl -s http://a.test", "url": "http://b.test"})) == "EGRESS_BLOCKED"
    )


@requirement("rules:secrets")
def test_what_reaches_nothing_outside_shows_no_files() -> None:
    assert told(judge({"path": "secrets"}, rules=replace(RULES, acts_on_server=False))) is None


@requirement("gate:queries-judged")
def test_a_query_that_says_it_changes_something_is_proof_and_makes_no_change_of_what_is_one() -> None:
    change = {"at": "database:crew", "query": "delete from crew"}
    assert judge(change).kind == KindVerdict(kind=ToolKind.WRITE, proven=True, rule="query:delete")
    assert judge(change, declared=UNKNOWN).kind == UNKNOWN


def refuse_to_read() -> NoReturn:
    raise AssertionError("the arguments were read")


@requirement("gate:commands-judged", "order:writes-alone")
@pytest.mark.parametrize(
    ("declared", "properties"), [(READS, ("name",)), (UNKNOWN, ("name",)), (UNKNOWN, ("command",)), (UNKNOWN, ())]
)
def test_arguments_are_read_for_the_order_only_where_something_hangs_on_them(
    declared: KindVerdict, properties: tuple[str, ...]
) -> None:
    assert judge_kind(define(*properties), declared, refuse_to_read) is declared.kind
