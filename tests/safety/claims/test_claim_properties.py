"""What holds for every text, however odd."""

from hypothesis import given, settings
from hypothesis import strategies as st

from midwatch.safety.claims.evidence import WITHHELD
from midwatch.safety.claims.inspection import inspect
from tests.safety.claims.labelled_claims import LABELLED

PIECES = st.sampled_from(
    [*{row.text for row in LABELLED}, "\n\n", "\n", "## Actions taken\n", "```\n", "| ", " — ", ": ", "> ", "and ", "İ"]
)
TEXTS = st.lists(st.one_of(PIECES, st.text(max_size=20)), max_size=12).map(" ".join)


@settings(deadline=None, max_examples=50)
@given(TEXTS, st.lists(TEXTS, max_size=3))
def test_findings_are_spans_of_the_text_in_order_and_apart(text: str, evidence: list[str]) -> None:
    inspection = inspect(text, deeds=(), evidence=evidence)
    at = 0
    for finding in inspection.findings:
        assert at <= finding.start < finding.end <= len(text)
        assert finding.reason
        at = finding.end


@settings(deadline=None, max_examples=50)
@given(TEXTS)
def test_what_lies_outside_of_findings_is_kept(text: str) -> None:
    inspection = inspect(text, deeds=(), evidence=())
    rest, at = inspection.safe_text, 0
    for finding in inspection.findings:
        kept = text[at : finding.start]
        assert rest.startswith(kept)
        rest = rest[len(kept) :]
        rest = rest[rest.index("]") + 1 :] if finding.kind.is_phantom else rest[len(finding.sentence) :]
        at = finding.end
        if not finding.kind.is_phantom:
            rest = rest[rest.index("]") + 1 :]
    assert rest == text[at:]


@settings(deadline=None, max_examples=50)
@given(TEXTS)
def test_nothing_is_withheld_twice(text: str) -> None:
    safe = inspect(text, deeds=(), evidence=()).safe_text
    again = inspect(safe, deeds=(), evidence=())
    assert not [finding for finding in again.findings if WITHHELD in finding.sentence]
    phantoms = sum(finding.kind.is_phantom for finding in again.findings)
    assert again.safe_text.count(WITHHELD) == safe.count(WITHHELD) + phantoms


@settings(deadline=None, max_examples=50)
@given(
    st.sampled_from(
        ["restarted and ", "I restarted ", "<tool_call>", '{"tool": ', "[Withheld: ", "1", "` ", "|", "but it "]
    )
)
def test_long_repetitions_are_read_to_the_end(piece: str) -> None:
    text = f"{piece * 2000}\n\nI restarted nginx."
    assert inspect(text, deeds=(), evidence=[piece * 2000]).has_phantom
