"""What this installation takes, has and warns of."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from midwatch.api.description import refusals
from midwatch.api.list_query import Words, refuse_repeats
from midwatch.api.queue_bodies import QueueOut
from midwatch.api.state import TheConfig, TheRunbooks, TheSightings, TheStore
from midwatch.api.system_bodies import (
    AlertTypeOut,
    AlertTypesOut,
    ConfigOut,
    DefaultToolsOut,
    McpServerOut,
    McpServersOut,
    NativeToolsOut,
    WarningOut,
    WarningsOut,
)
from midwatch.config.chains import Chain
from midwatch.config.load import Config
from midwatch.config.resolve import ExecutionSettings, resolve_execution
from midwatch.config.view import describe_config
from midwatch.domain.errors import Invalid, NotFound
from midwatch.store.queues import read_queue

_OF_TYPE = "One that `/api/v1/alert-types` lists; the configured default when missing"

router = APIRouter(prefix="/api/v1")


@router.get("/alert-types", summary="List alert types")
async def list_alert_types(config: TheConfig) -> AlertTypesOut:
    """What an alert may be sent as, the chain that takes it, and what one is that does not say."""
    types = [
        AlertTypeOut(type=alert_type, chain_id=name, description=chain.description)
        for name, chain in config.chains.items()
        for alert_type in chain.alert_types
    ]
    default = config.defaults.alert_type
    chain_id = next((known.chain_id for known in types if known.type == default), None)
    return AlertTypesOut(alert_types=types, default_chain_id=chain_id, default_alert_type=default)


@router.get("/runbooks", summary="List runbooks")
async def list_runbooks(runbooks: TheRunbooks) -> list[str]:
    """Addresses of the runbooks in the configured repository; none when they cannot be had, and a warning says why."""
    return list(await runbooks.list())


@router.get("/system/warnings", summary="List warnings")
async def list_warnings(sightings: TheSightings) -> WarningsOut:
    """What is wrong with this replica now. A warning goes by itself when its cause is gone."""
    return WarningsOut(warnings=[WarningOut.from_warning(warning) for warning in sightings.warnings.show()])


@router.get("/system/mcp-servers", summary="List tool servers")
async def list_mcp_servers(config: TheConfig, sightings: TheSightings) -> McpServersOut:
    """The configured tool servers, as this replica last saw them. Those in use it watches all the time."""
    return McpServersOut(
        servers=[McpServerOut.from_sighting(name, sightings.seen.get(name)) for name in config.mcp_servers]
    )


@router.get(
    "/system/default-tools",
    summary="Show the tools of an alert type",
    responses=refusals(400),
    dependencies=[Depends(refuse_repeats)],
)
async def show_default_tools(
    config: TheConfig, alert_type: Annotated[Words | None, Query(description=_OF_TYPE)] = None
) -> DefaultToolsOut:
    """The tool servers that an alert of this type gets when it asks for nothing else, and its models' own tools."""
    wanted = alert_type or config.defaults.alert_type
    chains = {alert_type: chain for chain in config.chains.values() for alert_type in chain.alert_types}
    if alert_type and alert_type not in chains:
        raise Invalid("no chain takes this alert_type", field="alert_type", allowed=sorted(chains))
    agents = list(_resolve_agents(config, chains[wanted])) if wanted in chains else []
    servers = dict.fromkeys(server for settings in agents for server in settings.servers)
    native = {tool for settings in agents for tool in settings.native_tools}
    return DefaultToolsOut(alert_type=wanted, mcp_servers=list(servers), native_tools=NativeToolsOut.from_names(native))


def _resolve_agents(config: Config, chain: Chain) -> Iterator[ExecutionSettings]:
    for stage in chain.stages:
        for agent in stage.agents:
            with suppress(NotFound):
                yield resolve_execution(config, chain, stage=stage, stage_agent=agent)


@router.get("/system/queue", summary="Show the queue", responses=refusals(503))
async def show_queue(store: TheStore, config: TheConfig) -> QueueOut:
    """How many sessions wait and for how long, how many run, and the replicas that are alive."""
    async with store.connect() as tx:
        queue = await read_queue(tx)
    settings = config.queue
    return QueueOut.from_queue(queue, cap=settings.max_concurrent_sessions, warn_depth=settings.warn_depth)


@router.get("/system/config", summary="Show the configuration")
async def show_config(config: TheConfig) -> ConfigOut:
    """What the operator decided, without anything that may be a secret."""
    return ConfigOut.model_validate(describe_config(config))
