"""A folder of files becomes one frozen `Config`, or one list of everything that is wrong with it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from midwatch.config import builtins
from midwatch.config.agents import Agent
from midwatch.config.approvals import Approvals
from midwatch.config.chains import Chain
from midwatch.config.checks import check_rules
from midwatch.config.defaults import Defaults
from midwatch.config.dotenv import with_dotenv
from midwatch.config.findings import Findings, Place
from midwatch.config.installed import list_shapes
from midwatch.config.llm import LlmService, Provider, PydanticAiProvider, ScriptedProvider
from midwatch.config.longtail import find_problem
from midwatch.config.mcp import TRANSPORT_SHAPES, McpServer, StdioTransport
from midwatch.config.queue import Queue
from midwatch.config.references import Names, Parts, check_references
from midwatch.config.safety import Safety
from midwatch.config.scoring import Scoring
from midwatch.config.sections import (
    Source,
    check_sections,
    entry_names,
    parse_at,
    parse_entries,
    parse_section,
    parse_tagged,
)
from midwatch.config.sentences import dotted
from midwatch.config.skills import Skill, read_skills
from midwatch.config.system import System
from midwatch.config.tarsy import Known, set_aside_unchecked, set_aside_unread
from midwatch.config.telemetry import Telemetry, complete_telemetry
from midwatch.config.unused import warn_of_unused
from midwatch.config.yaml import read_document
from midwatch.domain.errors import Misconfigured
from midwatch.domain.safety import SafetyMode

_MIDWATCH = "midwatch.yaml"
_TARSY = "tarsy.yaml"
_PROVIDERS = "llm-providers.yaml"
_SECTIONS = (
    "mcp_servers",
    "agents",
    "agent_chains",
    "defaults",
    "queue",
    "system",
    "safety",
    "approvals",
    "llm",
    "telemetry",
)
_SERVICE_VARIABLE = "LLM_SERVICE_ADDR"
_STAND_IN = StdioTransport(type="stdio", command="broken")
"""For a transport that was complained about, so that the rest of its server is looked at too."""
_SECRETS = ("api_key_env", "credentials_env")


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What the operator decided, and what is built in. Every name in it leads somewhere."""

    mcp_servers: Mapping[str, McpServer]
    agents: Mapping[str, Agent]
    chains: Mapping[str, Chain]
    providers: Mapping[str, Provider]
    defaults: Defaults
    queue: Queue
    safety: Safety
    system: System = field(default_factory=System)
    approvals: Approvals = field(default_factory=Approvals)
    llm: LlmService = field(default_factory=LlmService)
    telemetry: Telemetry = field(default_factory=Telemetry)
    skills: Mapping[str, Skill] = field(default_factory=dict[str, Skill])
    tarsy: bool
    """The folder is TARSy's: its main file is `tarsy.yaml`."""
    safety_mode_explicit: bool
    warnings: tuple[str, ...]
    folder: Path
    environ: Mapping[str, str] = field(repr=False)
    """The environment with the folder's `.env` beneath it; keys of providers are found here."""

    @property
    def secret_names(self) -> frozenset[str]:
        """Variables that hold what speaks for us to a model."""
        named = (getattr(provider, key, None) for provider in self.providers.values() for key in _SECRETS)
        return frozenset(name for name in named if name) | {self.llm.service_token_env}


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    config: Config | None
    """None: there are problems."""
    warnings: tuple[str, ...]
    problems: tuple[str, ...]


def load_config(folder: Path | None, *, environ: Mapping[str, str]) -> Config:
    """Without a folder, an agent looks at this machine. Raises Misconfigured with all problems at once."""
    examination = examine_config(folder, environ=environ)
    if examination.config is None:
        raise Misconfigured(examination.problems)
    return examination.config


def examine_config(folder: Path | None, *, environ: Mapping[str, str]) -> Examination:
    findings = Findings()
    config = _take_this_machine(environ, findings) if folder is None else _read(folder.absolute(), environ, findings)
    return Examination(
        config=None if findings.problems else config, warnings=findings.warnings, problems=findings.problems
    )


def _read(folder: Path, environ: Mapping[str, str], findings: Findings) -> Config | None:
    tarsy = _is_tarsy(folder, findings)
    if tarsy is None:
        return None
    full_environ = with_dotenv(folder, environ, findings=findings)
    main, providers_file = (
        read_document(folder / name, full_environ, findings=findings, lenient=tarsy)
        for name in (_TARSY if tarsy else _MIDWATCH, _PROVIDERS)
    )
    if main is None or providers_file is None:
        return None
    return _assemble(
        Source(document=main, findings=findings, lenient=tarsy),
        Source(document=providers_file, findings=findings, lenient=tarsy),
        folder=folder,
        environ=full_environ,
    )


