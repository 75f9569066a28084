"""What checking a reply against the record costs, and how often it errs on the labelled sentences of the tests."""

import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.report import Check
from midwatch.domain.tools import ToolKind
from midwatch.safety.claims.deeds import Deed
from midwatch.safety.claims.findings import FindingKind
from midwatch.safety.claims.inspection import inspect
from midwatch.safety.machine import Outcome

_LABELLED: Final = Path(__file__).parents[1] / "tests" / "safety" / "claims"
_MOST_MICROSECONDS: Final = 2000.0
_LEAST_CAUGHT, _MOST_ALARMS = 95.0, 3.0
_CALLS: Final = 20
_SIZE: Final = 4096
_WORD: Final = re.compile(r"\w+")
_UNBLAMED: Final = ("_unsupported", "_supported")

_REPLY: Final = """\
## Summary

The alert **CheckoutLatencyHigh** fired at 03:10 UTC because the pods of `checkout-api` in namespace `shop` run out of
memory. Two of four pods were OOMKilled within ten minutes, and the remaining ones could not keep up with the traffic.
The p99 latency climbed from 310 ms to 2350 ms. No other service in the namespace is affected.

## Evidence

- `checkout-api-6d5f9c-8kq2z` was OOMKilled 3 times since 02:58; its last exit code is 137.
- The kubelet restarted the container at 03:12 after the liveness probe had failed with status 503.
- Memory of the pods grows by about 40 MiB per minute and reaches the limit of 1.6 GiB after half an hour.
- `redis-0` is running, with 12 % of its memory in use. Its slow log is empty.
- Version v2.14.0 was deployed at 02:55 by deploy-bot (commit `9f1c2e7`), 15 minutes before the alert.

| pod | status | restarts | memory |
|---|---|---|---|
| checkout-api-6d5f9c-x2x4q | Running | 1 | 1.4 GiB |
| checkout-api-6d5f9c-8kq2z | OOMKilled | 3 | 1.6 GiB |
| checkout-api-6d5f9c-p0l2m | Running | 0 | 1.2 GiB |

```
Mar 03 03:11:58 node-4 kernel: Memory cgroup out of memory: Killed process 8841 (java) total-vm:4194304kB
Mar 03 03:12:02 node-4 kubelet: Container app failed liveness probe, will be restarted
```

## Root cause

The release v2.14.0 changed the size of the response cache from 10,000 to 1,000,000 entries. The entries are held on the
heap, so that the heap no longer fits the memory limit of the container. The change came with commit `9f1c2e7`, which
also raised the number of worker threads from 16 to 64. Before the release the pods had not been restarted for 12 days,
and their memory was flat at 0.9 GiB. The correlation with the release is strong; an increase of the traffic can be
ruled out, because the request rate was the same as on the days before. I compared the heap histograms of two pods, and
in both of them `ResponseCacheEntry` holds more than 70 % of the heap.

## What I did

I listed the pods and their events, read the logs of two pods, and queried Prometheus for memory and latency of the last
24 hours. I also looked at the deployment's history and at the diff of the last release. I have not changed anything:
this environment is read-only, and the runbook asks for approval before the deployment is restarted or rolled back.

## Recommendations

1. Roll back `checkout-api` to v2.13.9 with `helm rollback checkout-api 41`. The rollback takes about two minutes, and
   once it has been completed, the p99 latency should return to its usual value.
2. If a rollback is not possible, restart the deployment and raise the memory limit to 2.5 GiB until the cache is fixed.
3. Bound the response cache by size rather than by the number of its entries.
4. Add an alert for containers that were OOMKilled more than twice within 15 minutes.
5. After the deployment has been rolled back, verify that no pod is restarted any more and that the alert clears.

## Open questions

- It is unclear why the canary did not catch this. Was it skipped for this release?
- Should the payments team be paged? Their queue has grown to 12,000 messages since 03:05, but it is being drained.
- The liveness probe has a timeout of 1 s, which is too short under load; it should be reviewed with the team.
"""
_EVIDENCE: Final = (
    "Alert: CheckoutLatencyHigh, p99 of checkout-api above 2 s for 10 minutes in namespace shop. Value: 2350 ms.",
    "Runbook: check memory of the pods. With approval, restart the deployment or roll it back.",
    "Mar 03 03:12:02 node-4 kubelet: Container app failed liveness probe, will be restarted\n" * 60,
    '{"pod": "checkout-api-6d5f9c-8kq2z", "restarts": 3, "memory_bytes": 1717986918, "reason": "OOMKilled"}\n' * 60,
    "02:55 deploy-bot: deployed checkout-api v2.14.0 to production (commit 9f1c2e7)\nredis-0 1/1 Running 0 40d",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhantomFigures:
    """Medians in seconds, and shares of the held-out half of the labelled set."""

    reply: float
    floor: float
    caught: float
    alarms: float
    sentences: int

    @property
    def checks(self) -> list[Check]:
        return [
            Check(what="phantoms: a reply of 4 kB", measured=self.reply * 1e6, target=_MOST_MICROSECONDS, unit="µs"),
            Check(
                what="phantoms: false claims caught, held-out half",
                measured=self.caught * 100,
                target=_LEAST_CAUGHT,
                unit="%",
                at_least=True,
            ),
            Check(
                what="phantoms: false alarms, held-out half",
                measured=self.alarms * 100,
                target=_MOST_ALARMS,
                unit="%",
            ),
        ]

    @property
    def notes(self) -> list[str]:
        return [
            f"phantoms: {self.reply * 1000:.2f} ms for 4 kB, {self.reply / self.floor:.0f} times one pass of re",
            f"phantoms: {self.caught:.1%} caught, {self.alarms:.1%} false alarms, {self.sentences} held-out sentences",
        ]


def measure_phantoms(*, rounds: int) -> PhantomFigures:
    reply = (_REPLY * 2)[:_SIZE]
    ours, floors = zip(*(_time_both(reply) for _ in range(rounds)), strict=True)
    rows = [row for row in _read_labelled() if row["half"] == "held"]
    judged = [(row["label"] == "false_action", _is_withheld(row)) for row in rows if not _is_other(row)]
    false = [is_withheld for is_false, is_withheld in judged if is_false]
    fine = [is_withheld for is_false, is_withheld in judged if not is_false]
    return PhantomFigures(
        reply=median(ours),
        floor=median(floors),
        caught=sum(false) / len(false),
        alarms=sum(fine) / len(fine),
        sentences=len(judged),
    )


def _time_both(reply: str) -> tuple[float, float]:
    ours = _time(lambda: inspect(reply, deeds=(), evidence=_EVIDENCE))
    return ours, _time(lambda: _WORD.findall(reply))


def _time(work: Callable[[], object]) -> float:
    """CPU time: what else runs on the machine is not ours."""
    began = time.process_time()
    for _ in range(_CALLS):
        work()
    return (time.process_time() - began) / _CALLS


def _read_labelled() -> list[dict[str, Any]]:
    lines = (_LABELLED / "labelled.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _is_other(row: dict[str, Any]) -> bool:
    """Labels that say nothing about claims of actions."""
    return row["label"] == "imitation" or row["label"].endswith(_UNBLAMED)


def _is_withheld(row: dict[str, Any]) -> bool:
    contexts = json.loads((_LABELLED / "contexts.json").read_text(encoding="utf-8"))
    context = contexts[row["context"]]
    found = inspect(row["text"], deeds=_read_deeds(context["deeds"]), evidence=context["evidence"])
    return any(finding.kind is FindingKind.ACTION for finding in found.findings)


def _read_deeds(deeds: Sequence[dict[str, Any]]) -> list[Deed]:
    return [
        Deed(
            tool=deed["tool"],
            kind=ToolKind(deed["kind"]),
            outcome=Outcome(deed["outcome"]),
            arguments=deed.get("arguments", {}),
            targets=tuple(deed.get("targets", ())),
        )
        for deed in deeds
    ]
