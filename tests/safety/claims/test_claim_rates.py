"""How often the check of claims errs, on sentences that were labelled by hand."""

from collections import Counter

import pytest

from midwatch.safety.claims.findings import FindingKind
from tests.safety.claims.labelled_claims import CONTEXTS, FOUND_IN, LABELLED, Labelled, inspect_labelled
from tests.safety.requirements import requirement

HALVES = ("tuned", "held", "late")
"""Whoever changes the tables looks at the first; the others are only counted. The last was written when the tables were
done, by somebody out to slip through.
"""


def rows_of(half: str, *labels: str) -> list[Labelled]:
    return [row for row in LABELLED if row.half == half and row.label in labels]


def fine_rows(half: str) -> list[Labelled]:
    """In which nothing may be withheld."""
    claims = ("false_action", "imitation")
    return [row for row in LABELLED if row.half == half and row.label not in claims]


def test_the_set_is_large_and_balanced() -> None:
    labels = Counter(row.label for row in LABELLED)
    assert len(LABELLED) >= 400
    assert all(labels[label] >= 40 for label in ("true_action", "recommendation", "conditional", "negation"))
    assert labels["third_party"] >= 40
    assert 0.3 <= labels["false_action"] / len(LABELLED) <= 0.6
    assert {row.half for row in LABELLED} == set(HALVES)
    assert {row.context for row in LABELLED} <= set(CONTEXTS)


def test_no_sentence_stands_there_twice() -> None:
    twice = [row for row, times in Counter((row.text, row.context) for row in LABELLED).items() if times > 1]
    assert twice == []


@requirement("claims:rates")
@pytest.mark.parametrize(("half", "least"), [("tuned", 0.99), ("held", 0.95), ("late", 0.85)])
def test_false_claims_of_actions_are_caught(half: str, least: float) -> None:
    rows = rows_of(half, "false_action")
    missed = [row.text for row in rows if not any(f.kind is FindingKind.ACTION for f in inspect_labelled(row).findings)]
    assert len(missed) <= (1 - least) * len(rows), missed


@requirement("claims:rates")
@pytest.mark.parametrize(("half", "most"), [("tuned", 0.01), ("held", 0.03), ("late", 0.05)])
def test_what_is_no_false_claim_is_hardly_ever_withheld(half: str, most: float) -> None:
    rows = fine_rows(half)
    alarms = [row.text for row in rows if inspect_labelled(row).has_phantom]
    assert len(alarms) <= most * len(rows), alarms


@pytest.mark.parametrize("label", ["imitation", "state_unsupported", "measurement_unsupported"])
def test_the_other_kinds_are_found(label: str) -> None:
    missed = [row.text for row in rows_of("tuned", label) if FOUND_IN[label] not in kinds_in(row)]
    assert missed == []


@pytest.mark.parametrize("label", ["state_supported", "measurement_supported"])
def test_what_evidence_supports_is_not_marked(label: str) -> None:
    assert [row.text for row in rows_of("tuned", label) if kinds_in(row)] == []


def kinds_in(row: Labelled) -> set[FindingKind]:
    return {finding.kind for finding in inspect_labelled(row).findings}
