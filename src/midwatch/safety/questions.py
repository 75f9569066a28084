"""A question to a person as it is kept: what is asked about, and what is known of a call that was asked about."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from midwatch.safety.approvals import Approval


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedCall:
    """A call that may have been asked about, at a moment of the database's clock."""

    now: datetime
    models_words: str
    """What the model said when it asked for the call."""
    approval: Approval | None = None
    targets: tuple[dict[str, Any], ...] = ()
    """What the question was about: the identity of each target, and by which call it was found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewApproval:
    approval: Approval
    request: dict[str, Any]
    """What the person is shown."""
    targets: Sequence[dict[str, Any]]
    target_ids: Sequence[str]
    verdict: dict[str, Any]
