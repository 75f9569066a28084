"""The labelled sentences and what was done and read around them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from midwatch.domain.tools import ToolKind
from midwatch.safety.claims.deeds import Deed
from midwatch.safety.claims.findings import FindingKind, Inspection
from midwatch.safety.claims.inspection import inspect
from midwatch.safety.machine import Outcome

FOLDER = Path(__file__).parent
FOUND_IN: Mapping[str, FindingKind] = {
    "false_action": FindingKind.ACTION,
    "imitation": FindingKind.IMITATION,
    "state_unsupported": FindingKind.STATE,
    "measurement_unsupported": FindingKind.MEASUREMENT,
}
"""Labels of sentences in which something is to be found; in all others there is nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    deeds: Sequence[Deed]
    evidence: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    text: str
    label: str
    context: str
    half: str


def read_contexts() -> dict[str, Context]:
    contexts = json.loads((FOLDER / "contexts.json").read_text(encoding="utf-8"))
    return {
        name: Context(deeds=[_read_deed(deed) for deed in context["deeds"]], evidence=context["evidence"])
        for name, context in contexts.items()
    }


def read_labelled() -> Iterator[Labelled]:
    for line in (FOLDER / "labelled.jsonl").read_text(encoding="utf-8").splitlines():
        yield Labelled(**json.loads(line))


def inspect_labelled(row: Labelled) -> Inspection:
    context = CONTEXTS[row.context]
    return inspect(row.text, deeds=context.deeds, evidence=context.evidence)


def _read_deed(deed: dict[str, Any]) -> Deed:
    return Deed(
        tool=deed["tool"],
        kind=ToolKind(deed["kind"]),
        outcome=Outcome(deed["outcome"]),
        arguments=deed.get("arguments", {}),
        targets=tuple(deed.get("targets", ())),
    )


CONTEXTS = read_contexts()
LABELLED = tuple(read_labelled())
