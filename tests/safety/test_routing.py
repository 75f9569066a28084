"""Routing: what was meant is never acted on through its host."""

import pytest

from midwatch.domain.tools import Refusal, ToolKind
from midwatch.safety.context import ResolvedContext
from midwatch.safety.resources import Resource
from midwatch.safety.routing import refuse_host
from tests.fakes.stepped_clock import SteppedClock
from tests.safety.requirements import requirement

DELLY = Resource(kind="node", uid="delly", name="delly.lan")
HOMEPAGE = Resource(kind="lxc", host="delly", uid="141", name="homepage-docker")
SERVER = Resource(kind="docker_host", uid="server1")
NGINX = Resource(kind="docker_container", host="server1", uid="abc123", name="nginx")
WORKER = Resource(kind="k8s_node", uid="worker-1")
POD = Resource(kind="pod", host="shop", uid="web-7f", parent="k8s_node:worker-1")
INNER = Resource(kind="docker_container", host="homepage-docker", uid="f00", name="homepage")


def meaning(*resources: Resource, clock: SteppedClock | None = None) -> ResolvedContext:
    context = ResolvedContext(clock=clock or SteppedClock())
    for resource in resources:
        context.mean(resource)
    return context


def refuse(target: str, context: ResolvedContext, *, parent: str | None = None) -> Refusal | None:
    refusal = refuse_host(target, context, kind=ToolKind.WRITE, parent=parent)
    assert refusal is None or refusal.code == "ROUTING_MISMATCH"
    return refusal


@requirement("routing:host-refused", "routing:says-where")
def test_the_homepage_is_not_edited_on_the_node_it_runs_on() -> None:
    refusal = refuse("node:delly", meaning(HOMEPAGE))
    assert refusal is not None
    assert refusal.details == {
        "target_host": "delly",
        "target_kind": "node",
        "more_specific_resources": ["homepage-docker"],
        "more_specific_resource_ids": ["lxc:delly:141"],
        "target_resource_id": "lxc:delly:141",
        "recovery_hint": "Make the call on lxc:delly:141 (homepage-docker) instead of delly.",
        "auto_recoverable": True,
    }
    assert refuse("lxc:delly:141", meaning(HOMEPAGE)) is None


@requirement("routing:says-where")
def test_of_several_the_one_that_was_meant_last_is_where_to_go() -> None:
    other = Resource(kind="vm", host="delly", uid="200", name="files")
    refusal = refuse("node:delly", meaning(HOMEPAGE, other))
    assert refusal is not None
    assert refusal.details["more_specific_resource_ids"] == ["vm:delly:200", "lxc:delly:141"]
    assert refusal.details["target_resource_id"] == "vm:delly:200"


@requirement("routing:relations")
@pytest.mark.parametrize(
    ("target", "child"),
    [
        ("node:delly", HOMEPAGE),
        ("node:delly", Resource(kind="vm", host="delly.lan", uid="9")),
        ("docker_host:server1", NGINX),
        ("docker_host:server1", Resource(kind="vm", host="server1", uid="9")),
        ("docker_host:server1", Resource(kind="pod", host="server1", uid="web-7f")),
        ("host:SERVER1.lan", NGINX),
        ("lxc:delly:homepage-docker", INNER),
        ("vm:files", Resource(kind="container", host="files", uid="x")),
        ("k8s_node:worker-1", POD),
        ("server1", NGINX),
        ("delly", HOMEPAGE),
        ("whatever:delly", HOMEPAGE),
    ],
)
def test_every_host_is_closed_while_something_on_it_is_meant(target: str, child: Resource) -> None:
    assert refuse(target, meaning(child)) is not None


@requirement("routing:relations")
@pytest.mark.parametrize(
    ("target", "child"),
    [
        ("node:minipc", HOMEPAGE),
        ("docker_container:server1:abc123", NGINX),
        ("pod:shop:web-7f", POD),
        ("docker_container:server1", NGINX),
        ("node:delly", Resource(kind="storage", host="delly", uid="zfs")),
        ("delly", Resource(kind="storage", host="delly", uid="zfs")),
        ("lxc:delly", Resource(kind="vm", host="delly", uid="9")),
        ("node:delly", Resource(kind="vm", uid="9")),
    ],
)
def test_what_is_no_host_of_it_stays_open(target: str, child: Resource) -> None:
    assert refuse(target, meaning(child)) is None


