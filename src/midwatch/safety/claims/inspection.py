"""The words of a reply against the record: claims of deeds nobody did are withheld, what nothing supports is marked.

`inspect` is all that others need. It is pure and knows no model; the tables of words are one module per language.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from midwatch.safety.claims.assertions import find_assertions
from midwatch.safety.claims.deeds import Deed
from midwatch.safety.claims.english import ENGLISH
from midwatch.safety.claims.evidence import MARKED, OURS, WITHHELD, Evidence
from midwatch.safety.claims.findings import Finding, FindingKind, Inspection
from midwatch.safety.claims.imitations import Imitation, find_imitations
from midwatch.safety.claims.ledger import Ledger
from midwatch.safety.claims.lexicon import Lexicon
from midwatch.safety.claims.names import find_names
from midwatch.safety.claims.paraphrases import Assertion
from midwatch.safety.claims.passages import Mood, Sentence, cut_sentences
from midwatch.safety.claims.reading import Reading, take_apart
from midwatch.safety.claims.states import find_unsupported
from midwatch.safety.claims.suppositions import Doubt, weigh_doubt

_LONGEST_QUOTE: Final = 200
_MARKUP: Final = re.compile(r"[*_`\[\]]|\s+")
_DONE_ENDINGS: Final = (
    "done",
    "complete",
    "completed",
    "success",
    "successful",
    "successfully",
    "succeeded",
    "ok",
    "okay",
)
_UNMADE: Final = "a tool call that is only written down does nothing"


def inspect(text: str, *, deeds: Sequence[Deed], evidence: Sequence[str], tools: Collection[str] = ()) -> Inspection:
    """`deeds` are all calls of the session so far, whoever made them; `evidence` all that was read: results, the alert,
    the runbook, earlier analyses. `tools` are the names of tools that were offered.
    """
    findings = tuple(_Inspector(deeds, evidence, ENGLISH).find(text, tools=tools))
    return Inspection(findings=findings, safe_text=_make_safe(text, findings))


class _Inspector:
    def __init__(self, deeds: Sequence[Deed], evidence: Sequence[str], lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._ledger = Ledger(deeds, lexicon)
        self._evidence = Evidence(evidence, lexicon)

    def find(self, text: str, *, tools: Collection[str]) -> Iterator[Finding]:
        imitations = [
            each for each in find_imitations(text, tools=tools) if not self._evidence.has(text[slice(*each)].lower())
        ]
        found = [_name_imitation(text, each) for each in imitations]
        for sentence in cut_sentences(_hide_ours(text), lexicon=self._lexicon):
            if imitations and any(each.start < sentence.end and sentence.start < each.end for each in imitations):
                continue
            finding = self._judge(sentence)
            if finding is not None and (finding.kind.is_phantom or not _is_marked(text, sentence.end)):
                found.append(finding)
        yield from sorted(found, key=lambda finding: finding.start)

    def _judge(self, sentence: Sentence) -> Finding | None:
        lexicon, words = self._lexicon, self._lexicon.cut(sentence.low)
        if not words:
            return None
        if lexicon.may_assert(words, is_marked=_may_be_marked(sentence), has_code="`" in sentence.low):
            false = self._find_false(sentence)
            if false is not None:
                return false
        may_state = lexicon.may_state(words)
        unsupported = find_unsupported(sentence, may_state=may_state, evidence=self._evidence, lexicon=lexicon)
        if unsupported is None:
            return None
        kind, what, target = unsupported
        return _name(sentence, kind, reason="nothing that was read says so", action=what, target=target)

    def _find_false(self, sentence: Sentence) -> Finding | None:
        if sentence.is_quoted and self._evidence.has(sentence.low):
            return None
        reading = take_apart(sentence, lexicon=self._lexicon)
        for assertion in find_assertions(reading):
            flaw = self._find_flaw(reading, assertion)
            if flaw is not None:
                target = _tell_target(assertion, sentence)
                return _name(sentence, FindingKind.ACTION, reason=flaw, action=assertion.action.lemma, target=target)
        return None

    def _find_flaw(self, reading: Reading, assertion: Assertion) -> str | None:
        if assertion.is_own and not assertion.about and assertion.action.lemma in self._lexicon.alone:
            return None
        names = find_names(assertion.about, lexicon=self._lexicon)
        figures = reading.find_figures(assertion.verb)
        flaw = self._ledger.find_flaw(assertion, names, figures=figures)
        if flaw is None or assertion.is_own:
            return flaw
        doubt = weigh_doubt(reading, assertion.verb, assertion.action)
        if doubt is Doubt.GREAT or (doubt is Doubt.SOME and assertion.action.is_common):
            return None
        return None if self._evidence.tells(assertion.action, names, figures=figures) else flaw


def _is_marked(text: str, end: int) -> bool:
    return text[end : end + 20].lstrip().startswith(MARKED)


def _may_be_marked(sentence: Sentence) -> bool:
    if sentence.is_ticked or sentence.mood is Mood.DONE:
        return True
    return not sentence.low.isascii() or sentence.low.rstrip(" .!*)_|").endswith(_DONE_ENDINGS)


def _hide_ours(text: str) -> str:
    """What was withheld before is not judged again; what was written beside it is."""
    if not any(mark in text for mark in (WITHHELD, *MARKED)):
        return text
    return OURS.sub(lambda match: " " * len(match.group()), text)


def _name(sentence: Sentence, kind: FindingKind, *, reason: str, action: str, target: str) -> Finding:
    return Finding(
        kind=kind,
        start=sentence.start,
        end=sentence.end,
        sentence=sentence.text,
        reason=reason,
        action=action,
        target=target,
    )


def _name_imitation(text: str, span: Imitation) -> Finding:
    return Finding(
        kind=FindingKind.IMITATION, start=span.start, end=span.end, sentence=text[slice(*span)], reason=_UNMADE
    )


def _tell_target(assertion: Assertion, sentence: Sentence) -> str:
    if not assertion.about:
        return ""
    first, last = assertion.about[0], assertion.about[-1]
    return sentence.text[min(first.start, last.start) : max(first.end, last.end)]


def _make_safe(text: str, findings: Sequence[Finding]) -> str:
    pieces: list[str] = []
    at = 0
    for finding in findings:
        pieces += [text[at : finding.start], _put_instead(finding)]
        at = finding.end
    return "".join([*pieces, text[at:]])


def _put_instead(finding: Finding) -> str:
    match finding.kind:
        case FindingKind.ACTION:
            said = _quote(finding.sentence)
            return f"{WITHHELD} the reply claimed “{said}” No such action is on record: {finding.reason}.]"
        case FindingKind.IMITATION:
            return f"{WITHHELD} a tool call was written here as text. It was not made.]"
        case FindingKind.STATE:
            return f"{finding.sentence} [Not confirmed by anything that was read.]"
        case FindingKind.MEASUREMENT:  # pragma: no branch - there is no other
            return f"{finding.sentence} [Not found in anything that was read: {finding.action}.]"


def _quote(sentence: str) -> str:
    plain = _MARKUP.sub(lambda match: " " if match.group().isspace() else "", sentence).strip()
    plain = plain.replace("“", "'").replace("”", "'")
    return plain if len(plain) <= _LONGEST_QUOTE else f"{plain[: _LONGEST_QUOTE - 1]}…"
