"""What lets most sentences be passed over: it may never pass over one in which something is to be found."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from midwatch.safety.claims import hints
from midwatch.safety.claims.english import ENGLISH
from midwatch.safety.claims.inspection import inspect
from midwatch.safety.claims.lexicon import STEM
from midwatch.safety.claims.memory import LONGEST, Memory
from midwatch.safety.claims.words import Kind, cut_words, find_spans, fold
from tests.safety.claims.labelled_claims import LABELLED

SENTENCES = sorted({fold(row.text) for row in LABELLED})
PIECES = st.one_of(
    st.sampled_from(SENTENCES),
    st.sampled_from([": ", " — ", "didn't ", "cannot ", "no ", "if ", "re-", "_", "1", "’", "✅ ", "(done) "]),
    st.text(max_size=6),
)
TEXTS = st.lists(PIECES, max_size=6).map("".join)

HINTED = {
    hints.FAILS: ENGLISH.failures,
    hints.DOUBTS: ENGLISH.unstated,
    hints.PRESUMES: ENGLISH.presumptions,
    hints.ENDS: ENGLISH.done_marks,
}


def check(hint: int, pattern: re.Pattern[str], low: str) -> None:
    if pattern.search(low):
        assert ENGLISH.hint(low) & hint, low


@pytest.mark.parametrize("hint", HINTED)
def test_no_labelled_sentence_is_passed_over_by_a_pattern(hint: int) -> None:
    found = [low for low in SENTENCES if HINTED[hint].search(low)]
    assert found
    for low in found:
        check(hint, HINTED[hint], low)


@settings(deadline=None, max_examples=100)
@given(TEXTS)
def test_no_text_is_passed_over_by_a_pattern(text: str) -> None:
    low = fold(text)
    for hint, pattern in HINTED.items():
        check(hint, pattern, low)


def test_no_heading_is_passed_over() -> None:
    patterns = (ENGLISH.advice_heads, ENGLISH.done_heads, ENGLISH.plan_heads, ENGLISH.report_heads)
    heads = [low for low in SENTENCES if any(pattern.search(low) for pattern in patterns)]
    assert len(heads) > 100
    assert [low for low in heads if ENGLISH.head_stems.isdisjoint(word[:STEM] for word in ENGLISH.cut(low))] == []


@settings(deadline=None, max_examples=50)
@given(TEXTS)
def test_words_stand_where_they_are_said_to(text: str) -> None:
    low = fold(text)
    words, spans = cut_words(low, lexicon=ENGLISH), list(find_spans(low, lexicon=ENGLISH))
    assert len(words) == len(spans)
    for word, (start, end) in zip(words, spans, strict=True):
        is_plain = word.kind is not Kind.WORD
        assert low[start:end] == word.low if is_plain else end > start
    assert spans == sorted(spans)


def test_many_strange_words_are_forgotten_and_the_known_ones_are_still_read() -> None:
    strange = " ".join(f"w{chr(97 + number % 26)}{number:x}z".translate({48: "q", 49: "j"}) for number in range(20_000))
    inspect(strange, deeds=(), evidence=())
    assert inspect("I restarted nginx.", deeds=(), evidence=()).has_phantom
    assert not inspect("I checked nginx.", deeds=(), evidence=()).has_phantom


def test_a_full_memory_begins_anew() -> None:
    asked: list[str] = []

    def measure(word: str) -> int:
        asked.append(word)
        return len(word)

    memory = Memory(measure, most=2)
    assert [memory[word] for word in ("a", "bb", "a", "ccc", "a")] == [1, 2, 1, 3, 1]
    assert asked == ["a", "bb", "ccc", "a"]
    assert dict(memory) == {"ccc": 3, "a": 1}


def test_a_very_long_word_is_not_kept() -> None:
    memory = Memory(len, most=2)
    assert memory["x" * (LONGEST + 1)] == LONGEST + 1
    assert not memory


@pytest.mark.parametrize(
    "text", ["I re-ran the job.", "I cherry-picked the fix and re-started it.", "I black-holed it."]
)
def test_a_hyphen_hides_no_verb(text: str) -> None:
    assert inspect(text, deeds=(), evidence=()).has_phantom
