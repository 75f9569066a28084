"""A folder of files becomes one frozen `Config`, or one list of everything that is wrong with it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from midwatch.config.agents import Agent
from midwatch.config.chains import Chain
from midwatch.config.defaults import Defaults
from midwatch.config.dotenv import with_dotenv
from midwatch.config.findings import Findings, Place
from midwatch.config.llm import PROVIDER_SHAPES, OpenAiProvider, Provider, ScriptedProvider, UnsupportedProvider
from midwatch.config.mcp import McpServer
from midwatch.config.queue import Queue
from midwatch.config.references import Parts, check_references
from midwatch.config.safety import Safety
from midwatch.config.sections import Source, check_sections, entry_names, parse_at, parse_entries, parse_section
from midwatch.config.sentences import dotted, suggest
from midwatch.config.tarsy import set_aside_unchecked
from midwatch.config.yaml import read_document
from midwatch.domain.errors import Misconfigured
from midwatch.domain.safety import SafetyMode

_MIDWATCH = "midwatch.yaml"
_TARSY = "tarsy.yaml"
_PROVIDERS = "llm-providers.yaml"
_SECTIONS = ("mcp_servers", "agents", "agent_chains", "defaults", "queue", "safety")
_REMOTE_TRANSPORTS = ("http", "sse")


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What the operator decided. Every name in it leads somewhere."""

    mcp_servers: Mapping[str, McpServer]
    agents: Mapping[str, Agent]
    chains: Mapping[str, Chain]
    providers: Mapping[str, Provider]
    defaults: Defaults
    queue: Queue
    safety: Safety
    tarsy: bool
    """The folder is TARSy's: its main file is `tarsy.yaml`."""
    safety_mode_explicit: bool
    warnings: tuple[str, ...]
    folder: Path
    environ: Mapping[str, str] = field(repr=False)
    """The environment with the folder's `.env` beneath it; keys of providers are found here."""


def load_config(folder: Path, *, environ: Mapping[str, str]) -> Config:
    """Raises Misconfigured with all problems at once."""
    findings = Findings()
    tarsy = _is_tarsy(folder, findings)
    full_environ = with_dotenv(folder, environ, findings=findings)
    main, providers_file = (
        read_document(folder / name, full_environ, findings=findings, lenient=tarsy)
        for name in (_TARSY if tarsy else _MIDWATCH, _PROVIDERS)
    )
    if main is None or providers_file is None:
        findings.raise_problems()
        raise AssertionError("a document is only missing when a problem says why")
    return _assemble(
        Source(document=main, findings=findings, lenient=tarsy),
        Source(document=providers_file, findings=findings, lenient=tarsy),
        folder=folder,
        environ=full_environ,
    )


def _is_tarsy(folder: Path, findings: Findings) -> bool:
    ours, theirs = (folder / _MIDWATCH).exists(), (folder / _TARSY).exists()
    if not ours and not theirs:
        raise Misconfigured([f"{folder}: holds neither {_MIDWATCH} nor {_TARSY}"])
    if ours and theirs:
        findings.warn(Place(_TARSY), f"ignored, because {_MIDWATCH} stands beside it")
    return not ours


def _assemble(main: Source, providers_file: Source, *, folder: Path, environ: Mapping[str, str]) -> Config:
    check_sections(main, _SECTIONS)
    check_sections(providers_file, ("llm_providers",))
    if main.lenient:
        set_aside_unchecked(main)
    queue = _parse_queue(main)
    safety = parse_section(main, Safety, key="safety")
    parts = Parts(
        main=main,
        providers_file=providers_file,
        mcp_servers=_parse_servers(main),
        agents=parse_entries(main, Agent, section="agents"),
        chains=parse_entries(main, Chain, section="agent_chains"),
        providers=_parse_providers(providers_file, folder=folder),
        defaults=parse_section(main, Defaults, key="defaults"),
        environ=environ,
    )
    check_references(parts)
    main.findings.raise_problems()
    return _finish(parts, queue=queue, safety=safety, folder=folder)


def _parse_queue(main: Source) -> Queue:
    for key in ("orphan_detection_interval", "orphan_threshold"):
        if ("queue", key) in main.document.lines:
            main.warn(("queue", key), f"queue.{key}: has no effect; a lease of three heartbeats takes its place")
    return parse_section(main, Queue, key="queue")


def _parse_servers(main: Source) -> dict[str, McpServer]:
    servers: dict[str, McpServer] = {}
    for name in entry_names(main, "mcp_servers"):
        path = ("mcp_servers", name)
        written = main.entry(*path)
        match written:
            case {"transport": {"type": str(kind)}} if kind in _REMOTE_TRANSPORTS:
                where = (*path, "transport", "type")
                main.problem(where, f"{dotted(where)}: {kind} is not supported by this version; expected stdio")
            case _:
                server = parse_at(main, McpServer, path=path, value=written)
                servers |= {name: server} if server else {}
    return servers


def _parse_providers(
    source: Source, *, folder: Path
) -> dict[str, OpenAiProvider | ScriptedProvider | UnsupportedProvider]:
    parsed = {
        name: _parse_provider(source, name, folder=folder) for name in entry_names(source, section="llm_providers")
    }
    return {name: provider for name, provider in parsed.items() if provider}


def _parse_provider(
    source: Source, name: str, *, folder: Path
) -> OpenAiProvider | ScriptedProvider | UnsupportedProvider | None:
    path = ("llm_providers", name)
    match source.entry(*path):
        case {"type": str(kind), **_rest} as written if kind in PROVIDER_SHAPES:
            provider = parse_at(source, PROVIDER_SHAPES[kind], path=path, value=written)
        case {"type": kind, **_rest}:
            hint = suggest(str(kind), PROVIDER_SHAPES)
            source.problem((*path, "type"), f"{dotted(path)}.type: expected one of {', '.join(PROVIDER_SHAPES)}{hint}")
            return None
        case {**_rest}:
            source.problem(path, f"{dotted(path)}.type: is missing; expected one of {', '.join(PROVIDER_SHAPES)}")
            return None
        case _:
            source.problem(path, f"{dotted(path)}: expected keys with values")
            return None
    return (
        _find_script(source, provider, name=name, folder=folder) if isinstance(provider, ScriptedProvider) else provider
    )


def _find_script(source: Source, provider: ScriptedProvider, *, name: str, folder: Path) -> ScriptedProvider:
    script = folder / provider.script
    if not script.is_file():
        path = ("llm_providers", name, "script")
        source.problem(path, f"{dotted(path)}: there is no such file in the folder")
    return provider.model_copy(update={"script": script})


def _finish(parts: Parts, *, queue: Queue, safety: Safety, folder: Path) -> Config:
    tarsy, explicit = parts.main.lenient, "mode" in safety.model_fields_set
    if tarsy and not explicit:
        safety = safety.model_copy(update={"mode": SafetyMode.OBSERVE})
    return Config(
        mcp_servers=parts.mcp_servers,
        agents=parts.agents,
        chains=parts.chains,
        providers={
            name: entry for name, entry in parts.providers.items() if not isinstance(entry, UnsupportedProvider)
        },
        defaults=parts.defaults,
        queue=queue,
        safety=safety,
        tarsy=tarsy,
        safety_mode_explicit=explicit,
        warnings=parts.main.findings.warnings,
        folder=folder,
        environ=parts.environ,
    )
