"""What a TARSy folder gets away with: values TARSy itself never looks at are set aside with a warning."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from midwatch.config.chains import Chain, Stage
from midwatch.config.defaults import Defaults
from midwatch.config.llm import OpenAiProvider
from midwatch.config.sections import Source
from midwatch.config.sentences import dotted, explain
from midwatch.config.system import Holiday, Runbooks
from midwatch.config.yaml import KeyPath
from midwatch.masking.mask import check_pattern

_TEXTS_THAT_MAY_BE_EMPTY = frozenset({"env", "custom_headers"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The names that exist, written or built in."""

    servers: Collection[str]
    providers: Collection[str]


def set_aside_unchecked(source: Source, *, known: Known) -> None:
    data = source.document.data
    _drop_empty(data)
    _set_aside_defaults(source, known)
    for path, chain in _mappings(data.get("agent_chains"), ("agent_chains",)):
        _set_aside_in_chain(source, chain, path=path, known=known)
    for path, server in _mappings(data.get("mcp_servers"), ("mcp_servers",)):
        _drop_bad_patterns(source, server, path=(*path, "data_masking", "custom_patterns"))
    for path, system in _mappings({"system": data.get("system")}, ()):
        _set_aside_in_system(source, system, path=path)


def set_aside_unread(providers_file: Source) -> None:
    """TARSy hands `base_url` on to a service that never reads it."""
    _drop_empty(providers_file.document.data)
    for path, provider in _mappings(providers_file.document.data.get("llm_providers"), ("llm_providers",)):
        _drop_invalid(providers_file, provider, path=(*path, "base_url"), shape=OpenAiProvider)


def _set_aside_defaults(source: Source, known: Known) -> None:
    for path, defaults in _mappings({"defaults": source.document.data.get("defaults")}, ()):
        for key in ("llm_backend", "success_policy"):
            _drop_invalid(source, defaults, path=(*path, key), shape=Defaults)
        _drop_unknown_provider(source, defaults, path=(*path, "llm_provider"), known=known)


def _set_aside_in_chain(source: Source, chain: dict[str, Any], *, path: KeyPath, known: Known) -> None:
    _drop_invalid(source, chain, path=(*path, "llm_backend"), shape=Chain)
    _drop_unknown_provider(source, chain, path=(*path, "executive_summary_provider"), known=known)
    for stage_path, stage in _mappings(chain.get("stages"), (*path, "stages")):
        _drop_invalid(source, stage, path=(*stage_path, "success_policy"), shape=Stage)
        _drop_unknown_servers(source, stage, path=(*stage_path, "mcp_servers"), known=known)


def _set_aside_in_system(source: Source, system: dict[str, Any], *, path: KeyPath) -> None:
    for inner, runbooks in _mappings({"runbooks": system.get("runbooks")}, path):
        _drop_invalid(source, runbooks, path=(*inner, "cache_ttl"), shape=Runbooks)
    for inner, holiday in list(_mappings(system.get("holidays"), (*path, "holidays"))):
        for key in ("date", "name"):
            _drop_invalid(source, holiday, path=(*inner, key), shape=Holiday)
        if "date" not in holiday or "name" not in holiday:
            source.warn(inner, f"{dotted(inner)}: needs a date and a name (ignored)")
            system["holidays"] = [other for other in system["holidays"] if other is not holiday]


def _drop_empty(holder: dict[str, Any]) -> None:
    """TARSy takes an empty text for none given, and an empty list of servers likewise; for us it gives no servers."""
    for key, value in list(holder.items()):
        if value == "" or (key == "mcp_servers" and value == []):
            del holder[key]
        elif key not in _TEXTS_THAT_MAY_BE_EMPTY:
            for _, inner in _mappings({key: value}, ()):
                _drop_empty(inner)
            for _, inner in _mappings(value, ()) if isinstance(value, list) else ():
                _drop_empty(inner)


def _drop_invalid(source: Source, holder: dict[str, Any], *, path: KeyPath, shape: type[BaseModel]) -> None:
    key = str(path[-1])
    if key not in holder:
        return
    try:
        shape.model_validate({key: holder[key]})
    except ValidationError as error:
        for each in error.errors(include_url=False):
            if each["loc"][0] == key:
                source.warn(path, f"{dotted(path)}: {explain(each)} (ignored)")
                holder.pop(key, None)


def _drop_unknown_provider(source: Source, holder: dict[str, Any], *, path: KeyPath, known: Known) -> None:
    name = holder.get(str(path[-1]))
    if isinstance(name, str) and name not in known.providers:
        source.warn(path, f'{dotted(path)}: there is no LLM provider "{name}" (ignored)')
        del holder[str(path[-1])]


def _drop_unknown_servers(source: Source, stage: dict[str, Any], *, path: KeyPath, known: Known) -> None:
    written = stage.get("mcp_servers")
    if not isinstance(written, list):
        return
    for index, server in enumerate(cast("list[Any]", written)):
        if isinstance(server, str) and server not in known.servers:
            source.warn((*path, index), f'{dotted((*path, index))}: there is no MCP server "{server}" (ignored)')
    stage["mcp_servers"] = [
        server for server in cast("list[Any]", written) if not isinstance(server, str) or server in known.servers
    ]


def _drop_bad_patterns(source: Source, server: dict[str, Any], *, path: KeyPath) -> None:
    masking = server.get("data_masking")
    if not isinstance(masking, dict):
        return
    holder = cast("dict[str, Any]", masking)
    for pattern_path, custom in list(_mappings(holder.get("custom_patterns"), path)):
        written = custom.get("pattern")
        if isinstance(written, str) and check_pattern(written) is not None:
            source.warn(pattern_path, f"{dotted(pattern_path)}: not a pattern RE2 can match (ignored)")
            holder["custom_patterns"] = [other for other in holder["custom_patterns"] if other is not custom]


def _mappings(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, dict[str, Any]]]:
    """The mappings directly inside a mapping or a list, with their paths."""
    match value:
        case dict():
            inner: list[tuple[str | int, Any]] = list(cast("dict[str, Any]", value).items())
        case list():
            inner = list(enumerate(cast("list[Any]", value)))
        case _:
            return
    for key, item in inner:
        if isinstance(item, dict):
            yield (*path, key), cast("dict[str, Any]", item)
