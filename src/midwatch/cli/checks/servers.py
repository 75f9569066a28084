"""The tool servers in use: do they start, and what may be taken from each of their tools?"""

from collections import Counter
from collections.abc import Iterable, Mapping
from glob import escape

import yaml

from midwatch.cli.checks.finding import Finding, doubtful, fine, wrong
from midwatch.config.mcp import Kinds, McpServer
from midwatch.safety.kinds import UNKNOWN
from midwatch.tools.workbench import InspectedTool, ServerReport


def judge_servers(reports: Mapping[str, ServerReport]) -> list[Finding]:
    return [finding for name, report in reports.items() for finding in _judge(name, report)]


def _judge(name: str, report: ServerReport) -> list[Finding]:
    subject = f"server {name}"
    if report.failure is not None:
        return wrong(subject, report.failure.removeprefix(f"tool server {name}: "))
    counted = Counter(str(tool.verdict.kind) for tool in report.tools)
    kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(counted.items())) or "none"
    text = f"{len(report.tools)} tools ({kinds})"
    unknown = list_unknown(report)
    if unknown:
        return [doubtful(subject, f"{text}; nobody vouches for {len(unknown)}, so they count as writes")]
    return [fine(subject, text)]


def list_unknown(report: ServerReport) -> list[InspectedTool]:
    return [tool for tool in report.tools if tool.verdict.rule == UNKNOWN.rule]


def write_kinds(name: str, server: McpServer, report: ServerReport) -> str | None:
    """A block for `midwatch.yaml`: what it says already, and the unknown tools as their server describes them."""
    unknown = list_unknown(report)
    if not unknown:
        return None
    kinds = server.kinds or Kinds()
    reading = [tool for tool in unknown if tool.definition.read_only_hint]
    silent = [tool for tool in unknown if not tool.definition.read_only_hint]
    lines = ["mcp_servers:", f"  {_quote(name)}:", "    # beside its other keys", "    kinds:"]
    if kinds.read or reading:
        lines += [f"      read: {_list([*kinds.read, *_globs(reading)])}{_mark(reading, 'says that they only read')}"]
    if kinds.write or silent:
        lines += [f"      write: {_list([*kinds.write, *_globs(silent)])}{_mark(silent, 'says nothing of them')}"]
    if kinds.resolve:
        lines += [f"      resolve: {_list(kinds.resolve)}"]
    if kinds.default:
        lines += [f"      default: {kinds.default}"]
    return "\n".join(lines)


def _mark(tools: Iterable[InspectedTool], word: str) -> str:
    names = ", ".join(_quote(tool.definition.name) for tool in tools)
    return f"  # the server {word}: {names}" if names else ""


def _globs(tools: Iterable[InspectedTool]) -> list[str]:
    return [escape(tool.definition.name) for tool in tools]


def _list(globs: Iterable[str]) -> str:
    return f"[{', '.join(map(_quote, globs))}]"


def _quote(text: str) -> str:
    """One line of YAML, whatever the server calls its tools."""
    return yaml.safe_dump(text, width=10_000, default_flow_style=True).removesuffix("...\n").strip()
