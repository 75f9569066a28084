"""What masking costs: ten megabytes with two thousand secrets, none of which may be missed, against `re`."""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.planted import Planted, plant_secrets
from benchmarks.report import Check
from midwatch.masking.mask import RuleMask, compile_mask
from midwatch.masking.patterns import PATTERNS

_SIZE, _SECRETS = 10_000_000, 2_000
_PART = 500_000
"""Characters for `re`, which is measured on the beginning alone."""
_LEAST_MEGABYTES = 40.0
_LEAST_TIMES_RE = 20.0
_RESULT = 4096
_MOST_MICROSECONDS = 100.0
_RESULTS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskingFigures:
    """Medians: megabytes in a second, and seconds for a small result."""

    speed: float
    floor: float
    result: float
    missed: int

    @property
    def checks(self) -> list[Check]:
        return [
            Check(what=f"masking: of {_SECRETS} planted secrets, missed", measured=self.missed, target=0),
            Check(
                what="masking, ten megabytes of logs and YAML",
                measured=self.speed,
                target=_LEAST_MEGABYTES,
                unit="MB/s",
                at_least=True,
            ),
            Check(
                what="masking, times the same patterns on re",
                measured=self.speed / self.floor,
                target=_LEAST_TIMES_RE,
                at_least=True,
            ),
            Check(what="masking, a result of 4 kB", measured=self.result * 1e6, target=_MOST_MICROSECONDS, unit="µs"),
        ]

    @property
    def notes(self) -> list[str]:
        return [f"masking: {self.speed:.0f} MB/s; the same patterns on re, one by one: {self.floor:.2f} MB/s"]


def measure_masking(*, rounds: int) -> MaskingFigures:
    planted = plant_secrets(_SIZE, secrets=_SECRETS)
    mask = compile_mask()
    missed = _count_missed(mask, planted)
    part = planted.text[:_PART]
    bare = _compile_bare(mask)
    speeds: list[float] = []
    floors: list[float] = []
    results: list[float] = []
    for _ in range(rounds):
        speeds.append(len(planted.text) / _measure(lambda: mask(planted.text)) / 1e6)
        results.append(_measure_results(mask, planted.text))
        floors.append(len(part) / _measure(lambda: _apply_bare(bare, part.encode())) / 1e6)
    return MaskingFigures(speed=median(speeds), floor=median(floors), result=median(results), missed=missed)


def _count_missed(mask: RuleMask, planted: Planted) -> int:
    masked = mask(planted.text)
    return sum(secret in masked for secret in planted.secrets)


def _compile_bare(mask: RuleMask) -> Sequence[re.Pattern[bytes]]:
    used = {rule.name for rule in mask.rules}
    return [re.compile(pattern.regex.encode()) for name, pattern in PATTERNS.items() if name in used]


def _apply_bare(patterns: Sequence[re.Pattern[bytes]], data: bytes) -> bytes:
    for pattern in patterns:
        data = pattern.sub(b"[MASKED]", data)
    return data


def _measure_results(mask: RuleMask, text: str) -> float:
    """Spread over the text: with secrets and without, as results are."""
    step = len(text) // _RESULTS
    results = [text[at : at + _RESULT] for at in range(0, step * _RESULTS, step)]
    return _measure(lambda: [mask(result) for result in results]) / len(results)


def _measure(work: Callable[[], object]) -> float:
    """CPU time: what else runs on the machine is not ours."""
    began = time.process_time()
    work()
    return time.process_time() - began
