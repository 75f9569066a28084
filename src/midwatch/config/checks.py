"""Rules that no single block can check for itself, because they need its neighbours or the environment."""

import re
from urllib.parse import urlsplit

from midwatch.config.agents import SubAgent
from midwatch.config.chains import Chain, Chat, Stage, StageAgent
from midwatch.config.cost import find_conflicts
from midwatch.config.mcp import OURSELVES, DataMasking
from midwatch.config.references import Parts, check_name, walk_blocks
from midwatch.config.scoring import Scoring
from midwatch.config.sections import Source
from midwatch.config.sentences import dotted
from midwatch.config.yaml import KeyPath
from midwatch.kit.users import find_user, may_become
from midwatch.masking.mask import check_pattern
from midwatch.masking.patterns import GROUPS, PATTERNS, STRUCTURES

_RESERVED_SERVERS = frozenset({"infra", "result", "midwatch"})
_PATTERNS = (*PATTERNS, *STRUCTURES)
_SERVER_ID = re.compile(r"[a-zA-Z0-9_-]+")


def check_rules(parts: Parts) -> None:
    _check_server_ids(parts.main)
    for name, server in parts.mcp_servers.items():
        _check_masking(parts.main, server.data_masking, path=("mcp_servers", name, "data_masking"))
        _check_user(parts.main, server.run_as, path=("mcp_servers", name, "run_as"))
    for name, chain in parts.chains.items():
        _check_chain(parts, chain, path=("agent_chains", name))
    _check_alert_types(parts)
    _check_alert_masking(parts)
    _check_slack(parts)
    _check_runbooks(parts)
    for index, told in find_conflicts(parts.system.cost_estimation.promotions):
        path = ("system", "cost_estimation", "promotions", index)
        parts.main.problem(path, f"{dotted(path)}: {told}")


def _check_server_ids(main: Source) -> None:
    for name in main.names("mcp_servers"):
        path = ("mcp_servers", name)
        if name in _RESERVED_SERVERS:
            main.problem(path, f'{dotted(path)}: the id "{name}" is reserved')
        elif "__" in name or not _SERVER_ID.fullmatch(name):
            main.problem(
                path, f"{dotted(path)}: an id is made of letters, digits, - and _, without two _ beside each other"
            )


def _check_chain(parts: Parts, chain: Chain, *, path: KeyPath) -> None:
    for inner, block in walk_blocks(chain, path):
        if isinstance(block, SubAgent):
            _check_sub_agent(parts, block, path=inner)
    for index, stage in enumerate(chain.stages):
        _check_stage(parts, stage, path=(*path, "stages", index), provider=chain.llm_provider)
    _check_switch(parts.main, chain.chat, path=(*path, "chat"))
    _check_switch(parts.main, chain.scoring, path=(*path, "scoring"))
    if chain.chat and chain.chat.enabled and chain.chat.agent is None:
        parts.main.problem((*path, "chat"), f"{dotted(path)}.chat.agent: must be set when enabled is true")


def _check_switch(main: Source, block: Chat | Scoring | None, *, path: KeyPath) -> None:
    if block is not None and "enabled" not in block.model_fields_set:
        main.warn(path, f"{dotted(path)}: is off, because it does not say enabled: true")


def _check_stage(parts: Parts, stage: Stage, *, path: KeyPath, provider: str | None) -> None:
    if len(stage.agents) > 1 and stage.replicas > 1:
        where = (*path, "replicas")
        told = f"{dotted(where)}: goes with one agent; name one, or leave replicas out"
        if parts.main.lenient:
            parts.main.warn(where, f"{told} (only the first agent is used)")
        else:
            parts.main.problem(where, told)
    for index, agent in enumerate(stage.agents):
        _check_has_model(parts.main, agent, path=(*path, "agents", index), provider=provider)