@requirement("routing:relations")
def test_a_container_in_a_guest_closes_the_node_of_the_guest_as_well() -> None:
    context = meaning(INNER)
    assert refuse("node:delly", context) is None
    context.add([HOMEPAGE])
    refusal = refuse("node:delly", context)
    assert refusal is not None
    assert refusal.details["target_resource_id"] == INNER.id


@requirement("routing:relations")
def test_what_stands_on_something_is_followed_by_parents_where_no_host_is_told() -> None:
    context = meaning(Resource(kind="container", uid="c", parent="vm:files"))
    context.add([Resource(kind="vm", uid="files", parent="node:delly")])
    assert refuse("node:delly", context) is not None


@requirement("routing:relations")
@pytest.mark.parametrize(("between", "is_refused"), [(7, True), (8, False)])
def test_a_host_is_looked_for_through_so_many_others_and_no_more(
    between: int,
    is_refused: bool,  # noqa: FBT001 - a parameter
) -> None:
    hosts = ["node:delly", *(f"vm:{number}" for number in range(between))]
    context = meaning(Resource(kind="container", uid="c", parent=hosts[-1]))
    context.add(Resource(kind="vm", uid=str(number), parent=hosts[number]) for number in range(between))
    assert (refuse("node:delly", context) is not None) is is_refused


@requirement("routing:relations")
def test_hosts_that_stand_on_each_other_do_not_hold_up_anything() -> None:
    one = Resource(kind="vm", uid="one", parent="vm:two")
    two = Resource(kind="vm", uid="two", parent="vm:one")
    context = meaning(Resource(kind="container", uid="c", parent="vm:one"))
    context.add([one, two])
    assert refuse("node:delly", context) is None


@requirement("routing:mention-arms")
def test_a_mention_alone_closes_the_host_once_the_mentioned_is_known() -> None:
    context = ResolvedContext()
    context.add([HOMEPAGE, DELLY])
    assert refuse("node:delly", context) is None
    context.mention(["homepage-docker"])
    assert refuse("node:delly", context) is not None


@requirement("routing:mention-arms")
def test_what_is_mentioned_and_not_found_yet_closes_every_host_to_changes() -> None:
    context = ResolvedContext()
    context.mention(["homepage-docker"])
    refusal = refuse("node:delly", context)
    assert refusal is not None
    assert refusal.details == {
        "target_host": "delly",
        "target_kind": "node",
        "more_specific_resources": ["homepage-docker"],
        "more_specific_resource_ids": [],
        "target_resource_id": None,
        "recovery_hint": refusal.hint,
        "auto_recoverable": True,
    }
    assert refusal.hint.startswith("Find homepage-docker")
    assert refuse("file:/etc/hosts", context) is None
    assert refuse_host("node:delly", context, kind=ToolKind.READ, enters=True) is None
    context.add([HOMEPAGE])
    assert refuse("node:minipc", context) is None
    assert refuse("node:delly", context) is not None


@requirement("routing:selection-arms", "routing:says-where")
@pytest.mark.parametrize("kind", [ToolKind.WRITE, ToolKind.READ])
def test_a_selected_thing_that_nobody_has_found_closes_the_host_in_its_id(kind: ToolKind) -> None:
    context = ResolvedContext()
    context.select(["docker_container:server1:abc123"])
    refusal = refuse_host("docker_host:server1", context, kind=kind, enters=True)
    assert refusal is not None
    assert refusal.details == {
        "target_host": "server1",
        "target_kind": "host",
        "more_specific_resources": ["abc123"],
        "more_specific_resource_ids": ["docker_container:server1:abc123"],
        "target_resource_id": "docker_container:server1:abc123",
        "recovery_hint": "Make the call on docker_container:server1:abc123 (abc123) instead of server1.",
        "auto_recoverable": True,
    }
    assert refuse("docker_container:server1:abc123", context) is None


