"""What kind of call a tool makes, and who says so. What nobody has vouched for is a write."""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from midwatch.domain.tools import ToolDefinition, ToolKind


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorKinds:
    """The operator's word about one server's tools: globs over the tools' own names."""

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    resolve: tuple[str, ...] = ()
    default: ToolKind | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KindVerdict:
    kind: ToolKind
    proven: bool
    """The operator or our code says so, not the server."""
    rule: str
    """What decided, for the audit."""


UNKNOWN = KindVerdict(kind=ToolKind.WRITE, proven=False, rule="unknown")
"""Nobody has said anything of the tool that counts."""


def decide_kind(tool: ToolDefinition | None, *, kinds: OperatorKinds, trust_annotations: bool) -> KindVerdict:
    """The operator's globs, then the operator's default, then what the server says of itself, then write."""
    if tool is None:
        return UNKNOWN
    return _by_glob(tool.name, kinds) or _by_default(tool, kinds) or _by_annotation(tool, trusted=trust_annotations)


def _by_glob(name: str, kinds: OperatorKinds) -> KindVerdict | None:
    strictest_first = (
        (ToolKind.WRITE, kinds.write),
        (ToolKind.READ, kinds.read),
        (ToolKind.RESOLVE, kinds.resolve),
    )
    for kind, globs in strictest_first:
        for glob in globs:
            if fnmatchcase(name, glob):
                return KindVerdict(kind=kind, proven=True, rule=f"operator:{kind}:{glob}")
    return None


def _by_default(tool: ToolDefinition, kinds: OperatorKinds) -> KindVerdict | None:
    """A broad default yields to a server that calls its own tool a change; a glob does not."""
    match kinds.default:
        case None:
            return None
        case ToolKind.READ | ToolKind.RESOLVE if tool.read_only_hint is False:
            return KindVerdict(kind=ToolKind.WRITE, proven=False, rule="annotation:raised")
        case ToolKind.READ | ToolKind.RESOLVE:
            return KindVerdict(kind=kinds.default, proven=True, rule=f"operator:default:{kinds.default}")
        case _:
            # Asking a person is never what a tool server does: "ask" can only mean caution.
            return KindVerdict(kind=ToolKind.WRITE, proven=True, rule=f"operator:default:{kinds.default}")


def _by_annotation(tool: ToolDefinition, *, trusted: bool) -> KindVerdict:
    match tool.read_only_hint:
        case False:
            return KindVerdict(kind=ToolKind.WRITE, proven=False, rule="annotation:write")
        case True if trusted:
            return KindVerdict(kind=ToolKind.READ, proven=False, rule="annotation:trusted")
        case _:
            return UNKNOWN