def _check_has_model(main: Source, agent: StageAgent, *, path: KeyPath, provider: str | None) -> None:
    if not (agent.llm_provider or provider or _writes_default_provider(main)):
        main.problem(path, f"{dotted(path)}: has no model; set llm_provider here, on the chain or in defaults")


def _writes_default_provider(main: Source) -> bool:
    """Asks the file, since a broken `defaults` block was already complained about."""
    match main.document.data:
        case {"defaults": {"llm_provider": _}}:
            return True
        case _:
            return False


def _check_sub_agent(parts: Parts, sub_agent: SubAgent, *, path: KeyPath) -> None:
    written = sub_agent.name in parts.main.names("agents")
    agent = (parts.agents if written else parts.built_in_agents).get(sub_agent.name)
    if agent is not None and not agent.description.strip():
        told = f'agent "{sub_agent.name}" needs a description before others can send for it'
        parts.main.problem(path, f"{dotted(path)}: {told}")


def _check_alert_types(parts: Parts) -> None:
    takers: dict[str, str] = {}
    for chain_name, chain in parts.chains.items():
        for index, alert_type in enumerate(chain.alert_types):
            if alert_type in takers:
                path = ("agent_chains", chain_name, "alert_types", index)
                message = f'{dotted(path)}: alert type "{alert_type}" already belongs to chain "{takers[alert_type]}"'
                parts.main.problem(path, message)
            takers.setdefault(alert_type, chain_name)
    # A chain that could not be read may well hold the type.
    if parts.defaults.alert_type is not None and len(parts.chains) == len(parts.main.names("agent_chains")):
        path = ("defaults", "alert_type")
        known = [*takers, *(kind for chain in parts.built_in_chains.values() for kind in chain.alert_types)]
        check_name(parts.main, parts.defaults.alert_type, path=path, what="chain that takes alert type", known=known)


def _check_alert_masking(parts: Parts) -> None:
    path = ("defaults", "alert_masking", "pattern_group")
    group = parts.defaults.alert_masking.pattern_group
    check_name(parts.main, group, path=path, what="masking group", known=list(GROUPS))


def _check_masking(main: Source, masking: DataMasking, *, path: KeyPath) -> None:
    for index, group in enumerate(masking.pattern_groups):
        check_name(main, group, path=(*path, "pattern_groups", index), what="masking group", known=list(GROUPS))
    for index, name in enumerate(masking.patterns):
        check_name(main, name, path=(*path, "patterns", index), what="masking pattern", known=_PATTERNS)
    for index, custom in enumerate(masking.custom_patterns):
        inner = (*path, "custom_patterns", index, "pattern")
        if refusal := check_pattern(custom.pattern):
            main.problem(inner, f"{dotted(inner)}: {refusal}")


def _check_user(main: Source, name: str | None, *, path: KeyPath) -> None:
    if name is None or name == OURSELVES:
        return
    user = find_user(name)
    if user is None:
        main.problem(path, f'{dotted(path)}: there is no user "{name}" here')
    elif not may_become(user):
        main.problem(path, f"{dotted(path)}: only root can start programs as another user; leave it out, or write self")


def _check_runbooks(parts: Parts) -> None:
    """Never a problem: an investigation does without a runbook."""
    token, url = parts.system.github.token_env, parts.system.runbooks.repo_url
    path = ("system", "runbooks", "repo_url")
    if url is None:
        return
    if urlsplit(url).hostname not in {"github.com", "www.github.com"}:
        parts.main.warn(path, f"{dotted(path)}: is not a folder on github.com, so no runbooks are listed")
    elif not parts.environ.get(token):
        told = "GitHub shows no private runbooks and answers few questions"
        parts.main.warn(path, f"{dotted(path)}: variable {token} (system.github.token_env) is not set: {told}")


def _check_slack(parts: Parts) -> None:
    slack = parts.system.slack
    if slack.enabled and not parts.environ.get(slack.token_env):
        path = ("system", "slack", "token_env")
        parts.main.problem(path, f"{dotted(path)}: variable {slack.token_env} is not set")
