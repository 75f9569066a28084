"""One seed tried: its plan performed, its history checked, and what is wrong told so that anybody can see it again."""

import asyncio
import json
import shutil
import tempfile
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.chaos.checker import check
from tests.chaos.drama import perform
from tests.chaos.ground import Ground
from tests.chaos.plan import Plan, plan

_LIMIT = 300.0


@dataclass(frozen=True, slots=True)
class Trial:
    is_well: bool
    told: str


async def try_seed(seed: int, *, ground: Ground, keep: bool = False) -> Trial:
    """The folder of a run that went well is removed."""
    folder = Path(tempfile.mkdtemp(prefix=f"chaos-{seed}-"))
    wanted = plan(seed)
    try:
        async with asyncio.timeout(_LIMIT):
            outcome = await perform(wanted, ground=ground, folder=folder)
        problems = [f"{violation.rule}: {violation.what}" for violation in check(outcome.history)]
        struck = outcome.struck
        history = json.dumps(asdict(outcome.history), default=str, indent=1)
        (folder / "history.json").write_text(history, encoding="utf-8")
    except Exception:
        # A boundary: the other seeds are still to be tried, unless whoever waits for them has had enough.
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        problems, struck = [traceback.format_exc()], {}
    if not problems and not keep:
        shutil.rmtree(folder, ignore_errors=True)
        return Trial(is_well=True, told=f"seed {seed} ok: {summarise(wanted, struck)}")
    return Trial(is_well=not problems, told=describe(seed, problems, struck=struck, folder=folder))


def summarise(wanted: Plan, struck: dict[int, str]) -> str:
    """How many faults struck, and which."""
    known = [f"{each.action.name} {each.run} {each.place.name}" for each in wanted.faults if each.number in struck]
    return f"{len(struck)} of {len(wanted.faults)} faults struck ({', '.join(known)})"


def describe(seed: int, problems: Sequence[str], *, struck: dict[int, str], folder: Path) -> str:
    wanted = json.dumps(plan(seed).as_json())
    return "\n".join(
        [
            f"seed {seed} {'FAILED' if problems else 'ok'}",
            *(f"  {problem}" for problem in problems),
            f"  faults that struck: {struck}",
            f"  plan: {wanted}",
            f"  logs: {folder}",
            f'  again: make chaos CHAOS_ARGS="--seed {seed}"',
        ]
    )