def load_providers(folder: Path, *, environ: Mapping[str, str]) -> tuple[Mapping[str, Provider], Mapping[str, str]]:
    """The providers alone, and the environment with the folder's `.env` beneath it. Raises Misconfigured."""
    findings = Findings()
    full_environ = with_dotenv(folder, environ, findings=findings)
    lenient = (folder / _TARSY).exists() and not (folder / _MIDWATCH).exists()
    document = read_document(folder / _PROVIDERS, full_environ, findings=findings, lenient=lenient)
    providers: Mapping[str, Provider] = {}
    if document is not None:
        source = Source(document=document, findings=findings, lenient=lenient)
        check_sections(source, ("llm_providers",))
        if lenient:
            set_aside_unread(source)
        providers = _parse_providers(source, folder=folder)
    findings.raise_problems()
    return providers, full_environ


def _is_tarsy(folder: Path, findings: Findings) -> bool | None:
    ours, theirs = (folder / _MIDWATCH).exists(), (folder / _TARSY).exists()
    if not ours and not theirs:
        findings.problem(Place(str(folder)), f"holds neither {_MIDWATCH} nor {_TARSY}")
        return None
    if ours and theirs:
        findings.warn(Place(_TARSY), f"ignored, because {_MIDWATCH} stands beside it")
    return not ours


def _assemble(main: Source, providers_file: Source, *, folder: Path, environ: Mapping[str, str]) -> Config:
    skills = read_skills(folder, findings=main.findings)
    names = Names(
        agents=frozenset(main.names("agents")) | builtins.AGENTS.keys(),
        servers=frozenset(main.names("mcp_servers")) | builtins.build_servers(environ).keys(),
        providers=frozenset(providers_file.names("llm_providers")) | builtins.PROVIDERS.keys(),
        skills=frozenset(skills),
    )
    check_sections(main, _SECTIONS)
    check_sections(providers_file, ("llm_providers",))
    warn_of_unused(main)
    if main.lenient:
        set_aside_unchecked(main, known=Known(servers=names.servers, providers=names.providers))
        set_aside_unread(providers_file)
    parts = _parse(main, providers_file, names=names, folder=folder, environ=environ)
    check_references(parts)
    check_rules(parts)
    return _finish(parts, skills=skills, folder=folder)


def _parse(main: Source, providers_file: Source, *, names: Names, folder: Path, environ: Mapping[str, str]) -> Parts:
    chains = parse_entries(main, Chain, section="agent_chains")
    defaults = parse_section(main, Defaults, key="defaults")
    return Parts(
        main=main,
        providers_file=providers_file,
        mcp_servers=_parse_servers(main),
        agents=parse_entries(main, Agent, section="agents"),
        chains=chains,
        providers=_parse_providers(providers_file, folder=folder),
        defaults=defaults,
        system=parse_section(main, System, key="system"),
        llm=_parse_service(main, folder=folder, environ=environ),
        built_in_agents=builtins.AGENTS,
        built_in_chains=_usable_chains(main, chains, defaults=defaults),
        built_in_providers=builtins.PROVIDERS,
        names=names,
        environ=environ,
    )


def _usable_chains(main: Source, written: Mapping[str, Chain], *, defaults: Defaults) -> dict[str, Chain]:
    """The built-in chains that have a model, and whose alert types no chain of the operator takes."""
    taken = {alert_type for chain in written.values() for alert_type in chain.alert_types}
    return {
        name: chain
        for name, chain in builtins.CHAINS.items()
        if defaults.llm_provider and name not in main.names("agent_chains") and taken.isdisjoint(chain.alert_types)
    }


def _parse_queue(main: Source) -> Queue:
    for key in ("orphan_detection_interval", "orphan_threshold"):
        if ("queue", key) in main.document.lines:
            main.warn(("queue", key), f"queue.{key}: has no effect; a lease of three heartbeats takes its place")
    return parse_section(main, Queue, key="queue")


def _parse_service(main: Source, *, folder: Path, environ: Mapping[str, str]) -> LlmService:
    written = parse_section(main, LlmService, key="llm")
    authority = None if written.service_ca is None else folder / written.service_ca
    if authority is not None and not authority.is_file():
        main.problem(("llm", "service_ca"), "llm.service_ca: there is no such file")
    address = written.service_addr or environ.get(_SERVICE_VARIABLE) or None
    return written.model_copy(update={"service_addr": address, "service_ca": authority})


def _parse_servers(main: Source) -> dict[str, McpServer]:
    parsed = {name: _parse_server(main, name) for name in entry_names(main, "mcp_servers")}
    return {name: server for name, server in parsed.items() if server}


