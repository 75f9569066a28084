"""The resolved context: what was found, what was meant, and how both are forgotten."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midwatch.domain.tools import ToolKind
from midwatch.safety.context import Ambiguous, ResolvedContext
from midwatch.safety.resources import Parts, Resource, as_part, build_id, find_flaw, fold_name, split_id
from tests.fakes.stepped_clock import SteppedClock
from tests.safety.requirements import requirement

HOMEPAGE = Resource(kind="lxc", host="delly", uid="141", name="homepage-docker", aliases=("homepage",))
DELLY = Resource(kind="node", uid="delly", name="delly.lan")
MINUTE = 60.0


def holding(*resources: Resource, clock: SteppedClock | None = None, most: int = 500) -> ResolvedContext:
    context = ResolvedContext(clock=clock or SteppedClock(), most=most)
    context.add(resources)
    return context


def guest(number: int) -> Resource:
    return Resource(kind="vm", host="minipc", uid=str(number))


@requirement("context:one-id")
def test_ids_are_kind_host_and_uid_or_kind_and_uid() -> None:
    assert HOMEPAGE.id == "lxc:delly:141"
    assert DELLY.id == "node:delly"
    assert split_id("lxc:delly:141") == Parts("lxc", "delly", "141")
    assert split_id("node:delly") == Parts("node", None, "delly")


@requirement("context:one-id")
@pytest.mark.parametrize("text", ["delly", "", ":x", "a:", "a::b", "a:b:", ":b:c", "a:b:c:d"])
def test_what_is_no_id_is_not_read_as_one(text: str) -> None:
    assert split_id(text) is None


@requirement("context:one-id")
@given(st.text(min_size=1), st.none() | st.text(min_size=1), st.text(min_size=1))
def test_an_id_comes_apart_into_what_it_was_made_of(kind: str, host: str | None, uid: str) -> None:
    assert split_id(build_id(kind, uid, host=host)) == Parts(kind, host, uid)


@requirement("target:no-holes")
@pytest.mark.parametrize(
    ("part", "flaw"),
    [
        ("", "is empty"),
        ("x" * 257, "is longer than 256 characters"),
        (" a", "has blanks at its ends, or characters that cannot be seen"),
        ("a\nb", "has blanks at its ends, or characters that cannot be seen"),
        ("a\u202eb", "has blanks at its ends, or characters that cannot be seen"),
        ("a\u00a0b", "has blanks at its ends, or characters that cannot be seen"),
        ("web-*", "has wildcards in it"),
        ("web-?", "has wildcards in it"),
        ("/srv/../etc", "leads upwards with .."),
        ("my web", None),
        ("a..b", None),
        ("x" * 256, None),
    ],
)
def test_texts_that_cannot_name_a_thing_are_known(part: str, flaw: str | None) -> None:
    assert find_flaw(part) == flaw


def test_texts_and_whole_numbers_name_things_and_nothing_else_does() -> None:
    assert [as_part(value) for value in ("a", 141, True, 1.5, None, ["a"])] == ["a", "141", None, None, None, None]


@requirement("context:by-any-name")
@pytest.mark.parametrize(
    "text", ["lxc:delly:141", "141", "homepage-docker", "HomePage", "lxc:homepage", "LXC:Delly:141"]
)
def test_a_resource_is_found_by_id_name_and_alias(text: str) -> None:
    assert holding(HOMEPAGE, DELLY).find(text) == HOMEPAGE


@requirement("context:by-any-name")
def test_an_alias_that_looks_like_an_id_is_an_alias() -> None:
    web = Resource(kind="container", uid="c0ffee", aliases=("shop:web",))
    assert holding(web).find("shop:web") == web


@requirement("context:by-any-name")
@pytest.mark.parametrize("text", ["delly", "DELLY.lan", "node:delly", "node:delly.lan"])
def test_a_host_is_found_with_and_without_its_domain(text: str) -> None:
    assert holding(HOMEPAGE, DELLY).find(text) == DELLY


@requirement("context:by-any-name")
def test_only_hosts_have_domains_and_nothing_answers_to_nothing() -> None:
    node = Resource(kind="node", uid="n-1", name="delly.lan")
    context = holding(node, Resource(kind="vm", uid="9", name="web.lan"), Resource(kind="node", uid="n-2"))
    assert context.find("delly") == node
    assert context.find("web") is None
    assert context.find("") is None


@requirement("context:by-any-name")
@pytest.mark.parametrize("text", ["vm:delly:141", "lxc:minipc:141", "nothing", "vm:nothing", "a:b:c:d"])
def test_what_only_resembles_a_resource_is_not_found(text: str) -> None:
    assert holding(HOMEPAGE, DELLY).find(text) is None


@requirement("context:by-any-name")
def test_what_was_found_without_a_kind_answers_to_any_kind_but_to_no_host() -> None:
    context = holding(Resource(kind="resource", uid="web-1"))
    assert context.find("host:web-1") == Resource(kind="resource", uid="web-1")
    assert context.find("pod:shop:web-1") is None


@requirement("context:ambiguous-refused")
def test_a_name_that_fits_two_things_is_refused_with_both() -> None:
    other = Resource(kind="lxc", host="minipc", uid="141", name="homepage-docker")
    context = holding(HOMEPAGE, other)
    assert context.find("homepage-docker") == Ambiguous(candidates=(HOMEPAGE, other))
    assert context.find("lxc:minipc:141") == other
    refusal = context.refuse_unresolved("homepage-docker", kind=ToolKind.WRITE, action="restart")
    assert refusal is not None
    assert refusal.code == "AMBIGUOUS_TARGET"
    assert refusal.details["candidates"] == ["lxc:delly:141", "lxc:minipc:141"]
    assert refusal.details["auto_recoverable"] is True


@requirement("context:ambiguous-refused")
def test_not_all_of_very_many_candidates_are_told() -> None:
    context = holding(*(Resource(kind="pod", host=f"n{number}", uid="web") for number in range(50)))
    refusal = context.refuse_unresolved("web", kind=ToolKind.WRITE, action="restart")
    assert refusal is not None
    assert len(refusal.details["candidates"]) == 10
    assert "50 things" in refusal.reason


@requirement("context:names-kept-apart")
def test_losing_one_of_two_namesakes_leaves_the_other_its_name() -> None:
    clock = SteppedClock()
    context = holding(HOMEPAGE, clock=clock)
    clock.step(30 * MINUTE)
    other = Resource(kind="lxc", host="minipc", uid="141", name="homepage-docker")
    context.add([other])
    clock.step(15 * MINUTE)
    assert context.find("homepage-docker") == other
    assert context.find("141") == other
    assert context.find("homepage") is None


@requirement("context:forgets")
def test_what_is_forgotten_leaves_no_names_behind() -> None:
    clock = SteppedClock()
    context = holding(HOMEPAGE, DELLY, clock=clock)
    clock.step(45 * MINUTE)
    assert context.ids == frozenset()
    assert context._by_name == {}  # pyright: ignore[reportPrivateUsage] -- what is left behind shows nowhere else


@requirement("context:names-kept-apart")
def test_a_resource_that_is_renamed_loses_its_old_name() -> None:
    context = holding(HOMEPAGE)
    renamed = Resource(kind="lxc", host="delly", uid="141", name="start-page")
    context.add([renamed])
    assert (context.find("homepage-docker"), context.find("start-page"), len(context)) == (None, renamed, 1)


@requirement("context:forgets")
def test_what_is_looked_up_lives_longer() -> None:
    clock = SteppedClock()
    context = holding(HOMEPAGE, DELLY, clock=clock)
    clock.step(44 * MINUTE)
    assert context.find("homepage") == HOMEPAGE
    clock.step(MINUTE)
    assert context.ids == {HOMEPAGE.id}
    clock.step(43.9 * MINUTE)
    assert context.has(HOMEPAGE.id)
    clock.step(0.2 * MINUTE)
    assert not context.has(HOMEPAGE.id)


@requirement("context:forgets")
def test_of_more_than_the_cache_holds_the_least_recently_used_goes() -> None:
    context = holding(guest(1), guest(2), guest(3), most=3)
    context.find("vm:minipc:1")
    context.add([guest(4)])
    assert context.ids == {guest(1).id, guest(3).id, guest(4).id}
    assert len(holding(*(guest(number) for number in range(600)))) == 500


@requirement("context:forgets")
def test_what_is_got_one_by_one_does_not_fill_the_cache_either() -> None:
    context = ResolvedContext(clock=SteppedClock(), most=3)
    for number in range(5):
        context.mean(guest(number))
    assert (len(context), len(context.meant)) == (3, 5)


@requirement("context:pins")
def test_what_is_pinned_outlives_time_and_number_until_every_reason_is_gone() -> None:
    clock = SteppedClock()
    context = holding(guest(1), clock=clock, most=2)
    context.pin(guest(1).id, why="approval")
    context.pin(guest(1).id, why="unverified")
    context.pin("vm:nowhere:1", why="unverified")
    clock.step(60 * MINUTE)
    context.add([guest(2), guest(3)])
    assert context.ids == {guest(1).id, guest(3).id}
    context.unpin(guest(1).id, why="approval")
    context.unpin("vm:nowhere:1", why="unverified")
    assert context.pinned == {guest(1).id}
    context.add([guest(1)])
    assert context.pinned == {guest(1).id}
    context.unpin(guest(1).id, why="unverified")
    clock.step(60 * MINUTE)
    assert context.ids == frozenset()


@requirement("context:strict")
def test_a_change_needs_a_target_that_was_found() -> None:
    context = holding(HOMEPAGE)
    refusal = context.refuse_unresolved("lxc:delly:999", kind=ToolKind.WRITE, action="restart")
    assert refusal is not None
    assert refusal.code == "STRICT_RESOLUTION"
    assert refusal.details == {
        "resource_id": "lxc:delly:999",
        "action": "restart",
        "recovery_hint": refusal.hint,
        "auto_recoverable": True,
    }
    assert context.refuse_unresolved("homepage", kind=ToolKind.WRITE, action="restart") is None


@requirement("context:strict")
@pytest.mark.parametrize("kind", [ToolKind.READ, ToolKind.RESOLVE, ToolKind.ASK])
def test_looking_and_asking_need_nothing_found(kind: ToolKind) -> None:
    assert ResolvedContext().refuse_unresolved("lxc:delly:999", kind=kind, action="get") is None


@requirement("context:strict")
def test_a_server_that_the_operator_has_named_need_not_be_found() -> None:
    assert ResolvedContext().refuse_unresolved("mcp:k8s", kind=ToolKind.WRITE, action="apply") is None


@requirement("context:reading-commands")
def test_a_reading_command_needs_a_session_that_has_found_anything() -> None:
    context = ResolvedContext()
    refusal = context.refuse_unresolved("node:delly", kind=ToolKind.READ, action="exec", runs_command=True)
    assert refusal is not None
    assert refusal.code == "STRICT_RESOLUTION"
    context.add([HOMEPAGE])
    assert context.refuse_unresolved("node:delly", kind=ToolKind.READ, action="exec", runs_command=True) is None
    assert ResolvedContext().refuse_unresolved("x:y", kind=ToolKind.RESOLVE, action="get", runs_command=True) is None


@requirement("context:stated-actions")
@pytest.mark.parametrize("actions", [frozenset[str](), frozenset({"logs"})])
def test_a_resource_that_says_what_may_be_done_allows_nothing_else(actions: frozenset[str]) -> None:
    context = holding(Resource(kind="vm", uid="9", actions=actions))
    refusal = context.refuse_unresolved("vm:9", kind=ToolKind.WRITE, action="exec")
    assert refusal is not None
    assert refusal.code == "ACTION_NOT_ALLOWED"
    assert refusal.details == {"resource_id": "vm:9", "action": "exec", "allowed_actions": sorted(actions)}


@requirement("context:stated-actions")
def test_a_stated_action_is_allowed() -> None:
    context = holding(Resource(kind="vm", uid="9", actions=frozenset({"restart"})))
    assert context.refuse_unresolved("vm:9", kind=ToolKind.WRITE, action="restart") is None


@requirement("context:stated-actions", "context:by-any-name")
def test_who_finds_a_thing_again_and_says_less_of_it_takes_nothing_back() -> None:
    full = Resource(kind="vm", uid="9", name="web", aliases=("www",), parent="node:delly", actions=frozenset({"logs"}))
    context = holding(full)
    context.mean(Resource(kind="vm", uid="9"))
    assert context.find("www") == full
    assert context.meant["vm:9"].resource == full
    refusal = context.refuse_unresolved("vm:9", kind=ToolKind.WRITE, action="exec")
    assert refusal is not None
    context.add([Resource(kind="vm", uid="9", name="db", actions=frozenset({"exec"}))])
    assert context.refuse_unresolved("db", kind=ToolKind.WRITE, action="exec") is None
    assert context.find("web") is None


@requirement("context:found-is-not-meant")
def test_finding_and_looking_up_means_nothing() -> None:
    context = holding(HOMEPAGE, DELLY)
    context.find("homepage")
    context.has(HOMEPAGE.id)
    context.pin(HOMEPAGE.id, why="approval")
    context.refuse_unresolved("homepage", kind=ToolKind.WRITE, action="restart")
    assert context.meant == {}


@requirement("context:meant-by-person-or-get")
def test_getting_one_thing_finds_and_means_it() -> None:
    context = ResolvedContext()
    context.mean(HOMEPAGE)
    assert context.has(HOMEPAGE.id)
    assert context.meant[HOMEPAGE.id].by_person is None


@requirement("context:meant-by-person-or-get")
def test_a_person_stays_the_one_who_meant_it_when_a_model_gets_it_later() -> None:
    context = ResolvedContext()
    context.select([HOMEPAGE.id])
    context.mean(HOMEPAGE)
    assert (context.meant[HOMEPAGE.id].order, context.meant[HOMEPAGE.id].by_person) == (2, 1)


@requirement("context:meant-by-person-or-get")
def test_finding_again_what_was_named_long_ago_does_not_make_a_persons_last_word_older() -> None:
    context = holding(DELLY)
    context.mention(["delly"])
    context.select([DELLY.id])
    context.add([DELLY])
    assert (context.meant[DELLY.id].order, context.meant[DELLY.id].by_person) == (2, 2)


@requirement("context:selected-exactly")
def test_all_that_is_selected_together_is_meant_at_once_and_nothing_of_it_is_found() -> None:
    context = holding(DELLY)
    context.select([HOMEPAGE.id, DELLY.id])
    assert {resource_id: (meant.order, meant.by_person) for resource_id, meant in context.meant.items()} == {
        HOMEPAGE.id: (1, 1),
        DELLY.id: (1, 1),
    }
    assert context.meant[DELLY.id].resource == DELLY
    assert context.meant[HOMEPAGE.id].resource == Resource(kind="lxc", host="delly", uid="141")
    assert [meant.resource.id for meant in context.awaited] == [HOMEPAGE.id]
    assert (context.ids, context.find(HOMEPAGE.id)) == ({DELLY.id}, None)
    refusal = context.refuse_unresolved(HOMEPAGE.id, kind=ToolKind.WRITE, action="restart")
    assert refusal is not None
    assert refusal.code == "STRICT_RESOLUTION"


@requirement("context:selected-exactly")
def test_a_selection_is_not_enough_for_a_reading_command() -> None:
    context = ResolvedContext()
    context.select([HOMEPAGE.id])
    refusal = context.refuse_unresolved(HOMEPAGE.id, kind=ToolKind.READ, action="exec", runs_command=True)
    assert refusal is not None
    assert refusal.code == "STRICT_RESOLUTION"


@requirement("context:selected-exactly")
@pytest.mark.parametrize("finds", ["a list", "a get"])
def test_what_was_selected_before_it_was_found_waits_for_itself_and_no_other(finds: str) -> None:
    context = ResolvedContext()
    context.select([HOMEPAGE.id])
    context.add(
        [
            Resource(kind="lxc", host="minipc", uid="141", name="homepage-docker"),
            Resource(kind="vm", uid="9", name=HOMEPAGE.id),
            Resource(kind="LXC", host="delly", uid="141"),
        ]
    )
    assert (set(context.meant), len(context.awaited)) == ({HOMEPAGE.id}, 1)
    if finds == "a list":
        context.add([HOMEPAGE])
    else:
        context.mean(HOMEPAGE)
    assert (context.meant[HOMEPAGE.id].resource, context.awaited) == (HOMEPAGE, ())


@requirement("context:selected-exactly")
def test_what_was_selected_is_meant_when_the_cache_has_let_go_of_it() -> None:
    clock = SteppedClock()
    context = holding(HOMEPAGE, clock=clock)
    context.select([HOMEPAGE.id])
    clock.step(600 * MINUTE)
    assert (context.ids, context.meant[HOMEPAGE.id].resource, context.awaited) == (frozenset(), HOMEPAGE, ())
    context.select([HOMEPAGE.id])
    assert [meant.resource for meant in context.awaited] == [HOMEPAGE], "more is known of it than its id says"


@requirement("context:selected-exactly")
def test_what_one_message_names_and_brings_is_meant_at_once() -> None:
    context = holding(DELLY)
    context.select([HOMEPAGE.id])
    context.hear(["delly"], selected=[HOMEPAGE.id])
    assert {meant.by_person for meant in context.meant.values()} == {2}


@requirement("context:meant-by-person-or-get")
def test_what_was_meant_holds_for_the_session_even_when_the_cache_lets_go() -> None:
    clock = SteppedClock()
    context = ResolvedContext(clock=clock)
    context.mean(HOMEPAGE)
    clock.step(600 * MINUTE)
    assert context.ids == frozenset()
    assert set(context.meant) == {HOMEPAGE.id}


@requirement("context:meant-by-person-or-get")
def test_a_mention_means_all_that_answer_to_it_now_or_later() -> None:
    other = Resource(kind="lxc", host="minipc", uid="7", name="homepage-docker")
    third = Resource(kind="lxc", host="tiny", uid="8", name="homepage-docker")
    context = holding(HOMEPAGE, other)
    context.mention(["Homepage-Docker"])
    context.add([third, DELLY])
    assert set(context.meant) == {HOMEPAGE.id, other.id, third.id}
    assert {meant.order for meant in context.meant.values()} == {1}


@requirement("context:meant-by-person-or-get")
def test_a_mention_of_the_unknown_waits_for_it() -> None:
    context = ResolvedContext()
    context.mention(["homepage", "nobody"])
    assert [mention.is_resolved for mention in context.mentions] == [False, False]
    context.add([DELLY])
    assert context.meant == {}
    context.add([HOMEPAGE])
    assert set(context.meant) == {HOMEPAGE.id}
    assert {mention.name: mention.is_resolved for mention in context.mentions} == {"homepage": True, "nobody": False}


@requirement("context:meant-by-person-or-get")
def test_what_is_found_anew_keeps_being_meant_under_its_new_name() -> None:
    context = ResolvedContext()
    context.mean(HOMEPAGE)
    renamed = Resource(kind="lxc", host="delly", uid="141", name="start-page")
    context.add([renamed])
    assert context.meant[HOMEPAGE.id].resource == renamed


@requirement("context:reset-together")
def test_a_reset_forgets_what_was_meant_with_what_was_found() -> None:
    context = holding(HOMEPAGE, DELLY)
    context.mean(HOMEPAGE)
    context.select([DELLY.id, "vm:never:found"])
    context.mention(["nobody"])
    context.reset(keep=[DELLY.id, "vm:never:seen"])
    assert (context.ids, set(context.meant), context.mentions) == ({DELLY.id}, {DELLY.id}, ())
    assert context.awaited == ()
    assert context.find("homepage") is None


def test_names_are_compared_without_case_width_and_blanks() -> None:
    assert fold_name(" ＷＥＢ ") == fold_name("web")


NAMES = st.sampled_from(["web", "db", "cache", "a"])
RESOURCES = st.builds(
    Resource,
    kind=st.sampled_from(["vm", "node"]),
    uid=NAMES,
    host=st.none() | NAMES,
    name=st.just("") | NAMES,
    aliases=st.lists(NAMES, max_size=2).map(tuple),
)


@requirement("context:names-kept-apart", "context:forgets")
@given(st.lists(st.tuples(RESOURCES, st.sampled_from([0.0, 20 * MINUTE])), max_size=20))
def test_whatever_comes_and_goes_every_name_leads_to_all_that_bear_it(history: list[tuple[Resource, float]]) -> None:
    clock = SteppedClock()
    context = ResolvedContext(clock=clock, most=4)
    latest: dict[str, Resource] = {}
    for resource, pause in history:
        known = latest.get(resource.id) if resource.id in context.ids else None
        context.add([resource])
        is_silent = known is not None and not resource.name and not resource.aliases
        latest[resource.id] = known if is_silent and known is not None else resource
        clock.step(pause)
        kept = {resource_id: latest[resource_id] for resource_id in context.ids}
        assert len(kept) <= 4
        for name in ("web", "db", "cache", "a"):
            bearers = {each.id for each in kept.values() if name in set(each.names())}
            match context.find(name):
                case Ambiguous(candidates=candidates):
                    assert {each.id for each in candidates} == bearers
                case Resource(id=found):
                    assert {found} == bearers
                case None:
                    assert bearers == set()


@requirement("context:selected-exactly")
@given(st.lists(RESOURCES, max_size=8), st.lists(RESOURCES.map(lambda each: each.id), max_size=4), st.integers(0, 8))
def test_whatever_is_found_before_and_after_a_selection_means_its_ids_alone(
    found: list[Resource], selected: list[str], before: int
) -> None:
    context = ResolvedContext(clock=SteppedClock())
    context.add(found[:before])
    context.select(selected)
    context.add(found[before:])
    known = {resource.id for resource in found}
    assert context.ids == known
    assert set(context.meant) == set(selected)
    assert {meant.by_person for meant in context.meant.values()} <= {1}
    assert {meant.resource.id for meant in context.awaited} == set(selected) - known
