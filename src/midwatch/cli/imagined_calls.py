"""A tool call that nobody makes, judged as the gate would judge it by a configuration. No server is opened."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from midwatch.domain.errors import NotFound
from midwatch.domain.tools import Refusal, ToolDefinition
from midwatch.kit.json import encode_text
from midwatch.safety.kinds import decide_kind
from midwatch.safety.policy import Stance
from midwatch.safety.rules import Ask, Refuse
from midwatch.safety.session import SessionSafety
from midwatch.tools.appraisal import Appraisal, ServerRules, appraise
from midwatch.tools.arguments import read_arguments

if TYPE_CHECKING:
    from midwatch.config.load import Config

_UNKNOWN = "unknown"
"""What a server says of the tool is not asked: no schema and no annotations are known."""


@dataclass(frozen=True)
class CallJudge:
    folder: Path | None

    @cached_property
    def config(self) -> "Config":
        """Raises Misconfigured."""
        from midwatch.config.load import load_config

        given = os.environ.get("CONFIG_DIR")
        return load_config(self.folder or (Path(given).expanduser() if given else None), environ=os.environ)

    def judge(self, described: Mapping[str, Any]) -> dict[str, Any]:
        """Of `{"tool", "arguments", "server"}`. Raises NotFound for a server that is not configured."""
        tool = _read_tool(described)
        arguments = described.get("arguments", {})
        text = arguments if isinstance(arguments, str) else encode_text(arguments)
        judged = self._appraise(tool, text)
        named = {"server": tool.server, "tool": tool.name, "definition": _UNKNOWN}
        return named | (_describe_refusal(judged) if isinstance(judged, Refusal) else _describe(judged))

    def _appraise(self, tool: ToolDefinition, text: str) -> Appraisal | Refusal:
        rules = self._rules_of(tool.server)
        arguments = read_arguments(text, tool.schema)
        if isinstance(arguments, Refusal):
            return arguments
        config, safety = self.config, SessionSafety()
        return appraise(
            tool,
            arguments,
            declared=decide_kind(tool, kinds=rules.kinds, trust_annotations=rules.trust_annotations),
            rules=rules,
            stance=Stance(
                mode=config.safety.mode, refuse_proven_writes=config.tarsy and not config.safety_mode_explicit
            ),
            identify=safety.identify,
            knows=lambda _: False,
        )

    def _rules_of(self, server: str) -> ServerRules:
        from midwatch.tools.workbench import build_rules

        configured = self.config.mcp_servers.get(server)
        if configured is None:
            raise NotFound("MCP server", server)
        return build_rules(configured, self.config.safety)


def _read_tool(described: Mapping[str, Any]) -> ToolDefinition:
    name, server = str(described["tool"]), described.get("server")
    if not isinstance(server, str):
        server, _, name = name.partition(".")
    annotations = described.get("annotations")
    known = cast("dict[str, Any]", annotations) if isinstance(annotations, dict) else {}
    hint = known.get("readOnlyHint")
    return ToolDefinition(
        server=server,
        name=name.removeprefix(f"{server}."),
        description="",
        schema={},
        read_only_hint=hint if isinstance(hint, bool) else None,
        annotations=known,
    )


def _describe(judged: Appraisal) -> dict[str, Any]:
    decision = judged.decision
    facts: dict[str, Any] = {
        "kind": judged.kind.kind,
        "proven": judged.kind.proven,
        "rule": judged.kind.rule,
        "risk": judged.risk or _UNKNOWN,
        "targets": [target.id for target in judged.targets],
        "files": [file.path for file in judged.find_contents().files],
    }
    match decision:
        case Refuse(rule=rule, refusal=refusal):
            told = {"decision": "refuse", "policy_rule": rule, "code": refusal.code, "reason": refusal.reason}
        case Ask(rule=rule, code=code, reason=reason):
            told = {"decision": "ask", "policy_rule": rule, "code": code, "reason": reason}
        case _:
            told = {"decision": "allow", "policy_rule": decision.rule, "code": decision.observed, "reason": None}
    return facts | told


def _describe_refusal(refusal: Refusal) -> dict[str, Any]:
    return {
        **dict.fromkeys(("kind", "proven", "rule", "risk", "targets")),
        "decision": "refuse",
        "policy_rule": f"gate:{refusal.code}",
        "code": refusal.code,
        "reason": refusal.reason,
    }
