"""Identifiers that sort by the time they were made, and a clock that does not stand still."""

import time
from uuid import RFC_4122

from midwatch.kit.clock import boottime
from midwatch.kit.ids import new_id


def test_an_id_is_a_uuid_of_version_seven_with_the_time_in_front() -> None:
    before = time.time_ns() // 1_000_000
    made = new_id()
    after = time.time_ns() // 1_000_000
    assert (made.version, made.variant) == (7, RFC_4122)
    assert before <= made.int >> 80 <= after


def test_ids_differ_also_within_a_millisecond() -> None:
    assert len({new_id() for _ in range(10_000)}) == 10_000


def test_every_random_bit_of_an_id_is_used() -> None:
    ones, zeros = 0, 0
    for _ in range(200):
        ones |= new_id().int
        zeros |= ~new_id().int
    fixed = (0xF << 76) | (0b11 << 62)
    random_part = ((1 << 80) - 1) & ~fixed
    assert ones & random_part == random_part
    assert zeros & random_part == random_part


def test_the_clock_counts_seconds_forward() -> None:
    first, wall = boottime(), time.monotonic()
    while time.monotonic() < wall + 0.01:
        pass
    assert 0.01 <= boottime() - first < 5


def test_the_clock_is_the_one_that_counts_suspension() -> None:
    if hasattr(time, "CLOCK_BOOTTIME"):
        assert abs(boottime() - time.clock_gettime(time.CLOCK_BOOTTIME)) < 1
