"""The text of an alert from where the user says it is: a file, standard input, or a sample."""

import errno
import os
import stat
import sys
from pathlib import Path

from midwatch.cli.samples import Sample, list_samples
from midwatch.domain.errors import Invalid

LIMIT = 1024 * 1024
"""Bytes; as much as a server takes."""
STDIN = "-"


def read_alert(source: str) -> str:
    """Raises Invalid in a sentence that names the source."""
    name = "standard input" if source == STDIN else source
    data = _read_stdin() if source == STDIN else _read_file(source)
    if len(data) > LIMIT:
        raise Invalid(f"{name}: an alert may have {LIMIT // 1024**2} MiB; cut it to the part that matters")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Invalid(f"{name}: byte {error.start} is not UTF-8; an alert is text") from None
    if not text.strip():
        raise Invalid(f"{name}: is empty; an alert needs some text")
    return text


def find_sample(name: str) -> Sample:
    samples = {sample.name: sample for sample in list_samples()}
    if name not in samples:
        raise Invalid(f"there is no sample {name!r}; choose one of {', '.join(samples)}")
    return samples[name]


def _read_stdin() -> bytes:
    if sys.stdin.isatty():
        sys.stderr.write("Type or paste the alert; end it with Ctrl-D on a line of its own.\n")
    return sys.stdin.buffer.read(LIMIT + 1)


def _read_file(source: str) -> bytes:
    if not source:
        raise Invalid("the name of the file is empty; give one, or - to read standard input")
    try:
        with Path(source).open("rb") as file:
            if stat.S_ISDIR(os.fstat(file.fileno()).st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            return file.read(LIMIT + 1)
    except ValueError:
        raise Invalid(f"{source!r}: is no name of a file") from None
    except OSError as error:
        raise Invalid(f"{source}: {_why(error)}") from None


def _why(error: OSError) -> str:
    match error:
        case FileNotFoundError():
            return "there is no such file; give the name of one, or - to read standard input"
        case IsADirectoryError():
            return "is a folder; give a file in it"
        case _:
            return f"cannot be read: {error.strerror}"
