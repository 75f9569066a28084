"""Everything one execution can touch, opened together, behind its gate."""

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from uuid import UUID

from midwatch.config import safety as config
from midwatch.config.builtins import is_own
from midwatch.config.mcp import DataMasking, Kinds, McpServer
from midwatch.config.safety import Safety
from midwatch.domain.results import RESULT_SERVER
from midwatch.domain.safety import SafetyMode, strictest
from midwatch.domain.tools import ToolDefinition
from midwatch.masking.mask import CustomRule, Mask, NoMask, RuleMask, compile_mask, mask_result
from midwatch.masking.patterns import UNMISTAKABLE
from midwatch.safety.kinds import KindVerdict, OperatorKinds, decide_kind
from midwatch.safety.policy import Stance
from midwatch.safety.rules import Decision, Rule
from midwatch.safety.session import SessionSafety
from midwatch.safety.targets import TargetTemplate
from midwatch.tools.appraisal import ServerRules
from midwatch.tools.combined import Combined
from midwatch.tools.consent import Consent, NoConsent
from midwatch.tools.gate import CALL_SECONDS, Gate, NoPins, Pins
from midwatch.tools.inflight import CallsInFlight
from midwatch.tools.introduction import Introduction
from midwatch.tools.journal import CallJournal
from midwatch.tools.journaled import Journaled
from midwatch.tools.learning import Learning
from midwatch.tools.masked import Masked
from midwatch.tools.mcp.scope import Opening, Scopes, open_server_scope, open_servers
from midwatch.tools.mcp.server import INIT_SECONDS
from midwatch.tools.portioned import Portion, Portioned
from midwatch.tools.results.opener import ResultTools
from midwatch.tools.results.shelf import EmptyShelf, Shelf
from midwatch.tools.selected import Selected
from midwatch.tools.summarised import Digest, Summarised, keep_as_it_is
from midwatch.tools.toolset import Toolset
from midwatch.tools.unrecorded import Unrecorded