@requirement("routing:selection-arms")
def test_what_is_selected_and_not_found_yet_closes_every_host_that_can_run_it_to_changes() -> None:
    context = ResolvedContext()
    context.select(["lxc:141"])
    refusal = refuse("node:delly", context)
    assert refusal is not None
    assert refusal.details["more_specific_resources"] == ["lxc:141"]
    assert refusal.details["more_specific_resource_ids"] == []
    assert refusal.details["target_resource_id"] is None
    assert refusal.hint.startswith("Find lxc:141")
    assert refuse_host("node:delly", context, kind=ToolKind.READ, enters=True) is None
    assert refuse("lxc:delly:999", context) is None, "no guest runs in a guest"
    assert refuse("delly", context) is None, "a bare name may be no host at all"
    context.add([Resource(kind="lxc", host="minipc", uid="141")])
    assert refuse("node:delly", context) is not None, "another thing of that name was found"
    context.add([Resource(kind="lxc", uid="141", parent="node:tiny")])
    assert refuse("node:delly", context) is None
    assert refuse("node:tiny", context) is not None


@requirement("routing:selection-arms")
@pytest.mark.parametrize("selected", ["node:delly", "storage:delly:zfs", "resource:delly:web"])
def test_what_can_run_on_no_host_closes_none(selected: str) -> None:
    context = ResolvedContext()
    context.select([selected])
    assert refuse("node:minipc", context) is None
    assert refuse("node:delly", context) is None


@requirement("routing:selection-arms", "context:selected-exactly")
def test_a_selected_thing_is_not_its_namesake_on_another_host() -> None:
    here = Resource(kind="container", host="a", uid="web")
    there = Resource(kind="container", host="b", uid="web")
    context = ResolvedContext()
    context.add([here, there])
    context.select([here.id])
    assert refuse("host:a", context) is not None
    assert refuse("host:b", context) is None


@requirement("routing:selection-arms", "routing:not-disarmed")
def test_neither_finding_the_host_nor_waiting_lifts_a_selection() -> None:
    clock = SteppedClock()
    context = ResolvedContext(clock=clock)
    context.add([DELLY, HOMEPAGE])
    context.select([HOMEPAGE.id])
    context.mean(DELLY)
    clock.step(24 * 3600)
    refusal = refuse("node:delly", context)
    assert refusal is not None
    assert refusal.details["more_specific_resources"] == ["homepage-docker"]


@requirement("routing:not-disarmed")
def test_neither_finding_nor_getting_the_host_opens_it() -> None:
    context = meaning(HOMEPAGE)
    context.add([DELLY, HOMEPAGE])
    assert refuse("delly", context) is not None
    context.mean(DELLY)
    assert refuse("delly.lan", context) is not None
    assert refuse("node:delly", context) is not None


@requirement("routing:not-disarmed")
def test_waiting_does_not_open_it() -> None:
    clock = SteppedClock()
    context = meaning(HOMEPAGE, clock=clock)
    clock.step(24 * 3600)
    assert refuse("node:delly", context) is not None


@requirement("routing:lists-do-not-arm")
def test_listing_all_that_runs_on_a_host_leaves_it_open() -> None:
    context = ResolvedContext()
    context.add([DELLY, HOMEPAGE, *(Resource(kind="vm", host="delly", uid=str(uid)) for uid in range(50))])
    context.find("homepage-docker")
    assert refuse("node:delly", context) is None


@requirement("routing:get-arms")
def test_getting_one_thing_closes_its_host() -> None:
    context = ResolvedContext()
    context.add([DELLY, HOMEPAGE])
    context.mean(HOMEPAGE)
    assert refuse("node:delly", context) is not None


@requirement("routing:person-turns-back")
@pytest.mark.parametrize("is_known", [True, False])
def test_a_person_who_names_the_host_later_may_have_it(is_known: bool) -> None:  # noqa: FBT001 - a parameter
    context = meaning(HOMEPAGE)
    if is_known:
        context.add([DELLY])
    context.mention(["homepage-docker"])
    context.mention(["delly"])
    assert refuse("node:delly", context) is None
    context.mean(HOMEPAGE)
    assert refuse("node:delly", context) is not None


@requirement("routing:person-turns-back")
def test_a_person_who_names_the_host_later_need_not_have_found_what_was_named_before() -> None:
    context = ResolvedContext()
    context.mention(["homepage-docker"])
    context.mention(["delly"])
    assert refuse("node:delly", context) is None
    assert refuse("node:minipc", context) is not None


