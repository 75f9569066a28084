"""Fences around what others wrote: markers with a random word, which no text inside can close or imitate."""

import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import final

from midwatch.domain.markers import escape_markers

_LABEL = re.compile(r"[A-Z][A-Z_]*[A-Z]")
_FENCED = re.compile(
    # No step may be tried twice: what is fenced may be megabytes long.
    r"<!-- (?P<label>[A-Z_]+)_START (?P<nonce>\w+) -->\n(?P<text>[^<]*+(?:<(?!!--)[^<]*+)*+)"
    r"<!-- (?P=label)_END (?P=nonce) -->"
)


@final
@dataclass(frozen=True, slots=True)
class Fence:
    """One per prompt. Whoever writes what stands inside cannot know the word."""

    nonce: str = field(default_factory=lambda: secrets.token_hex(8))

    def wrap(self, label: str, text: str) -> str:
        return f"{self.open(label)}\n{escape_markers(text)}\n{self.close(label)}"

    def open(self, label: str) -> str:
        """For a part that holds fenced texts itself."""
        return self._mark(label, "START")

    def close(self, label: str) -> str:
        return self._mark(label, "END")

    def _mark(self, label: str, end: str) -> str:
        if not _LABEL.fullmatch(label):
            raise ValueError(f"not a label: {label!r}")
        return f"<!-- {label}_{end} {self.nonce} -->"


def read_fenced(prompt: str, labels: Collection[str]) -> list[str]:
    """What stands within the markers of a prompt of ours, under any of these labels. Nothing inside can forge one."""
    return [match["text"].removesuffix("\n") for match in _FENCED.finditer(prompt) if match["label"] in labels]


def inline(text: str, limit: int = 200) -> str:
    """A name or a short remark of others within a line of ours: it stays on that line."""
    flat = " ".join(escape_markers(text).split())
    return flat if len(flat) <= limit else f"{flat[:limit]}…"