def _parse_server(main: Source, name: str) -> McpServer | None:
    path = ("mcp_servers", name)
    match main.entry(*path):
        case {"transport": written, **rest}:
            transport = parse_tagged(main, TRANSPORT_SHAPES, path=(*path, "transport"), value=written)
            server = parse_at(main, McpServer, path=path, value={"transport": transport or _STAND_IN, **rest})
            return server if transport else None
        case written:
            return parse_at(main, McpServer, path=path, value=written)


def _parse_providers(source: Source, *, folder: Path) -> dict[str, Provider]:
    names = entry_names(source, section="llm_providers")
    shapes = list_shapes() if names else {}
    parsed = {name: _parse_provider(source, name, shapes=shapes, folder=folder) for name in names}
    return {name: provider for name, provider in parsed.items() if provider}


def _parse_provider(
    source: Source, name: str, *, shapes: Mapping[str, type[Provider]], folder: Path
) -> Provider | None:
    path = ("llm_providers", name)
    provider = parse_tagged(source, shapes, path=path, value=source.entry(*path))
    if isinstance(provider, PydanticAiProvider) and (problem := find_problem(provider)):
        key, told = problem
        source.problem((*path, key), f"{dotted((*path, key))}: {told}")
    if not isinstance(provider, ScriptedProvider):
        return provider
    script = folder / provider.script
    if not script.is_file():
        source.problem((*path, "script"), f"{dotted((*path, 'script'))}: there is no such file in the folder")
    return provider.model_copy(update={"script": script})


def _finish(parts: Parts, *, skills: Mapping[str, Skill], folder: Path) -> Config:
    main = parts.main
    safety = parse_section(main, Safety, key="safety")
    explicit = "mode" in safety.model_fields_set
    if main.lenient and not explicit:
        safety = safety.model_copy(update={"mode": SafetyMode.OBSERVE})
    queue, approvals = _parse_queue(main), parse_section(main, Approvals, key="approvals")
    return Config(
        mcp_servers=_merge_servers(parts),
        agents={**builtins.AGENTS, **parts.agents},
        chains=_merge_chains(parts),
        providers={**builtins.PROVIDERS, **parts.providers},
        defaults=_default_alert_type(parts),
        queue=queue,
        safety=safety,
        system=parts.system,
        approvals=approvals,
        llm=parts.llm,
        telemetry=complete_telemetry(parse_section(main, Telemetry, key="telemetry"), parts.environ),
        skills=skills,
        tarsy=main.lenient,
        safety_mode_explicit=explicit,
        warnings=main.findings.warnings,
        folder=folder,
        environ=parts.environ,
    )


def _merge_servers(parts: Parts) -> dict[str, McpServer]:
    servers = {**builtins.build_servers(parts.environ), **parts.mcp_servers}
    if not parts.main.lenient:
        return servers
    return {
        name: server if server.shared or server.isolation else server.model_copy(update={"isolation": "execution"})
        for name, server in servers.items()
    }


def _merge_chains(parts: Parts) -> dict[str, Chain]:
    chains = {**parts.built_in_chains, **parts.chains}
    if not parts.defaults.scoring.enabled:
        return chains
    scored = {"scoring": Scoring(enabled=True)}
    return {name: chain if chain.scoring else chain.model_copy(update=scored) for name, chain in chains.items()}


def _default_alert_type(parts: Parts) -> Defaults:
    """An operator with chains of their own did not ask for ours, whose server is downloaded when it starts."""
    own_chains = bool(parts.chains) and not parts.main.lenient
    if parts.defaults.alert_type is not None or own_chains or builtins.KUBERNETES not in parts.built_in_chains:
        return parts.defaults
    return parts.defaults.model_copy(update={"alert_type": builtins.KUBERNETES})


def _take_this_machine(environ: Mapping[str, str], findings: Findings) -> Config:
    found = [provider for variable, provider in builtins.PROVIDERS_BY_KEY.items() if environ.get(variable)]
    if not found:
        variables = ", ".join(builtins.PROVIDERS_BY_KEY)
        findings.warn(
            Place("no configuration"),
            "the demo model investigates, which follows rules and is no language model; "
            f"set one of {variables}, or give --config-dir DIR with a provider of your own",
        )
    return Config(
        mcp_servers={**builtins.build_servers(environ), **builtins.build_host_servers()},
        agents={**builtins.AGENTS, **builtins.HOST_AGENTS},
        chains={**builtins.CHAINS, **builtins.HOST_CHAINS},
        providers=builtins.PROVIDERS,
        defaults=Defaults(llm_provider=found[0] if found else builtins.DEMO, alert_type=builtins.HOST),
        queue=Queue(),
        safety=Safety(),
        tarsy=False,
        safety_mode_explicit=False,
        warnings=findings.warnings,
        llm=LlmService(service_addr=environ.get(_SERVICE_VARIABLE) or None),
        telemetry=complete_telemetry(Telemetry(), environ),
        folder=Path.cwd(),
        environ=environ,
    )
