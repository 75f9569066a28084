"""`make chaos`: seed after seed, several side by side; a seed that fails tells how to play it again."""

import argparse
import asyncio
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Sequence

import structlog

from tests.chaos.ground import open_ground
from tests.chaos.plan import plan
from tests.chaos.trials import try_seed
from tests.chaos.wires import find_obstacle

_MOST_COUNTED = 100
"""An exit status holds no more."""


async def run_job(seeds: Sequence[int], *, keep: bool) -> int:
    failures = 0
    # Readers and clients say again and again that the database is away; the replicas have logs of their own.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    logging.disable(logging.CRITICAL)
    async with open_ground() as ground:
        for seed in seeds:
            began = time.monotonic()
            trial = await try_seed(seed, ground=ground, keep=keep)
            failures += not trial.is_well
            say(f"{trial.told} in {time.monotonic() - began:.0f} s")
    return min(failures, _MOST_COUNTED)


def run_jobs(seeds: Sequence[int], jobs: int, *, keep: bool) -> int:
    """Each in a process with a database of its own."""
    shares = [seeds[n::jobs] for n in range(jobs)]
    command = [sys.executable, "-m", "tests.chaos", *(["--keep"] if keep else []), "--these"]
    processes = [subprocess.Popen([*command, ",".join(map(str, share))]) for share in shares]
    return sum(process.wait() for process in processes)


def say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - this is a program, and its output is what it is for


def main() -> None:
    parser = argparse.ArgumentParser(prog="make chaos", description="Plays seeds, and checks what is promised.")
    parser.add_argument("--seeds", type=int, default=20, help="how many")
    parser.add_argument("--first", type=int, default=1, help="the first of them")
    parser.add_argument("--jobs", type=int, default=2, help="so many side by side")
    parser.add_argument("--seed", type=int, help="only this one")
    parser.add_argument("--keep", action="store_true", help="keep the logs of what went well, too")
    parser.add_argument("--these", help=argparse.SUPPRESS)
    parser.add_argument("--show", action="store_true", help="print the plan and play nothing")
    options = parser.parse_args()
    seeds = [options.seed] if options.seed is not None else range(options.first, options.first + options.seeds)
    if options.show:
        for seed in seeds:
            say(json.dumps(plan(seed).as_json(), indent=1))
        return
    if options.these is not None:
        sys.exit(asyncio.run(run_job([int(seed) for seed in options.these.split(",")], keep=options.keep)))
    obstacle = asyncio.run(find_obstacle())
    if obstacle is not None:
        say(f"NO NETWORK NAMESPACES: {obstacle.reason}. A relay that holds every byte back stands in for them.")
        if obstacle.is_removable and "MIDWATCH_REQUIRE_ALL" in os.environ:
            sys.exit("MIDWATCH_REQUIRE_ALL is set, so this is a failure.")
    failures = run_jobs(seeds, max(1, min(options.jobs, len(seeds))), keep=options.keep)
    say(f"{len(seeds)} seeds, {failures} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
