"""Everything one execution can touch, opened together, behind its gate."""

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Fittings:
    """What a workbench is made of."""

    servers: Mapping[str, McpServer]
    safety: Safety
    journal: CallJournal
    environment: Mapping[str, str]
    """Ours: each server inherits only what its configuration lets it, and never `secret_names`."""
    secret_names: Collection[str] = ()
    chosen: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """The tools to keep of a server that is not to show all it has."""
    refuse_proven_writes: bool = False
    pins: Pins = field(default_factory=NoPins)
    calls: CallsInFlight = field(default_factory=CallsInFlight)
    """Lets a person end one of them."""
    scopes: Scopes = field(default_factory=Scopes)
    """Hold the servers that stay open when this execution is over."""
    portions: Mapping[str, Portion] = field(default_factory=dict[str, Portion])
    """How much of a server's results is read at once."""
    digest: Digest = keep_as_it_is
    """Sums up what is longer."""
    shelf: Shelf = field(default_factory=EmptyShelf)
    """Has all of it."""
    state: SessionSafety = field(default_factory=SessionSafety)
    """What safety remembers of the session."""
    consent: Consent = field(default_factory=NoConsent)
    """Asks a person, for the execution `owner`."""
    owner: UUID | None = None
    execution_id: str = ""
    call_timeout: float = CALL_SECONDS
    init_timeout: float = INIT_SECONDS

    @property
    def opening(self) -> Opening:
        return Opening(
            environment=self.environment,
            secret_names=self.secret_names,
            client_id=self.execution_id,
            init_timeout=self.init_timeout,
        )

    @property
    def masks(self) -> dict[str, Mask]:
        return {name: build_mask(server.data_masking) for name, server in self.servers.items()}


@asynccontextmanager
async def open_workbench(fittings: Fittings) -> AsyncGenerator[Workbench]:
    """Opens the servers side by side. One that does not come up is missing from the gate and named as unavailable."""
    async with open_server_scope(fittings.opening) as execution:
        outcomes = await open_servers(fittings.servers, scopes=fittings.scopes, execution=execution)
        masks = fittings.masks
        opened = {name: opened for name, opened in outcomes.items() if not isinstance(opened, str)}
        yield Workbench(
            gate=_build_gate(fittings, _stack_tools(fittings, opened, masks=masks)),
            unavailable={
                name: mask_result(masks[name], reason) for name, reason in outcomes.items() if isinstance(reason, str)
            },
            digest=fittings.digest,
            shelf=fittings.shelf,
        )


def _stack_tools(fittings: Fittings, opened: Mapping[str, Toolset], *, masks: dict[str, Mask]) -> Toolset:
    """What the gate calls: servers, chosen from, masked, cut into portions, recorded, learnt from and summed up."""
    default = build_mask(DataMasking())
    results = ResultTools(shelf=fittings.shelf, masks=masks, default=default)
    masked = Masked(
        inner=Selected(inner=Combined({**opened, RESULT_SERVER: results}), chosen=fittings.chosen),
        # They mask by themselves, as the server whose result they open is masked.
        masks=masks | {RESULT_SERVER: NoMask()},
        default=default,
        show=fittings.journal.show_note,
    )
    portioned = Portioned(inner=masked, portions=fittings.portions, on_long=fittings.shelf.offer)
    learning = Learning(
        inner=Journaled(inner=portioned, journal=fittings.journal, calls=fittings.calls, safety=fittings.state),
        safety=fittings.state,
        paths={name: server.discovers for name, server in fittings.servers.items()},
    )
    return Summarised(inner=learning, digest=fittings.digest)


def _build_gate(fittings: Fittings, tools: Toolset) -> Gate:
    servers, safety = fittings.servers, fittings.safety
    return Gate(
        inner=tools,
        journal=fittings.journal,
        stance=Stance(mode=safety.mode, refuse_proven_writes=fittings.refuse_proven_writes),
        rules={name: build_rules(server, safety) for name, server in servers.items()} | {RESULT_SERVER: _RESULTS},
        safety=fittings.state,
        owner=fittings.owner,
        consent=fittings.consent,
        pins=fittings.pins,
        timeout=fittings.call_timeout,
        introduce=Introduction(masks={name: build_word_mask(server.data_masking) for name, server in servers.items()}),
    )


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
