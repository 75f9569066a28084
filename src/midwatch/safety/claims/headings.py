"""What a heading, a label or a column's head says of what stands under it."""

from functools import lru_cache
from typing import Final

from midwatch.safety.claims.lexicon import STEM, Lexicon
from midwatch.safety.claims.sentences import Mood

_LONGEST_KNOWN: Final = 80


def judge_head(low: str, lexicon: Lexicon) -> Mood:
    return _judge_again(low, lexicon) if len(low) <= _LONGEST_KNOWN else _judge(low, lexicon)


def _judge(low: str, lexicon: Lexicon) -> Mood:
    words = lexicon.cut(low)
    if lexicon.head_stems.isdisjoint([word[:STEM] for word in words]):
        return Mood.PLAIN
    if lexicon.advice_heads.search(low):
        return Mood.ADVICE
    if lexicon.done_heads.search(low):
        return Mood.DONE if lexicon.negations.isdisjoint(words) else Mood.ADVICE
    if lexicon.plan_heads.search(low):
        return Mood.ADVICE
    return Mood.REPORT if lexicon.report_heads.search(low) else Mood.PLAIN


_judge_again = lru_cache(maxsize=1024)(_judge)
"""Most headings are written again and again."""
