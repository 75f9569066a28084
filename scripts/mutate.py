"""Mutation testing of gate and safety layer: changes code a little, many times over, and counts what no test notices.

A change that makes no difference stands in mutants.toml with its reason. Any other that survives is a missing test.
"""

import argparse
import random
import sys
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from pathlib import Path

# Loaded once, before anything is forked; our own code must not be, since forks import it changed.
import tree_sitter
import tree_sitter_bash
from mutants import ROOT, SOURCES, Mutant, list_mutants
from trial import Bench, Outcome, Tests, attempt_anew, place_of

ENGINE = "midwatch.safety.shell"
CORE = (
    "midwatch.safety.machine",
    "midwatch.safety.policy",
    "midwatch.safety.rules",
    "midwatch.tools.gate",
    "midwatch.tools.appraisal",
    "midwatch.tools.commands",
    "midwatch.tools.consent",
    "midwatch.tools.contents",
    "midwatch.tools.exposure",
    "midwatch.tools.journaled",
    "midwatch.tools.learning",
    "midwatch.tools.places",
    "midwatch.tools.subjects",
)
"""What decides on every call, and what keeps account of it."""
OTHERS = (
    "midwatch.safety.approvals",
    "midwatch.safety.context",
    "midwatch.safety.routing",
    "midwatch.safety.selections",
    "midwatch.safety.targets",
)
ENGINE_TESTS = ("tests/safety/shell",)
QUICK_TESTS = (
    *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "tests" / "safety").glob("test_*.py"))),
    "tests/unit/agent/test_agent_loop.py",
    "tests/unit/tools/test_arguments.py",
    "tests/unit/tools/test_inflight.py",
    "tests/unit/tools/test_order.py",
    "tests/unit/tools/test_selected.py",
)
"""They start no servers and no replicas."""
TOLD = Path(__file__).with_suffix("").with_name("mutants.toml")
LIMIT = 120.0
SLOW = 0.1
COSTLY_EVERY = 6
_WARM = (tree_sitter, tree_sitter_bash)
Key = tuple[str, str, str]


@dataclass(slots=True)
class Report:
    counts: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    survivors: list[Mutant] = field(default_factory=list[Mutant])

    def add(self, mutant: Mutant, outcome: Outcome) -> None:
        self.counts[mutant.module][outcome.status] += 1
        if outcome.status == "survived":
            self.survivors.append(mutant)
            print(f"survived  {mutant.place}  {mutant.function or 'module'}\n    {mutant.change}", flush=True)

    def show(self, known: Counter[str]) -> None:
        print(f"\n{'module':<44} {'killed':>7} {'survived':>9} {'timed out':>10} {'equivalent':>11}")
        total = Counter[str]()
        for module, counts in sorted(self.counts.items()):
            total += counts
            self._show_line(module, counts, known[module])
        self._show_line("all", total, sum(known.values()))

    def _show_line(self, name: str, counts: Counter[str], known: int) -> None:
        print(f"{name:<44} {counts['killed']:>7} {counts['survived']:>9} {counts['timed out']:>10} {known:>11}")


@dataclass(slots=True)
class Order:
    """Which tests to try first: what killed the last change of this function, then of this module, then the quick."""

    tests: Tests
    last: dict[tuple[str, str], list[str]] = field(default_factory=dict[tuple[str, str], list[str]])

    def remember(self, mutant: Mutant, killer: str) -> None:
        for key in ((mutant.module, mutant.function), (mutant.module, "*")):
            names = self.last.setdefault(key, [])
            if killer in names:
                names.remove(killer)
            names.insert(0, killer)
            del names[12:]

    def arrange(self, mutant: Mutant, names: Sequence[str]) -> list[str]:
        recent = [
            *self.last.get((mutant.module, mutant.function), ()),
            *self.last.get((mutant.module, "*"), ()),
        ]
        usable = set(names)
        return list(dict.fromkeys([*(name for name in recent if name in usable), *self._take_turns(names)]))

    def _take_turns(self, names: Sequence[str]) -> Iterator[str]:
        """One case of each test, then the next of each: cases of one test mostly tell the same. The slow come last."""
        ranked = sorted(names, key=lambda name: (self.tests.seconds[name], name))
        cases: defaultdict[str, list[str]] = defaultdict(list)
        for name in ranked:
            if self.tests.seconds[name] < SLOW:
                cases[name.partition("[")[0]].append(name)
        for turn in zip_longest(*cases.values()):
            yield from (name for name in turn if name is not None)
        yield from (name for name in ranked if self.tests.seconds[name] >= SLOW)


