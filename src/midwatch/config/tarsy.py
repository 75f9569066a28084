"""What a TARSy folder gets away with: values TARSy itself never looks at are set aside with a warning."""

from collections.abc import Iterator
from typing import Any, cast, get_args

from midwatch.config.agents import LlmBackend
from midwatch.config.sections import Source
from midwatch.config.sentences import dotted
from midwatch.config.yaml import KeyPath
from midwatch.domain.session import SuccessPolicy
from midwatch.masking.mask import check_pattern


def set_aside_unchecked(source: Source) -> None:
    for path, chain in _mappings(source.document.data.get("agent_chains"), ("agent_chains",)):
        _drop_bad_choice(source, chain, path=(*path, "llm_backend"), allowed=get_args(LlmBackend))
        _drop_empty_servers(chain)
        for stage_path, stage in _mappings(chain.get("stages"), (*path, "stages")):
            _drop_bad_choice(source, stage, path=(*stage_path, "success_policy"), allowed=tuple(SuccessPolicy))
            _drop_empty_servers(stage)
            _drop_unknown_servers(source, stage, path=(*stage_path, "mcp_servers"))
            for _, agent in _mappings(stage.get("agents"), (*stage_path, "agents")):
                _drop_empty_servers(agent)
    for path, server in _mappings(source.document.data.get("mcp_servers"), ("mcp_servers",)):
        _drop_bad_patterns(source, server, path=(*path, "data_masking", "custom_patterns"))


def _drop_bad_choice(source: Source, holder: dict[str, Any], *, path: KeyPath, allowed: tuple[str, ...]) -> None:
    key = str(path[-1])
    if key in holder and holder[key] not in allowed:
        source.warn(path, f"{dotted(path)}: expected {' or '.join(allowed)} (ignored)")
        del holder[key]


def _drop_empty_servers(holder: dict[str, Any]) -> None:
    """TARSy takes an empty list for none given; for us it gives no servers."""
    if holder.get("mcp_servers") == []:
        del holder["mcp_servers"]


def _drop_unknown_servers(source: Source, stage: dict[str, Any], *, path: KeyPath) -> None:
    known = source.names("mcp_servers")
    written = stage.get("mcp_servers")
    if not isinstance(written, list):
        return
    for index, server in enumerate(cast("list[Any]", written)):
        if isinstance(server, str) and server not in known:
            source.warn((*path, index), f'{dotted((*path, index))}: there is no MCP server "{server}" (ignored)')
    stage["mcp_servers"] = [server for server in cast("list[Any]", written) if server in known]


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
