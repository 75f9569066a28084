"""The tools that come with Midwatch: what kind each is, what it acts on, and where it is tested.

A tool, or an action of one, that is not written here fails `make check`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from midwatch.domain.tools import ToolKind


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTool:
    kind: ToolKind
    target: str | None
    """None: it reaches nothing outside of its session."""
    test: str
    """The file in which a test calls it."""
    actions: Mapping[str, ToolKind] = field(default_factory=dict[str, ToolKind])
    """Where an argument chooses what is done: each choice and its kind."""


_HOST = "mcp:midwatch-host"
_AS_A_PROCESS = "tests/unit/bundled/test_host_server.py"
_WITH_SYSTEMD = "tests/unit/bundled/test_host_services.py"
_WITH_A_RUNTIME = "tests/unit/bundled/test_host_containers.py"
_RESULTS = "tests/unit/tools/test_result_tools.py"


def _reads_host(test: str = _AS_A_PROCESS) -> OwnTool:
    return OwnTool(kind=ToolKind.READ, target=_HOST, test=test)


def _reads_session() -> OwnTool:
    return OwnTool(kind=ToolKind.READ, target=None, test=_RESULTS)


OWN_TOOLS: Mapping[str, OwnTool] = {
    "midwatch-host.overview": _reads_host(),
    "midwatch-host.load": _reads_host(),
    "midwatch-host.memory": _reads_host(),
    "midwatch-host.processes": _reads_host(),
    "midwatch-host.process": _reads_host(),
    "midwatch-host.disks": _reads_host(),
    "midwatch-host.mounts": _reads_host(),
    "midwatch-host.largest": _reads_host(),
    "midwatch-host.deleted_files": _reads_host(),
    "midwatch-host.ports": _reads_host(),
    "midwatch-host.connections": _reads_host(),
    "midwatch-host.services": _reads_host(_WITH_SYSTEMD),
    "midwatch-host.journal": _reads_host(_WITH_SYSTEMD),
    "midwatch-host.logs": _reads_host(),
    "midwatch-host.read_log": _reads_host(),
    "midwatch-host.kernel_messages": _reads_host(),
    "midwatch-host.containers": _reads_host(_WITH_A_RUNTIME),
    "midwatch-host.container_logs": _reads_host(_WITH_A_RUNTIME),
    "result.search": _reads_session(),
    "result.slice": _reads_session(),
    "result.query": _reads_session(),
}
