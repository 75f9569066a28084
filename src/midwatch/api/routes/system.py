"""What this installation takes, has and warns of."""

from contextlib import suppress

from fastapi import APIRouter

from midwatch.api.list_query import Words
from midwatch.api.state import TheConfig, TheSightings
from midwatch.api.system_bodies import (
    AlertTypeOut,
    AlertTypesOut,
    ConfigOut,
    DefaultToolsOut,
    McpServerOut,
    McpServersOut,
    WarningOut,
    WarningsOut,
)
from midwatch.config.chains import Chain
from midwatch.config.load import Config
from midwatch.config.resolve import resolve_execution
from midwatch.config.view import describe_config
from midwatch.domain.errors import Invalid, NotFound

router = APIRouter(prefix="/api/v1")


@router.get("/alert-types")
async def show_alert_types(config: TheConfig) -> AlertTypesOut:
    types = [
        AlertTypeOut(type=alert_type, chain_id=name, description=chain.description)
        for name, chain in config.chains.items()
        for alert_type in chain.alert_types
    ]
    default = config.defaults.alert_type
    chain_id = next((known.chain_id for known in types if known.type == default), None)
    return AlertTypesOut(alert_types=types, default_chain_id=chain_id, default_alert_type=default)


@router.get("/runbooks")
async def show_runbooks() -> list[str]:
    """Addresses of known runbooks: none, as no repository can be configured yet."""
    return []


@router.get("/system/warnings")
async def show_warnings(sightings: TheSightings) -> WarningsOut:
    """What is wrong with this replica now. A warning goes by itself when its cause is gone."""
    return WarningsOut(warnings=[WarningOut.from_warning(warning) for warning in sightings.warnings.show()])


@router.get("/system/mcp-servers")
async def show_mcp_servers(config: TheConfig, sightings: TheSightings) -> McpServersOut:
    """The configured tool servers, as the investigations of this replica last saw them."""
    return McpServersOut(
        servers=[McpServerOut.from_sighting(name, sightings.seen.get(name)) for name in config.mcp_servers]
    )


@router.get("/system/default-tools")
async def show_default_tools(config: TheConfig, alert_type: Words | None = None) -> DefaultToolsOut:
    """The tool servers that an alert of this type gets when it asks for nothing else."""
    wanted = alert_type or config.defaults.alert_type
    chains = {alert_type: chain for chain in config.chains.values() for alert_type in chain.alert_types}
    if alert_type and alert_type not in chains:
        raise Invalid("no chain takes this alert_type", field="alert_type", allowed=sorted(chains))
    servers = _list_servers(config, chains[wanted]) if wanted in chains else []
    return DefaultToolsOut(alert_type=wanted, mcp_servers=servers)


def _list_servers(config: Config, chain: Chain) -> list[str]:
    servers: dict[str, None] = {}
    for stage in chain.stages:
        for agent in stage.agents:
            with suppress(NotFound):
                settings = resolve_execution(config, chain, stage=stage, stage_agent=agent)
                servers |= dict.fromkeys(settings.servers)
    return list(servers)


@router.get("/system/config")
async def show_config(config: TheConfig) -> ConfigOut:
    """What the operator decided, without anything that may be a secret."""
    return ConfigOut.model_validate(describe_config(config))
