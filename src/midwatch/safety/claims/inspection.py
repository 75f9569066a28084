"""The words of a reply against the record: claims of deeds nobody did are withheld, what nothing supports is marked.

`inspect` is all that others need. It is pure and knows no model; the tables of words are one module per language.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from midwatch.safety.claims.assertions import Assertion, find_assertions
from midwatch.safety.claims.deeds import Deed
from midwatch.safety.claims.english import ENGLISH
from midwatch.safety.claims.evidence import Evidence
from midwatch.safety.claims.findings import Finding, FindingKind, Inspection
from midwatch.safety.claims.imitations import Imitation, find_imitations
from midwatch.safety.claims.ledger import Ledger
from midwatch.safety.claims.lexicon import Lexicon
from midwatch.safety.claims.names import find_names
from midwatch.safety.claims.passages import WITHHELD, Sentence, cut_sentences
from midwatch.safety.claims.states import find_unsupported
from midwatch.safety.claims.suppositions import Doubt

_LONGEST_QUOTE: Final = 200
_MARKUP: Final = re.compile(r"[*_`\[\]]|\s+")
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
        imitations = [each for each in find_imitations(text, tools=tools) if not self._evidence.has(text[slice(*each)].lower())]
        found = [_name_imitation(text, each) for each in imitations]
        for sentence in cut_sentences(text, lexicon=self._lexicon):
            if any(each.start < sentence.end and sentence.start < each.end for each in imitations):
                continue
            if not text.startswith(WITHHELD, sentence.start):
                found += self._judge(sentence, text)
        yield from sorted(found, key=lambda finding: finding.start)

    def _judge(self, sentence: Sentence, text: str) -> Iterator[Finding]:
        false = self._find_false(sentence)
        if false is not None:
            yield false
            return
        if text[sentence.end : sentence.end + 20].lstrip().startswith(("[Not confirmed", "[Not found")):
            return
        unsupported = find_unsupported(sentence, evidence=self._evidence, lexicon=self._lexicon)
        if unsupported is not None:
            reason = "nothing that was read says so"
            yield _name(sentence, unsupported.kind, reason=reason, action=unsupported.what, target=unsupported.target)

    def _find_false(self, sentence: Sentence) -> Finding | None:
        if not self._lexicon.may_assert(sentence.text.lower()):
            return None
        if sentence.is_quoted and self._evidence.has(sentence.text.lower()):
            return None
        for assertion in find_assertions(sentence, lexicon=self._lexicon):
            flaw = self._find_flaw(assertion)
            if flaw is not None:
                target = _tell_target(assertion, sentence)
                return _name(sentence, FindingKind.ACTION, reason=flaw, action=assertion.action.lemma, target=target)
        return None

    def _find_flaw(self, assertion: Assertion) -> str | None:
        flaw = self._ledger.find_flaw(assertion)
        if flaw is None or assertion.is_own:
            return flaw
        if assertion.doubt is Doubt.GREAT or (assertion.doubt is Doubt.SOME and assertion.action.is_common):
            return None
        names = find_names(assertion.about, lexicon=self._lexicon)
        is_told = self._evidence.tells(assertion.action, names, figures=assertion.figures)
        return None if is_told else flaw


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
        case FindingKind.MEASUREMENT:
            return f"{finding.sentence} [Not found in anything that was read: {finding.action}.]"


def _quote(sentence: str) -> str:
    plain = _MARKUP.sub(lambda match: " " if match.group().isspace() else "", sentence).strip()
    plain = plain.replace("“", "'").replace("”", "'")
    return plain if len(plain) <= _LONGEST_QUOTE else f"{plain[: _LONGEST_QUOTE - 1]}…"