_EVERYTHING: Mapping[str, frozenset[str]] = MappingProxyType({})
_AS_USUAL: Mapping[str, Portion] = MappingProxyType({})
_RESULTS = ServerRules(kinds=OperatorKinds(read=("*",)), is_pinned=False, acts_on_server=False)
"""Of our own tools that open stored results: they look, and at nothing outside the session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workbench:
    gate: Gate
    unavailable: Mapping[str, str]
    """Servers that could not be opened, and why."""
    digest: Digest = keep_as_it_is
    """Sums up long results."""
    shelf: Shelf = field(default_factory=EmptyShelf)
    """Where all of them are."""


@asynccontextmanager
async def open_workbench(
    *,
    servers: Mapping[str, McpServer],
    safety: Safety,
    journal: CallJournal,
    environment: Mapping[str, str],
    secret_names: Collection[str] = (),
    chosen: Mapping[str, frozenset[str]] = _EVERYTHING,
    refuse_proven_writes: bool = False,
    pins: Pins | None = None,
    calls: CallsInFlight | None = None,
    scopes: Scopes | None = None,
    portions: Mapping[str, Portion] = _AS_USUAL,
    digest: Digest = keep_as_it_is,
    shelf: Shelf | None = None,
    state: SessionSafety | None = None,
    consent: Consent | None = None,
    owner: UUID | None = None,
    execution_id: str = "",
    call_timeout: float = CALL_SECONDS,
    init_timeout: float = INIT_SECONDS,
) -> AsyncGenerator[Workbench]:
    """Opens the servers side by side. One that does not come up is missing from the gate and named as unavailable.

    `environment` is ours: each server inherits only what its configuration lets it, and never `secret_names`.
    `chosen` names the tools to keep of a server that is not to show all it has. `calls` lets a person end one of them.
    `scopes` hold the servers that stay open when this execution is over.
    `state` is what safety remembers of the session, and `consent` asks a person, for the execution `owner`.
    `portions` say how much of a server's results is read at once, `digest` sums up what is longer, and `shelf` has all
    of it.
    """
    state = state or SessionSafety()
    opening = Opening(
        environment=environment, secret_names=secret_names, client_id=execution_id, init_timeout=init_timeout
    )
    async with open_server_scope(opening) as execution:
        outcomes = await open_servers(servers, scopes=scopes or Scopes(), execution=execution)
        toolsets: dict[str, Toolset] = {
            name: opened for name, opened in outcomes.items() if not isinstance(opened, str)
        }
        masks: dict[str, Mask] = {name: build_mask(server.data_masking) for name, server in servers.items()}
        default, shelf = build_mask(DataMasking()), shelf or EmptyShelf()
        # They mask by themselves, as the server whose result they open is masked.
        toolsets[RESULT_SERVER] = ResultTools(shelf=shelf, masks=masks, default=default)
        masked = Masked(
            inner=Selected(inner=Combined(toolsets), chosen=chosen),
            masks=masks | {RESULT_SERVER: NoMask()},
            default=default,
            show=journal.show_note,
        )
        portioned = Portioned(inner=masked, portions=portions, on_long=shelf.offer)
        learning = Learning(
            inner=Journaled(inner=portioned, journal=journal, calls=calls or CallsInFlight(), safety=state),
            safety=state,
            paths={name: server.discovers for name, server in servers.items()},
        )
        gate = Gate(
            inner=Summarised(inner=learning, digest=digest),
            journal=journal,
            stance=Stance(mode=safety.mode, refuse_proven_writes=refuse_proven_writes),
            rules={name: build_rules(server, safety) for name, server in servers.items()} | {RESULT_SERVER: _RESULTS},
            safety=state,
            owner=owner,
            consent=consent or NoConsent(),
            pins=pins or NoPins(),
            timeout=call_timeout,
            introduce=Introduction(
                masks={name: build_word_mask(server.data_masking) for name, server in servers.items()}
            ),
        )
        unavailable = {
            name: mask_result(masks[name], reason) for name, reason in outcomes.items() if isinstance(reason, str)
        }
        yield Workbench(gate=gate, unavailable=unavailable, digest=digest, shelf=shelf)


def build_checking_gate(name: str, server: McpServer, *, toolset: Toolset, pins: Pins, call_timeout: float) -> Gate:
    """For looks at a server that belong to no session: only what reads passes, and nothing is recorded."""
    masked = Masked(inner=toolset, masks={}, default=build_mask(server.data_masking))
    journal = Unrecorded()
    safety = SessionSafety()
    return Gate(
        inner=Journaled(inner=masked, journal=journal, safety=safety),
        journal=journal,
        safety=safety,
        stance=Stance(mode=SafetyMode.ENFORCE),
        rules={name: build_rules(server, Safety())},
        pins=pins,
        timeout=call_timeout,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectedTool:
    definition: ToolDefinition
    verdict: KindVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerReport:
    tools: tuple[InspectedTool, ...] = ()
    failure: str | None = None
    """Why the server could not be opened."""


async def inspect_servers(
    servers: Mapping[str, McpServer],
    *,
    environment: Mapping[str, str],
    secret_names: Collection[str] = (),
    init_timeout: float = INIT_SECONDS,
) -> dict[str, ServerReport]:
    """Opens the servers as an investigation would, side by side, looks what tools they have, and closes them."""
    opening = Opening(environment=environment, secret_names=secret_names, init_timeout=init_timeout)
    async with open_server_scope(opening) as scope:
        outcomes = await open_servers(servers, scopes=Scopes(), execution=scope)
        return {
            name: ServerReport(failure=opened)
            if isinstance(opened, str)
            else ServerReport(tools=_inspect_tools(servers[name], await opened.list_tools()))
            for name, opened in outcomes.items()
        }


def _inspect_tools(server: McpServer, tools: Sequence[ToolDefinition]) -> tuple[InspectedTool, ...]:
    kinds = _kinds_of(server)
    return tuple(
        InspectedTool(
            definition=tool, verdict=decide_kind(tool, kinds=kinds, trust_annotations=server.trust_annotations)
        )
        for tool in tools
    )


def build_mask(masking: DataMasking) -> RuleMask | NoMask:
    if not masking.enabled:
        return NoMask()
    return compile_mask(groups=masking.pattern_groups, patterns=masking.patterns, custom=_list_custom(masking))


def build_word_mask(masking: DataMasking) -> RuleMask | NoMask:
    """For definitions, which speak of keys and passwords without telling any: only the unmistakable is hidden."""
    return compile_mask(patterns=UNMISTAKABLE, custom=_list_custom(masking)) if masking.enabled else NoMask()


def _list_custom(masking: DataMasking) -> list[CustomRule]:
    return [
        CustomRule(
            name=rule.description or f"custom pattern {number}", pattern=rule.pattern, replacement=rule.replacement
        )
        for number, rule in enumerate(masking.custom_patterns, start=1)
    ]


def _kinds_of(server: McpServer) -> OperatorKinds:
    kinds = server.kinds or Kinds()
    return OperatorKinds(read=kinds.read, write=kinds.write, resolve=kinds.resolve, default=kinds.default)


def build_rules(server: McpServer, safety: Safety) -> ServerRules:
    """`safety.control_level` is the strictest of all that holds for whoever calls."""
    return ServerRules(
        kinds=_kinds_of(server),
        trust_annotations=server.trust_annotations,
        level=strictest(safety.control_level, server.control_level),
        rules=tuple(_rule_of(place, rule) for place, rule in enumerate(safety.rules)),
        egress_allow=safety.egress_allow,
        templates={
            glob: TargetTemplate(target=target.target, parent=target.parent) for glob, target in server.targets.items()
        },
        is_pinned=not is_own(server),
    )


def _rule_of(place: int, rule: config.Rule) -> Rule:
    return Rule(
        place=place,
        decision=Decision(rule.decision),
        tools=rule.tools,
        targets=rule.targets,
        kinds=rule.kinds,
        risks=rule.risk,
        reason=rule.reason,
    )
