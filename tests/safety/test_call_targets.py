"""What a call acts on, and what its result has found."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midwatch.domain.tools import Refusal, ToolKind
from midwatch.kit.json import encode_text
from midwatch.safety.approvals import describe_origin
from midwatch.safety.discoveries import Findings, check_path, find_resources
from midwatch.safety.resources import Origin, Parts, Resource, find_flaw, split_id
from midwatch.safety.targets import Target, TargetTemplate, check_template, find_target, read_target
from tests.safety.requirements import requirement

TEMPLATES = {
    "pods_list": TargetTemplate(target="cluster:main"),
    "pods_*": TargetTemplate(target="pod:{namespace}:{name}"),
    "*_file": TargetTemplate(target="file:{target.host}:{path}", parent="node:{target.host}"),
    "run": TargetTemplate(target="{resource}"),
    "odd": TargetTemplate(target="{kind}:{name}"),
    "half_*": TargetTemplate(target="host:{host}", parent="site:{site}"),
}
WHOLE = Target(id="mcp:k8s")


def find(tool: str, arguments: dict[str, Any], kind: ToolKind = ToolKind.WRITE) -> Target | Refusal:
    return find_target(tool, arguments, server="k8s", templates=TEMPLATES, kind=kind)


@requirement("target:from-arguments")
@pytest.mark.parametrize(
    ("tool", "arguments", "target"),
    [
        ("pods_delete", {"namespace": "shop", "name": "web-1"}, Target(id="pod:shop:web-1")),
        ("pods_delete", {"namespace": "shop", "name": 7}, Target(id="pod:shop:7")),
        ("pods_list", {}, Target(id="cluster:main")),
        (
            "edit_file",
            {"target": {"host": "delly"}, "path": "/etc/hosts"},
            Target(id="file:delly:/etc/hosts", parent="node:delly"),
        ),
        ("run", {"resource": "lxc:delly:141"}, Target(id="lxc:delly:141")),
        ("run", {"resource": "delly"}, Target(id="delly")),
    ],
)
def test_the_first_template_that_matches_makes_the_target(tool: str, arguments: dict[str, Any], target: Target) -> None:
    assert find(tool, arguments) == target


@requirement("target:server-as-a-whole")
def test_without_a_template_the_target_is_the_server() -> None:
    assert find("nodes_drain", {"name": "n1"}) == WHOLE


@requirement("target:no-holes")
@pytest.mark.parametrize(
    ("tool", "arguments", "argument", "flaw"),
    [
        ("pods_delete", {"namespace": "shop"}, "name", "is missing"),
        ("pods_delete", {"namespace": "shop", "name": None}, "name", "is missing"),
        ("pods_delete", {"namespace": "", "name": "web"}, "namespace", "is empty"),
        ("pods_delete", {"namespace": "shop", "name": "web-*"}, "name", "has wildcards in it"),
        ("pods_delete", {"namespace": "shop", "name": ["a", "b"]}, "name", "is neither a text nor a whole number"),
        ("pods_delete", {"namespace": "shop", "name": True}, "name", "is neither a text nor a whole number"),
        ("pods_delete", {"namespace": "shop", "name": 1.5}, "name", "is neither a text nor a whole number"),
        ("edit_file", {"target": "delly", "path": "/etc/hosts"}, "target.host", "is missing"),
        ("half_done", {"host": "a"}, "site", "is missing"),
    ],
)
def test_a_change_whose_template_cannot_be_filled_is_refused(
    tool: str, arguments: dict[str, Any], argument: str, flaw: str
) -> None:
    refusal = find(tool, arguments)
    assert isinstance(refusal, Refusal)
    assert refusal.code == "INVALID_INPUT"
    assert refusal.reason == f"what would be changed cannot be told: {argument} {flaw}"
    assert refusal.details == {"argument": argument}
    for kind in (ToolKind.READ, ToolKind.RESOLVE):
        assert find(tool, arguments, kind) == WHOLE


@requirement("target:not-forged")
@pytest.mark.parametrize(
    ("tool", "arguments"), [("odd", {"kind": "mcp", "name": "k8s"}), ("run", {"resource": "mcp:x"})]
)
def test_no_argument_can_pass_for_a_tool_server(tool: str, arguments: dict[str, Any]) -> None:
    assert isinstance(find(tool, arguments), Refusal)


@requirement("target:not-forged")
@given(st.text(min_size=1), st.text(min_size=1))
def test_no_argument_can_pass_for_two_parts(namespace: str, name: str) -> None:
    target = find("pods_delete", {"namespace": namespace, "name": name})
    if find_flaw(namespace) is None and find_flaw(name) is None:
        assert isinstance(target, Target)
        assert split_id(target.id) == Parts("pod", namespace, name)
    else:
        assert isinstance(target, Refusal)


@requirement("target:not-forged")
def test_only_an_argument_alone_in_its_template_may_be_a_whole_id() -> None:
    forms = ("host:{host}", "{host}:{host}", "{host}")
    templates = {form: TargetTemplate(target=form) for form in forms}
    made = [
        find_target(tool, {"host": "a:b"}, server="k8s", templates=templates, kind=ToolKind.WRITE) for tool in templates
    ]
    assert made == [Target(id="host:a%3Ab"), Target(id="a%3Ab:a%3Ab"), Target(id="a:b")]


@requirement("target:checked-at-start")
@pytest.mark.parametrize("template", ["host:{host}", "{id}", "cluster:main", "file:{a.b}:{c}", "a{{b}}:{c}"])
def test_sound_templates_pass(template: str) -> None:
    assert check_template(template) is None


@requirement("target:checked-at-start")
@pytest.mark.parametrize(
    ("template", "told"),
    [
        ("host:{host", "expected text with arguments in braces"),
        ("host:{}", "expected text with arguments in braces"),
        ("host:{0}", "expected text with arguments in braces"),
        ("host:{a!r}", "expected text with arguments in braces"),
        ("host:{a:>9}", "expected text with arguments in braces"),
        ("host:{a[0]}", "expected text with arguments in braces"),
        ("host:{a.}", "expected text with arguments in braces"),
        ("host: {a}", "the text around the braces has blanks"),
        ("host:*", "the text around the braces has wildcards"),
        ("mcp:{a}", "mcp: stands for tool servers"),
    ],
)
def test_templates_that_cannot_work_are_told(template: str, told: str) -> None:
    assert (check_template(template) or "").startswith(told)


@requirement("target:checked-at-start")
@pytest.mark.parametrize("path", ["items[].id", "sort_by(items, &name)", "length(@)", "items[].{kind: 'pod', uid: id}"])
def test_sound_paths_pass(path: str) -> None:
    assert check_path(path) is None


@requirement("target:checked-at-start")
@pytest.mark.parametrize("path", ["", "items[", "items[].{", "no_such(@)", "$.items"])
def test_paths_that_cannot_work_are_told(path: str) -> None:
    assert (check_path(path) or "").startswith("expected a JMESPath expression")


@requirement("routing:get-arms")
def test_what_a_get_has_got_is_read_from_its_target() -> None:
    got = read_target(Target(id="pod:shop:web", parent="node:n1"))
    assert got == Resource(kind="pod", host="shop", uid="web", parent="node:n1")
    assert read_target(WHOLE) is None
    assert read_target(Target(id="delly")) is None


def discover(answer: Any, path: str = "items") -> Findings:
    return find_resources("find_all", encode_text(answer), {"find_*": path, "*": "nothing"})


@requirement("discovery:by-path")
@pytest.mark.parametrize(
    ("entry", "resource"),
    [
        ("web-1", Resource(kind="resource", uid="web-1")),
        ("pod:shop:web", Resource(kind="pod", host="shop", uid="web")),
        (141, Resource(kind="resource", uid="141")),
        ({"kind": "lxc", "uid": 141, "host": "delly"}, Resource(kind="lxc", host="delly", uid="141")),
        ({"id": "lxc:delly:141", "name": "home"}, Resource(kind="lxc", host="delly", uid="141", name="home")),
        ({"kind": "image", "id": "docker:25"}, Resource(kind="image", uid="docker:25")),
        ({"name": "web"}, Resource(kind="resource", uid="web", name="web")),
        (
            {"kind": "pod", "uid": "u", "name": "n", "aliases": ["a", "b:c", "", 7, None], "parent": "node:n1"},
            Resource(kind="pod", uid="u", name="n", aliases=("a", "7"), parent="node:n1"),
        ),
        ({"uid": "a", "aliases": "b"}, Resource(kind="resource", uid="a")),
        ({"uid": "a", "actions": ["stop", 3]}, Resource(kind="resource", uid="a", actions=frozenset({"stop"}))),
        ({"uid": "a", "actions": "stop"}, Resource(kind="resource", uid="a", actions=frozenset())),
    ],
)
def test_a_result_registers_what_the_path_finds(entry: Any, resource: Resource) -> None:
    assert discover({"items": [entry]}) == Findings(resources=(resource,))
    assert discover({"items": entry}) == Findings(resources=(resource,))


@requirement("discovery:by-path")
def test_a_path_can_shape_what_it_finds() -> None:
    answer = {"items": [{"metadata": {"name": "web"}, "spec": {"nodeName": "n1"}}]}
    path = "items[].{kind: 'pod', uid: metadata.name, parent: join(':', ['node', spec.nodeName])}"
    assert discover(answer, path).resources == (Resource(kind="pod", uid="web", parent="node:n1"),)


@requirement("discovery:junk-ignored")
@pytest.mark.parametrize(
    "entry",
    [
        True,
        None,
        1.5,
        ["a"],
        {},
        {"name": None},
        {"kind": "pod"},
        {"uid": "a\nb"},
        {"uid": "a", "host": "*"},
        "a b\n",
        "a:b:c:d",
    ],
)
def test_what_cannot_be_a_resource_is_left_out_and_counted(entry: Any) -> None:
    found = discover({"items": [entry, "web"]})
    assert found == Findings(resources=(Resource(kind="resource", uid="web"),), left_out=1)


@requirement("discovery:junk-ignored")
def test_no_more_is_read_than_the_context_can_hold() -> None:
    found = discover({"items": [f"web-{number}" for number in range(700)]})
    assert (len(found.resources), found.left_out) == (500, 200)


@requirement("discovery:junk-ignored")
@pytest.mark.parametrize(
    ("content", "path"),
    [
        ("not json", "items"),
        ('{"other": 1}', "items"),
        ("{}", "sort_by(items, &name)"),
        (f'{{"items": ["web"], "more": "{"x" * 1024 * 1024}"}}', "items"),
        (f"{'[' * 900}{']' * 900}", "[to_string(@)]"),
    ],
)
def test_no_answer_of_a_tool_ends_the_run(content: str, path: str) -> None:
    assert find_resources("find_all", content, {"find_*": path}).resources == ()


@requirement("approval:whole-call")
def test_what_was_found_knows_the_call_that_found_it_and_is_the_same_by_another() -> None:
    origin = Origin(tool="k8s.find_all", arguments="{}")
    (found,) = find_resources("find_all", '{"items": ["web"]}', {"find_*": "items"}, origin=origin).resources
    assert found.origin == origin
    assert found == Resource(kind="resource", uid="web")
    got = read_target(Target(id="pod:shop:web"), origin=origin)
    assert got is not None
    assert describe_origin(got) == {"tool": "k8s.find_all", "arguments": "{}"}
    assert describe_origin(Resource(kind="pod", uid="web")) is None
    assert describe_origin("mcp:k8s") is None


@requirement("discovery:by-path")
def test_a_tool_without_a_path_finds_nothing() -> None:
    assert find_resources("get", '{"items": ["a"]}', {"find_*": "items"}) == Findings()
