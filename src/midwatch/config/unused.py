"""Keys that are checked but not acted on yet: whoever writes one is told, since silence would look like consent."""

from fnmatch import fnmatchcase
from typing import Any

from midwatch.config.sections import Source
from midwatch.config.sentences import dotted
from midwatch.config.yaml import KeyPath

_KEYS = (
    "*.sub_agents",
    "*.skills",
    "*.required_skills",
)
_SWITCHES = ("system.slack.enabled", "*.scoring.enabled", "defaults.memory.enabled")
_ON = frozenset({"true", "yes", "on", "1"})


def warn_of_unused(main: Source) -> None:
    """Each key once, where it stands first."""
    told: set[str] = set()
    for path in main.document.lines:
        pattern = _find_pattern(main, path)
        if pattern is not None and pattern not in told:
            told.add(pattern)
            main.warn(path, f"{dotted(path)}: is accepted, but this version does not act on it yet")


def _find_pattern(main: Source, path: KeyPath) -> str | None:
    written = dotted(path)
    for pattern in _KEYS:
        if fnmatchcase(written, pattern):
            return pattern
    for pattern in _SWITCHES:
        if fnmatchcase(written, pattern) and str(_value_at(main, path)).lower() in _ON:
            return pattern
    return None


def _value_at(main: Source, path: KeyPath) -> Any:
    value: Any = main.document.data
    try:
        for part in path:
            value = value[part]
    except (KeyError, IndexError, TypeError):
        # A key written twice has lines for what no longer stands there.
        return None
    return value
