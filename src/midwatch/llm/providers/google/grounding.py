"""What Gemini looked up on its own side, gathered from the events of one answer."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from midwatch.llm.loose_json import read_fields, read_items, read_text
from midwatch.llm.model import GroundingChunk, Source, Support

_READ = "URL_RETRIEVAL_STATUS_SUCCESS"
_KINDS_OF_SOURCE = ("web", "maps", "retrievedContext")


class Lookups:
    """Events repeat, continue or leave out what earlier ones said; each query, source and support is given once."""

    def __init__(self) -> None:
        self._queries: dict[str, None] = {}
        self._sources: dict[Source, int] = {}
        self._supports: dict[Support, None] = {}
        self._pages: dict[Source, None] = {}

    def add(self, candidate: Mapping[str, Any]) -> None:
        grounding = read_fields(candidate.get("groundingMetadata"))
        for query in _texts(grounding.get("webSearchQueries")):
            self._queries[query] = None
        own = [_read_source(entry) for entry in read_items(grounding.get("groundingChunks"))]
        for source in own:
            self._sources.setdefault(source, len(self._sources))
        named = own or list(self._sources)
        for entry in read_items(grounding.get("groundingSupports")):
            self._supports[self._read_support(entry, named)] = None
        for entry in read_items(read_fields(candidate.get("urlContextMetadata")).get("urlMetadata")):
            uri = read_text(entry.get("retrievedUrl"))
            if uri and entry.get("urlRetrievalStatus", _READ) == _READ:
                self._pages[Source(uri=uri)] = None

    def finish(self) -> Iterator[GroundingChunk]:
        sources, supports = tuple(self._sources), tuple(self._supports)
        if self._queries:
            yield GroundingChunk(queries=tuple(self._queries), sources=sources, supports=supports)
            sources, supports = (), ()
        known = {source.uri for source in sources}
        pages = (*sources, *(page for page in self._pages if page.uri not in known))
        if pages:
            yield GroundingChunk(sources=pages, supports=supports)

    def _read_support(self, entry: Mapping[str, Any], named: list[Source]) -> Support:
        """The places are counted in the event's own list; here they are counted in all sources together."""
        places = (self._sources[named[index]] for index in _indices(entry) if 0 <= index < len(named))
        text = read_text(read_fields(entry.get("segment")).get("text"))
        return Support(text=text, sources=tuple(places))


def _read_source(entry: Mapping[str, Any]) -> Source:
    found = read_fields(next((entry[kind] for kind in _KINDS_OF_SOURCE if kind in entry), None))
    return Source(uri=read_text(found.get("uri")), title=read_text(found.get("title")))


def _indices(entry: Mapping[str, Any]) -> list[int]:
    value = entry.get("groundingChunkIndices")
    return [index for index in cast("list[Any]", value) if isinstance(index, int)] if isinstance(value, list) else []


def _texts(value: Any) -> list[str]:
    return [text for text in cast("list[Any]", value) if isinstance(text, str)] if isinstance(value, list) else []
