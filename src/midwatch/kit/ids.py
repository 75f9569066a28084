"""Identifiers that sort by the time they were made, so that index pages fill from one end."""

import os
import time
from uuid import UUID


def new_id() -> UUID:
    """A UUID version 7: 48 bits of milliseconds, then randomness."""
    milliseconds = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10), "big")
    value = (milliseconds & 0xFFFFFFFFFFFF) << 80
    value |= 0x7 << 76
    value |= ((random >> 62) & 0xFFF) << 64
    value |= 0b10 << 62
    value |= random & 0x3FFFFFFFFFFFFFFF
    return UUID(int=value)