@requirement("routing:person-turns-back")
def test_of_all_the_names_of_a_host_the_one_that_was_written_last_counts() -> None:
    context = ResolvedContext()
    context.add([DELLY, HOMEPAGE])
    for name in ("delly", "homepage-docker", "delly.lan"):
        context.mention([name])
    assert refuse("node:delly", context) is None


@requirement("routing:person-turns-back")
def test_a_person_who_selects_the_host_later_may_have_it() -> None:
    context = meaning(HOMEPAGE)
    context.select([DELLY.id])
    assert refuse("node:delly", context) is None
    context.add([DELLY])
    assert refuse("delly", context) is None
    context.select([HOMEPAGE.id])
    assert refuse("node:delly", context) is not None


@requirement("routing:person-turns-back")
def test_a_later_message_about_something_else_opens_nothing() -> None:
    context = ResolvedContext()
    context.add([DELLY, HOMEPAGE, SERVER])
    context.mention(["homepage-docker"])
    context.mention(["server1"])
    assert refuse("node:delly", context) is not None
    assert refuse_host("node:delly", context, kind=ToolKind.READ) is None


@requirement("routing:person-turns-back")
def test_both_in_one_message_means_what_runs_on_the_host() -> None:
    context = ResolvedContext()
    context.add([DELLY, HOMEPAGE])
    context.mention(["homepage-docker", "delly"])
    assert refuse("node:delly", context) is not None
    unfound = ResolvedContext()
    unfound.mention(["delly", "homepage-docker"])
    assert refuse("node:delly", unfound) is not None


@requirement("routing:person-turns-back", "routing:selection-arms")
@pytest.mark.parametrize(
    ("names", "selected"),
    [(["delly"], [HOMEPAGE.id]), (["homepage-docker"], [DELLY.id]), ([], [DELLY.id, HOMEPAGE.id])],
)
def test_both_named_and_selected_in_one_message_means_what_runs_on_the_host(
    names: list[str], selected: list[str]
) -> None:
    context = ResolvedContext()
    context.add([DELLY, HOMEPAGE])
    context.hear(names, selected=selected)
    assert refuse("node:delly", context) is not None


@requirement("routing:person-turns-back", "routing:selection-arms")
def test_both_selected_at_once_means_what_is_still_to_be_found() -> None:
    context = ResolvedContext()
    context.add([DELLY])
    context.select([DELLY.id, "lxc:141"])
    assert refuse("node:delly", context) is not None


@requirement("routing:person-turns-back")
def test_a_person_who_later_selects_the_host_of_something_unfound_may_have_it() -> None:
    context = ResolvedContext()
    context.add([DELLY])
    context.select(["lxc:141"])
    context.select([DELLY.id])
    assert refuse("node:delly", context) is None
    assert refuse("node:minipc", context) is not None


@requirement("routing:things-on-hosts")
@pytest.mark.parametrize(
    ("target", "parent"),
    [
        ("file:delly:/opt/homepage/services.yaml", None),
        ("file:/opt/homepage/services.yaml", "node:delly"),
        ("/opt/homepage/services.yaml", "delly"),
    ],
)
def test_a_file_is_where_its_host_is(target: str, parent: str | None) -> None:
    assert refuse(target, meaning(HOMEPAGE), parent=parent) is not None
    assert refuse(target, ResolvedContext(), parent=parent) is None


@requirement("routing:things-on-hosts")
def test_what_was_meant_is_not_taken_for_its_own_host() -> None:
    assert refuse("lxc:delly:141", meaning(HOMEPAGE), parent="node:delly") is None


@requirement("routing:host-refused")
@pytest.mark.parametrize(
    ("kind", "enters", "is_refused"),
    [
        (ToolKind.WRITE, False, True),
        (ToolKind.WRITE, True, True),
        (ToolKind.READ, True, True),
        (ToolKind.READ, False, False),
        (ToolKind.RESOLVE, True, False),
        (ToolKind.ASK, True, False),
    ],
)
def test_changes_and_what_enters_the_host_are_refused_and_other_looks_are_not(
    kind: ToolKind,
    enters: bool,  # noqa: FBT001 - a parameter
    is_refused: bool,  # noqa: FBT001 - a parameter
) -> None:
    assert (refuse_host("node:delly", meaning(HOMEPAGE), kind=kind, enters=enters) is not None) is is_refused
