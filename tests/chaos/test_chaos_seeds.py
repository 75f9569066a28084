"""A few seeds of the chaos suite, always the same; `make chaos` runs others."""

import asyncio
import os
from collections.abc import AsyncGenerator

import pytest

from tests.chaos.ground import Ground, open_ground
from tests.chaos.trials import try_seed
from tests.chaos.wires import find_obstacle

SEEDS = range(1, 9)


@pytest.fixture(scope="module")
async def ground(anyio_backend: str) -> AsyncGenerator[Ground]:
    assert anyio_backend
    async with open_ground() as ground:
        yield ground


@pytest.mark.parametrize("seed", SEEDS)
async def test_what_is_promised_holds_whatever_happens(seed: int, ground: Ground) -> None:
    trial = await try_seed(seed, ground=ground)
    assert trial.is_well, trial.told


def test_where_everything_is_required_networks_are_cut_for_real() -> None:
    obstacle = asyncio.run(find_obstacle())
    if obstacle is None:
        return
    if obstacle.is_removable and "MIDWATCH_REQUIRE_ALL" in os.environ:
        pytest.fail(f"NO NETWORK NAMESPACES: {obstacle.reason}")
    pytest.skip(f"NO NETWORK NAMESPACES: {obstacle.reason}; a relay stood in for them")
