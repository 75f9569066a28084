"""Resources that a person picks, over the wire: what they look like, and that only an approver may pick any."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import Request
from pydantic import Field

from midwatch.api.approver import require_secret
from midwatch.safety.selections import ID_FORM, LONGEST_ID, MOST_SELECTED

_Id = Annotated[str, Field(json_schema_extra={"maxLength": LONGEST_ID, "pattern": "^[^:]+(:[^:]+){1,2}$"})]

SelectedResources = Annotated[
    list[_Id] | None,
    Field(
        max_length=MOST_SELECTED,
        description=f"Ids of what is meant, each as {ID_FORM}; any of them takes the approver's secret",
    ),
]


def admit_selected(selected: Sequence[str] | None, request: Request) -> tuple[str, ...]:
    """Raises Unauthenticated: a selection that nobody vouches for would be worth nothing."""
    if selected:
        require_secret(request, doing="selecting resources")
    return tuple(selected or ())
