"""Everything one execution can touch, opened together and closed together, behind its gate."""

import asyncio
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from types import MappingProxyType

from midwatch.config.mcp import DataMasking, Kinds, McpServer
from midwatch.config.safety import Safety
from midwatch.domain.errors import ToolServerUnavailable
from midwatch.domain.safety import strictest
from midwatch.domain.tools import ToolDefinition
from midwatch.masking.mask import CustomRule, NoMask, RuleMask, compile_mask
from midwatch.safety.kinds import KindVerdict, OperatorKinds, decide_kind
from midwatch.safety.policy import Stance
from midwatch.tools.combined import Combined
from midwatch.tools.environment import child_environment
from midwatch.tools.gate import CALL_SECONDS, Gate, ServerRules
from midwatch.tools.journal import CallJournal
from midwatch.tools.journaled import Journaled
from midwatch.tools.masked import Masked
from midwatch.tools.mcp.server import INIT_SECONDS, open_mcp_server
from midwatch.tools.selected import Selected
from midwatch.tools.summarised import Summarised
from midwatch.tools.toolset import Toolset

_EVERYTHING: Mapping[str, frozenset[str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Workbench:
    gate: Gate
    unavailable: Mapping[str, str]
    """Servers that could not be opened, and why."""


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
    call_timeout: float = CALL_SECONDS,
    init_timeout: float = INIT_SECONDS,
) -> AsyncGenerator[Workbench]:
    """Opens the servers side by side. One that does not come up is missing from the gate and named as unavailable.

    `environment` is ours: each server inherits only what its configuration lets it, and never `secret_names`.
    `chosen` names the tools to keep of a server that is not to show all it has.
    """
    environments = {
        name: child_environment(server, parent=environment, secret_names=secret_names)
        for name, server in servers.items()
    }
    async with _opened(servers, environments=environments, init_timeout=init_timeout) as outcomes:
        toolsets = {name: opened for name, opened in outcomes.items() if not isinstance(opened, str)}
        masked = Masked(
            inner=Selected(inner=Combined(toolsets), chosen=chosen),
            masks={name: build_mask(server.data_masking) for name, server in servers.items()},
            default=build_mask(DataMasking()),
        )
        gate = Gate(
            inner=Summarised(inner=Journaled(inner=masked, journal=journal)),
            journal=journal,
            stance=Stance(mode=safety.mode, refuse_proven_writes=refuse_proven_writes),
            rules={name: _rules_of(server, safety) for name, server in servers.items()},
            timeout=call_timeout,
        )
        unavailable = {name: reason for name, reason in outcomes.items() if isinstance(reason, str)}
        yield Workbench(gate=gate, unavailable=unavailable)


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
    environments = {
        name: child_environment(server, parent=environment, secret_names=secret_names)
        for name, server in servers.items()
    }
    async with _opened(servers, environments=environments, init_timeout=init_timeout) as outcomes:
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
    custom = [
        CustomRule(
            name=rule.description or f"custom pattern {number}", pattern=rule.pattern, replacement=rule.replacement
        )
        for number, rule in enumerate(masking.custom_patterns, start=1)
    ]
    return compile_mask(groups=masking.pattern_groups, patterns=masking.patterns, custom=custom)


def _kinds_of(server: McpServer) -> OperatorKinds:
    kinds = server.kinds or Kinds()
    return OperatorKinds(read=kinds.read, write=kinds.write, resolve=kinds.resolve, default=kinds.default)


def _rules_of(server: McpServer, safety: Safety) -> ServerRules:
    return ServerRules(
        kinds=_kinds_of(server),
        trust_annotations=server.trust_annotations,
        level=strictest(safety.control_level, server.control_level),
    )


@asynccontextmanager
async def _opened(
    servers: Mapping[str, McpServer], *, environments: Mapping[str, Mapping[str, str]], init_timeout: float
) -> AsyncGenerator[Mapping[str, Toolset | str]]:
    """Each server by id, or the reason why it is not there. A task of its own opens and closes each."""
    failure: Exception | None = None
    release = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        outcomes: dict[str, asyncio.Future[Toolset | str]] = {name: asyncio.Future() for name in servers}
        for name, server in servers.items():
            opening = open_mcp_server(name, server, environment=environments[name], init_timeout=init_timeout)
            group.create_task(_hold(opening, outcome=outcomes[name], release=release), name=f"hold {name}")
        try:
            yield {name: await outcome for name, outcome in outcomes.items()}
        # The group would wrap it, and callers catch LeaseLost and the like by their class.
        except Exception as error:  # noqa: BLE001
            failure = error
        finally:
            release.set()
    if failure is not None:
        raise failure


async def _hold(
    opening: AbstractAsyncContextManager[Toolset], *, outcome: asyncio.Future[Toolset | str], release: asyncio.Event
) -> None:
    try:
        async with opening as toolset:
            outcome.set_result(toolset)
            await release.wait()
    except ToolServerUnavailable as error:
        outcome.set_result(str(error))
