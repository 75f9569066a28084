"""The `.env` file of a configuration folder. What the environment already has wins over it."""

import re
from collections.abc import Mapping
from pathlib import Path

from midwatch.config.findings import Findings, Place

_NAME = ".env"
_ASSIGNMENT = re.compile(r"(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=\s*(?P<value>.*)")
_DOUBLE = re.compile(r'"(?P<text>(?:[^"\\]|\\.)*)"\s*(?:#.*)?')
_SINGLE = re.compile(r"'(?P<text>[^']*)'\s*(?:#.*)?")
_COMMENT = re.compile(r"(?:^|\s+)#.*")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def with_dotenv(folder: Path, environ: Mapping[str, str], *, findings: Findings | None = None) -> Mapping[str, str]:
    """The environment with the folder's `.env` beneath it. Raises Misconfigured unless given findings to add to."""
    gathered = findings or Findings()
    merged = {**_read(folder / _NAME, gathered), **environ}
    if findings is None:
        gathered.raise_problems()
    return merged


def _read(path: Path, findings: Findings) -> dict[str, str]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        findings.problem(Place(_NAME), f"cannot be read ({type(error).__name__})")
        return {}
    return _parse(text, findings)


def _parse(text: str, findings: Findings) -> dict[str, str]:
    values: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        assignment = _ASSIGNMENT.fullmatch(line.strip())
        value = assignment and _unquote(assignment["value"])
        if assignment is None or value is None:
            findings.problem(Place(_NAME, number), "expected NAME=value, with quotes that end on the same line")
        else:
            values[assignment["name"]] = value
    return values


def _unquote(value: str) -> str | None:
    if value.startswith('"'):
        quoted = _DOUBLE.fullmatch(value)
        return quoted and re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), quoted["text"])
    if value.startswith("'"):
        quoted = _SINGLE.fullmatch(value)
        return quoted and quoted["text"]
    return _COMMENT.sub("", value).rstrip()
