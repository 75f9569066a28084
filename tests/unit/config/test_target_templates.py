"""Templates and paths of tool servers are checked where they are written."""

import pytest

from tests.safety.requirements import requirement
from tests.unit.config.folder import Folder

SERVER = "transport: {type: stdio, command: serve-logs}"
FORM = "expected text with arguments in braces, such as pod:{namespace}:{name}"
PATH = "expected a JMESPath expression, such as items[].{kind: 'pod', uid: name, host: node}"


@requirement("target:checked-at-start")
@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("targets: {a: 'host:{'}", f"mcp_servers.logs.targets.a.target: {FORM}"),
        ("targets: {a: {target: x, parent: 'host:{!r}'}}", f"mcp_servers.logs.targets.a.parent: {FORM}"),
        ("targets: {a: 'mcp:{x}'}", "mcp_servers.logs.targets.a.target: mcp: stands for tool servers"),
        ("targets: {a: ''}", "mcp_servers.logs.targets.a.target: must not be empty"),
        ("discovers: {a: 'items['}", f"mcp_servers.logs.discovers.a: {PATH}"),
    ],
)
def test_what_cannot_work_is_told_with_its_place(folder: Folder, written: str, told: str) -> None:
    line = folder.change(SERVER, f"{SERVER}\n    {written}")
    assert folder.problems() == (f"midwatch.yaml:{line + 1}: {told}",)


def test_sound_templates_and_paths_are_taken(folder: Folder) -> None:
    folder.change(SERVER, f"{SERVER}\n    targets: {{'get_*': 'host:{{host}}'}}\n    discovers: {{find: 'items[].id'}}")
    server = folder.load().mcp_servers["logs"]
    assert (server.targets["get_*"].target, server.discovers["find"]) == ("host:{host}", "items[].id")
