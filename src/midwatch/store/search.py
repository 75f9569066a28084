"""Finding sessions by their words: what a document holds, how a search is asked, and which documents are missing.

Texts and searches are cut into words by the same function here, so that the database's locale has no say in it.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from uuid import UUID

from midwatch.store.driver import Row, Tx

SHORTEST_WORD = 3
_LONGEST_WORD = 64
_TOKEN = re.compile(r"[^\W_]+(?:\.[^\W_]+)*")

_HEADLINE_CHARACTERS = 50_000
_CONTENT_CHARACTERS = 150_000
# A tsvector may have a megabyte, and folding case can make a text longer than it was.
_MOST_BYTES = 600_000

_INDEXERS_LOCK = 0x6D77_0001


def gather_words(texts: Iterable[str]) -> list[str]:
    """The words of the texts, in order, each once; a dotted name counts whole and in its parts."""
    words: dict[str, None] = {}
    room = _MOST_BYTES
    for word in (word for text in texts for token in _tokens(text) for word in _split(token)):
        if len(word) < SHORTEST_WORD or word in words:
            continue
        room -= len(word.encode())
        if room < 0:
            break
        words[word] = None
    return list(words)


def write_query(search: str) -> str | None:
    """A search as a tsquery: all words must be there, the last may be the beginning of one. None without words."""
    words = [word for token in _tokens(search) for word in _sought(token)]
    if not words:
        return None
    # Words hold letters, digits and dots, never a quote.
    return " & ".join(f"'{word}'" for word in dict.fromkeys(words)) + ":*"


def _tokens(text: str) -> Iterator[str]:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return (match[0] for match in _TOKEN.finditer(folded))


def _split(token: str) -> Iterator[str]:
    yield token[:_LONGEST_WORD]
    if "." in token:
        yield from (part[:_LONGEST_WORD] for part in token.split("."))


def _sought(token: str) -> list[str]:
    """Parts find more than the whole; of an address such as 10.0.0.1 only the whole says anything."""
    parts = [part[:_LONGEST_WORD] for part in token.split(".") if len(part) >= SHORTEST_WORD]
    return parts or ([token[:_LONGEST_WORD]] if len(token) >= SHORTEST_WORD else [])


async def index_documents(tx: Tx, *, limit: int) -> int:
    """Writes documents that are missing or old, and says how many marks that took. Nothing while another does it.

    Run in a transaction: the lock, and the marks if it fails, are given back with it. One at a time, so that a document
    that was read earlier is never written later.
    """
    if not await tx.fetchval("SELECT pg_try_advisory_xact_lock($1)", _INDEXERS_LOCK):
        return 0
    marks = await tx.fetch(
        """
        DELETE FROM unindexed_sessions
        WHERE mark_id IN (SELECT mark_id FROM unindexed_sessions ORDER BY mark_id LIMIT $1)
        RETURNING session_id
        """,
        limit,
    )
    for session_id in dict.fromkeys(mark["session_id"] for mark in marks):
        await _write_document(tx, session_id)
    return len(marks)


async def _write_document(tx: Tx, session_id: UUID) -> None:
    session = await tx.fetchrow(
        """
        SELECT left(s.alert_data, $2) AS alert_data, s.alert_type, s.author, left(s.error_message, $2) AS error_message,
               left(f.content, $2) AS final_analysis, left(x.content, $2) AS executive_summary
        FROM alert_sessions s
        LEFT JOIN texts f ON f.session_id = s.session_id AND f.text_id = s.final_analysis_text_id
        LEFT JOIN texts x ON x.session_id = s.session_id AND x.text_id = s.executive_summary_text_id
        WHERE s.session_id = $1
        """,
        session_id,
        _HEADLINE_CHARACTERS,
    )
    if session is None:
        return
    headline = [text for text in session if text]
    content = [row["content"] for row in await _read_texts(tx, session_id)]
    await tx.execute(
        """
        INSERT INTO session_documents (session_id, headline, content)
        VALUES ($1, array_to_tsvector($2::text[]), array_to_tsvector($3::text[]))
        ON CONFLICT (session_id) DO UPDATE SET headline = excluded.headline, content = excluded.content
        """,
        session_id,
        gather_words(headline),
        gather_words([*headline, *content]),
    )


async def _read_texts(tx: Tx, session_id: UUID) -> Sequence[Row]:
    """What the timeline shows, up to so many characters in all: the rest of a very long one is not found."""
    return await tx.fetch(
        """
        SELECT left(content, $2) AS content
        FROM (
            SELECT x.content, t.sequence_number,
                   sum(length(x.content)) OVER (ORDER BY t.sequence_number) - length(x.content) AS before
            FROM timeline_events t JOIN texts x ON x.session_id = t.session_id AND x.text_id = t.text_id
            WHERE t.session_id = $1
        ) shown
        WHERE before < $2
        ORDER BY sequence_number
        """,
        session_id,
        _CONTENT_CHARACTERS,
    )
