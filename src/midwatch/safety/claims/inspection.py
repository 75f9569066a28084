"""The words of a reply against the record: claims of deeds nobody did are withheld, what nothing supports is marked.

`inspect` is all that others need. It is pure and knows no model; the tables of words are one module per language.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from midwatch.safety.claims.assertions import find_assertions, is_question
from midwatch.safety.claims.circumstances import find_figures, find_goals, find_scopes
from midwatch.safety.claims.deeds import Deed
from midwatch.safety.claims.english import ENGLISH
from midwatch.safety.claims.evidence import MARKED, OURS, WITHHELD, Evidence
from midwatch.safety.claims.findings import Finding, FindingKind, Inspection
from midwatch.safety.claims.hints import COMMANDS, JOINS, NAMES, PARTNERS, TELLS
from midwatch.safety.claims.imitations import Imitation, find_imitations
from midwatch.safety.claims.ledger import Claim, Ledger
from midwatch.safety.claims.lexicon import Lexicon
from midwatch.safety.claims.names import Names, find_names, find_proper_names, is_particular
from midwatch.safety.claims.paraphrases import Assertion
from midwatch.safety.claims.passages import cut_sentences
from midwatch.safety.claims.reading import Reading, take_apart
from midwatch.safety.claims.sentences import Mood, Sentence
from midwatch.safety.claims.states import find_unsupported
from midwatch.safety.claims.suppositions import Doubt, weigh_doubt
from midwatch.safety.claims.words import cut_words

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
        sentences = cut_sentences(_hide_ours(text), lexicon=self._lexicon)
        for sentence in _leave_out(sentences, imitations) if imitations else sentences:
            finding = self._judge(sentence)
            if finding is not None and (finding.kind.is_phantom or not _is_marked(text, sentence.end)):
                found.append(finding)
        yield from sorted(found, key=lambda finding: finding.start)

    def _judge(self, sentence: Sentence) -> Finding | None:
        hints = self._lexicon.hint(sentence.low)
        if not hints:
            return None
        if _may_assert(sentence, hints) or (hints & JOINS and self._lexicon.has_joined(sentence.low)):
            false = self._find_false(sentence, hints)
            if false is not None:
                return false
        unsupported = find_unsupported(sentence, hints=hints, evidence=self._evidence, lexicon=self._lexicon)
        if unsupported is None:
            return None
        kind, what, target = unsupported
        return _name(sentence, kind, reason="nothing that was read says so", action=what, target=target)

    def _find_false(self, sentence: Sentence, hints: int) -> Finding | None:
        if is_question(sentence):
            return None
        if sentence.is_quoted and self._evidence.has(sentence.low):
            return None
        reading = take_apart(sentence, hints=hints, lexicon=self._lexicon)
        for assertion in find_assertions(reading):
            flaw = self._find_flaw(reading, assertion)
            if flaw is not None:
                action, target = assertion.action.lemma, reading.quote(assertion.about)
                return _name(sentence, FindingKind.ACTION, reason=flaw, action=action, target=target)
        return None

    def _find_flaw(self, reading: Reading, assertion: Assertion) -> str | None:
        if assertion.is_own and not assertion.about and assertion.action.lemma in self._lexicon.alone:
            return None
        claim = self._read_claim(reading, assertion)
        flaw = self._ledger.find_flaw(claim)
        if flaw is None or assertion.is_own:
            return flaw
        doubt = weigh_doubt(reading, assertion.verb, assertion.action)
        if doubt is Doubt.GREAT or (doubt is Doubt.SOME and assertion.action.is_common):
            return None
        return None if self._evidence.tells(claim.action, claim.names, figures=claim.figures) else flaw

    def _read_claim(self, reading: Reading, assertion: Assertion) -> Claim:
        return Claim(
            action=assertion.action,
            names=self._find_names(reading, assertion),
            places=find_names(reading.pick(assertion.places), lexicon=self._lexicon),
            scopes=tuple(find_scopes(reading, assertion.places)),
            goals=find_goals(reading, assertion.verb),
            figures=find_figures(reading, assertion.verb),
        )

    def _find_names(self, reading: Reading, assertion: Assertion) -> Names:
        lexicon, about, beside = self._lexicon, assertion.about, reading.sentence.beside
        if not about and beside:
            return find_proper_names(cut_words(beside, lexicon=lexicon), lexicon=lexicon)
        names = find_names(reading.pick(about), lexicon=lexicon)
        head = reading.words[about[-1]] if about else None
        if head is None or names.groups or not reading.is_proper(about[-1]) or not is_particular(head.low, lexicon):
            return names
        return replace(names, groups=(frozenset({head.low}),))


def _is_marked(text: str, end: int) -> bool:
    return text[end : end + 20].lstrip().startswith(MARKED)


def _may_assert(sentence: Sentence, hints: int) -> bool:
    """False for most sentences, at little cost."""
    if hints & TELLS:
        return True
    if hints & NAMES and (hints & PARTNERS or _may_be_marked(sentence)):
        return True
    return "`" in sentence.low and (hints & COMMANDS > 0 or _may_be_marked(sentence))


def _may_be_marked(sentence: Sentence) -> bool:
    if sentence.is_ticked or sentence.mood is Mood.DONE:
        return True
    return not sentence.low.isascii() or sentence.low.rstrip(" .!*)_|").endswith(_DONE_ENDINGS)


def _leave_out(sentences: Iterable[Sentence], spans: Sequence[Imitation]) -> Iterator[Sentence]:
    """What stands beside the spans is read by itself."""
    for sentence in sentences:
        at = sentence.start
        for span in spans:
            if span.start < sentence.end and sentence.start < span.end:
                yield from sentence.cut(at, span.start)
                at = span.end
        yield from sentence.cut(at, sentence.end)


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
