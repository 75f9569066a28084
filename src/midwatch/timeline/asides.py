"""What happened beside a model's answer, as entries of the timeline: what the provider ran or looked up itself, and
how it was asked again or replaced.
"""

from typing import Any, Protocol, assert_never

from midwatch.domain.timeline import TimelineType
from midwatch.llm.model import CodeChunk, GroundingChunk, NoticeChunk
from midwatch.store.journal import Batch
from midwatch.timeline.entries import add_entry

RETRY = "provider_retry"

Aside = CodeChunk | GroundingChunk | NoticeChunk


class Replacement(Protocol):
    """One provider gave way to another."""

    @property
    def from_provider(self) -> str: ...
    @property
    def from_model(self) -> str: ...
    @property
    def to_provider(self) -> str: ...
    @property
    def to_model(self) -> str: ...
    @property
    def to_backend(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def code(self) -> str: ...
    @property
    def attempt(self) -> int: ...


def add_aside(batch: Batch, aside: Aside) -> None:
    match aside:
        case CodeChunk():
            text = f"```{aside.language}\n{aside.code}\n```\n\n{aside.output}".rstrip()
            _add(batch, TimelineType.CODE_EXECUTION, text, {"language": aside.language, "is_error": aside.is_error})
        case GroundingChunk(queries=()):
            _add(batch, TimelineType.URL_CONTEXT_RESULT, _list_sources(aside), _describe_grounding(aside))
        case GroundingChunk():
            _add(batch, TimelineType.GOOGLE_SEARCH_RESULT, _list_findings(aside), _describe_grounding(aside))
        case NoticeChunk() if aside.code == RETRY:
            _add(batch, TimelineType.PROVIDER_RETRY, aside.message, {"code": aside.code})
        case NoticeChunk():
            pass  # about the request, not about what happened; the session carries it as a warning
        case _ as never:
            assert_never(never)


def add_fallback(batch: Batch, replacement: Replacement) -> None:
    text = f"{replacement.from_provider} gave way to {replacement.to_provider}: {replacement.reason}"
    metadata = {
        "original_provider": replacement.from_provider,
        "original_model": replacement.from_model,
        "fallback_provider": replacement.to_provider,
        "fallback_model": replacement.to_model,
        "reason": replacement.reason,
        "error_code": replacement.code,
        "attempt": replacement.attempt,
    }
    _add(batch, TimelineType.PROVIDER_FALLBACK, text, metadata)


def _add(batch: Batch, kind: TimelineType, text: str, metadata: dict[str, Any]) -> None:
    add_entry(batch, kind, batch.add_text(text), metadata=metadata)


def _list_findings(grounding: GroundingChunk) -> str:
    searched = "Searched for: " + "; ".join(grounding.queries)
    return "\n".join(part for part in (searched, _list_sources(grounding)) if part)


def _list_sources(grounding: GroundingChunk) -> str:
    return "\n".join(
        f"- {source.title} {source.uri}" if source.title else f"- {source.uri}" for source in grounding.sources
    )


def _describe_grounding(grounding: GroundingChunk) -> dict[str, Any]:
    return {
        "queries": list(grounding.queries),
        "sources": [{"uri": source.uri, "title": source.title} for source in grounding.sources],
        "supports": [
            {"text": support.text, "grounding_chunk_indices": list(support.sources)} for support in grounding.supports
        ],
    }