def list_modules() -> list[str]:
    """All but the programs of the engine, which are tables."""
    folder = SOURCES / Path(*ENGINE.split("."))
    paths = [path for path in folder.rglob("*.py") if "families" not in path.parts and path.name != "__init__.py"]
    engine = [".".join(path.relative_to(SOURCES).with_suffix("").parts) for path in paths]
    return [*CORE, *OTHERS, *sorted(engine)]


def sample(mutants: Sequence[Mutant], seed: int) -> list[Mutant]:
    """Shuffled, and each module in turn, so that a short run has seen something of all."""
    by_module: defaultdict[str, list[Mutant]] = defaultdict(list)
    for mutant in mutants:
        by_module[mutant.module].append(mutant)
    for each in by_module.values():
        random.Random(seed).shuffle(each)  # noqa: S311 -- a sample, not a secret
    return [mutant for turn in zip_longest(*by_module.values()) for mutant in turn if mutant is not None]


def space_out(mutants: Sequence[Mutant], tests: Tests) -> Iterator[Mutant]:
    """What has to be imported anew costs seconds, so most of a short run goes to the rest."""
    costly = [mutant for mutant in mutants if runs_on_import(mutant, tests)]
    cheap = [mutant for mutant in mutants if not runs_on_import(mutant, tests)]
    waiting = iter(costly)
    for at, mutant in enumerate(cheap, start=1):
        yield mutant
        if at % COSTLY_EVERY == 0:
            yield from islice(waiting, 1)
    yield from waiting


def runs_on_import(mutant: Mutant, tests: Tests) -> bool:
    return not mutant.first_line or place_of(mutant) in tests.on_import


def attempt(mutant: Mutant, bench: Bench, order: Order) -> Outcome:
    tests = bench.tests
    if not runs_on_import(mutant, tests):
        reaching = sorted(tests.reaching.get(place_of(mutant), ()))
        return bench.attempt(mutant, order.arrange(mutant, reaching), limit=LIMIT)
    paths = ENGINE_TESTS if mutant.module.startswith(ENGINE) else QUICK_TESTS
    names = [name for name in tests.seconds if name.startswith(paths)]
    return attempt_anew(mutant, order.arrange(mutant, names), paths=paths, limit=LIMIT, tests=tests)


def arrange(mutants: Sequence[Mutant], seed: int, *, tests: Tests) -> Iterator[Mutant]:
    """All of what decides on every call, then, as long as there is time, a sample of the rest."""
    for is_core in (True, False):
        yield from space_out(sample([each for each in mutants if (each.module in CORE) is is_core], seed), tests)


def try_all(mutants: Sequence[Mutant], *, seed: int, seconds: float) -> Report:
    is_engine = any(mutant.module.startswith(ENGINE) for mutant in mutants)
    bench = Bench.open((*QUICK_TESTS, *ENGINE_TESTS) if is_engine else QUICK_TESTS)
    until = time.monotonic() + seconds
    report, order = Report(), Order(bench.tests)
    print(f"{len(bench.tests.seconds)} tests pass unchanged; {len(mutants)} changes to try", flush=True)
    try:
        for mutant in arrange(mutants, seed, tests=bench.tests):
            if time.monotonic() > until:
                break
            outcome = attempt(mutant, bench, order)
            report.add(mutant, outcome)
            if outcome.status == "killed" and outcome.killer in bench.tests.seconds:
                order.remember(mutant, outcome.killer)
    finally:
        bench.close()
    return report


def read_known(path: Path) -> set[Key]:
    """The changes that are told to make no difference."""
    rows: list[dict[str, str]] = tomllib.loads(path.read_text(encoding="utf-8")).get("equivalent", [])
    unexplained = [row for row in rows if not row.get("reason", "").strip()]
    if unexplained:
        raise SystemExit(f"{path.name}: no reason is given for {unexplained[0]}")
    return {(row["module"], row["function"], row["change"]) for row in rows}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="which sample of the changes is tried")
    parser.add_argument(
        "--seconds", type=float, default=900, help="how long to go on trying, once all tests have passed"
    )
    parser.add_argument("--modules", nargs="+", metavar="PART", help="only modules whose name holds one of these")
    options = parser.parse_args()
    modules = [name for name in list_modules() if not options.modules or any(part in name for part in options.modules)]
    known = read_known(TOLD)
    mutants = [mutant for module in modules for mutant in list_mutants(module)]
    gone = sorted(key for key in known - {mutant.key for mutant in mutants} if key[0] in modules)
    left = [mutant for mutant in mutants if mutant.key not in known]
    report = try_all(left, seed=options.seed, seconds=options.seconds)
    report.show(Counter(key[0] for key in known))
    for key in gone:
        print(f"{TOLD.name} tells of a change that is none any more: {' | '.join(key)}")
    return 1 if report.survivors or gone else 0


if __name__ == "__main__":
    sys.exit(main())
