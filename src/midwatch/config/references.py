"""Every name one part of the configuration uses for another must lead somewhere."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

from pydantic import BaseModel

from midwatch.config.agents import Agent, FallbackProvider, SubAgent
from midwatch.config.chains import Chain, StageAgent
from midwatch.config.defaults import Defaults
from midwatch.config.llm import SERVED_ELSEWHERE, LlmService, Provider, required_variables
from midwatch.config.mcp import McpServer
from midwatch.config.sections import Source
from midwatch.config.sentences import dotted, suggest
from midwatch.config.system import System
from midwatch.config.yaml import KeyPath

_AGENT, _SERVER, _PROVIDER, _SKILL = "agent", "MCP server", "LLM provider", "skill"
_BY_KEY = {
    "agent": _AGENT,
    "mcp_servers": _SERVER,
    "llm_provider": _PROVIDER,
    "executive_summary_provider": _PROVIDER,
    "skills": _SKILL,
    "required_skills": _SKILL,
}
_BY_SHAPE: dict[tuple[type[BaseModel], str], str] = {
    (StageAgent, "name"): _AGENT,
    (SubAgent, "name"): _AGENT,
    (FallbackProvider, "provider"): _PROVIDER,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """All that may be referred to, sound or not: what was written, and what is built in."""

    agents: frozenset[str]
    servers: frozenset[str]
    providers: frozenset[str]
    skills: frozenset[str]

    def of(self, what: str) -> frozenset[str]:
        return {_AGENT: self.agents, _SERVER: self.servers, _PROVIDER: self.providers, _SKILL: self.skills}[what]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The sound entries of both files, before anybody has asked whether they fit together."""

    main: Source
    providers_file: Source
    mcp_servers: Mapping[str, McpServer]
    agents: Mapping[str, Agent]
    chains: Mapping[str, Chain]
    providers: Mapping[str, Provider]
    defaults: Defaults
    system: System
    llm: LlmService
    built_in_agents: Mapping[str, Agent]
    built_in_chains: Mapping[str, Chain]
    """Only those that can be used beside what was written."""
    built_in_providers: Mapping[str, Provider]
    names: Names
    environ: Mapping[str, str]


class Reference(NamedTuple):
    path: KeyPath
    what: str
    name: str


def check_references(parts: Parts) -> None:
    used: dict[str, KeyPath] = {}
    for path, what, name in _references(parts):
        if not check_name(parts.main, name, path=path, what=what, known=parts.names.of(what)):
            continue
        if what == _PROVIDER:
            used.setdefault(name, path)
    for name, path in used.items():
        _check_credentials(parts, name, used_by=path)


def check_name(source: Source, name: str, *, path: KeyPath, what: str, known: Iterable[str]) -> bool:
    if name in known:
        return True
    source.problem(path, f'{dotted(path)}: there is no {what} "{name}"{suggest(name, known)}')
    return False


def walk_blocks(block: BaseModel, path: KeyPath) -> Iterator[tuple[KeyPath, BaseModel]]:
    """The block and all blocks inside it, with their paths."""
    yield path, block
    for key in type(block).model_fields:
        for inner, item in _items(getattr(block, key), (*path, key)):
            if isinstance(item, BaseModel):
                yield from walk_blocks(item, inner)


def _references(parts: Parts) -> Iterator[Reference]:
    yield from _references_in(parts.defaults, ("defaults",))
    for section, entries in (
        ("mcp_servers", parts.mcp_servers),
        ("agents", parts.agents),
        ("agent_chains", parts.chains),
    ):
        for name, entry in entries.items():
            yield from _references_in(entry, (section, name))


def _references_in(entry: BaseModel, path: KeyPath) -> Iterator[Reference]:
    for block_path, block in walk_blocks(entry, path):
        for key in type(block).model_fields:
            what = _BY_KEY.get(key) or _BY_SHAPE.get((type(block), key))
            if what is not None:
                items = _items(getattr(block, key), (*block_path, key))
                yield from (Reference(inner, what, name) for inner, name in items)


def _items(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    match value:
        case None:
            return
        case tuple():
            yield from (((*path, index), item) for index, item in enumerate(cast("tuple[Any, ...]", value)))
        case _:
            yield path, value


def _check_credentials(parts: Parts, name: str, *, used_by: KeyPath) -> None:
    written = name in parts.providers_file.names("llm_providers")
    provider = (parts.providers if written else parts.built_in_providers).get(name)
    if provider is None or (parts.llm.service_addr is not None and provider.type in SERVED_ELSEWHERE):
        return
    for key, variable in required_variables(provider):
        value = parts.environ.get(variable)
        if value and (key != "credentials_env" or _is_key(value)):
            continue
        wrong = "does not name a file that can be read" if value else "is not set"
        if written:
            path = ("llm_providers", name)
            told = f"{dotted(path)}: variable {variable} {wrong} (used by {dotted(used_by)})"
            parts.providers_file.problem((*path, key), told)
        else:
            told = f"{dotted(used_by)}: {name} is built in and needs the variable {variable}, which {wrong}"
            parts.main.problem(used_by, told)


def _is_key(value: str) -> bool:
    """A key itself, or the path of one. The value is never shown: it may be a secret in the wrong place."""
    return value.lstrip().startswith("{") or (Path(value).is_file() and os.access(value, os.R_OK))
