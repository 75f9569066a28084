"""What the kernel has to say, from its own ring buffer."""

import os
import re
from collections import deque
from collections.abc import Iterator
from typing import Annotated

import psutil
from pydantic import Field

from midwatch.bundled.host.answers import Line, Shape, Tail, Word, tell_time
from midwatch.bundled.host.arguments import LEVELS, Text

_DEVICE = "/dev/kmsg"
_RECORD_BYTES = 16 * 1024
_MAX_RECORDS = 100_000
_HEX = re.compile(r"\\x([0-9a-fA-F]{2})")


class KernelMessage(Shape):
    time: Word | None
    level: Word
    text: Line


class KernelMessages(Tail):
    messages: list[KernelMessage] = Field(description="Oldest first")


def kernel_messages(
    *,
    lines: Annotated[int, Field(ge=1, le=200, description="How many of the newest")] = 30,
    contains: Annotated[Text, Field(description="Only messages with this in them, in any case")] = "",
) -> KernelMessages:
    """The newest messages of the kernel, oldest first: killed processes, failing disks, network links, crashes.

    Use it for `out of memory`, I/O errors, segfaults and hardware trouble. Costs next to nothing. The kernel keeps only
    what fits its buffer, and needs privileges to show it; older ones may be in `journal`. Times are off by however long
    the machine was suspended.
    """
    try:
        records = _read_records()
    except OSError as error:
        reason = f"the kernel's messages may not be read ({error.strerror}); `journal` or `logs` may have them"
        return KernelMessages(messages=[], notes=[reason])
    wanted = contains.casefold()
    started = psutil.boot_time()
    found = [message for record in records if (message := parse_record(record, started=started)) is not None]
    matching = [message for message in found if wanted in message.text.casefold()]
    return KernelMessages(
        messages=matching[-lines:],
        truncated=len(matching) > lines,
        notes=_tell_of_more(len(matching), lines),
    )


def parse_record(record: str, *, started: float) -> KernelMessage | None:
    """`priority,sequence,microseconds,flags;text`, then lines about the device, which are left out."""
    head, separator, rest = record.partition(";")
    fields = head.split(",")
    if not separator or len(fields) < 3 or not (fields[0].isdecimal() and fields[2].isdecimal()):  # noqa: PLR2004
        return None
    text = _HEX.sub(lambda code: chr(int(code[1], 16)), rest.split("\n", 1)[0])
    return KernelMessage(
        time=tell_time(started + int(fields[2]) / 1_000_000), level=LEVELS[int(fields[0]) & 7], text=text
    )


def _read_records() -> deque[str]:
    handle = os.open(_DEVICE, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return deque(_drain(handle), maxlen=_MAX_RECORDS)
    finally:
        os.close(handle)


def _drain(handle: int) -> Iterator[str]:
    for _ in range(2 * _MAX_RECORDS):
        try:
            yield os.read(handle, _RECORD_BYTES).decode(errors="replace")
        except BlockingIOError:
            return
        except BrokenPipeError:
            # This one was overwritten before we came to it; the next read finds the oldest that is left.
            continue


def _tell_of_more(found: int, shown: int) -> list[str]:
    return [f"the last {shown} of {found} messages; ask for more lines to see further back"] if found > shown else []
