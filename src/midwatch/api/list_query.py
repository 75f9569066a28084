"""What may be asked of a list of sessions, and how it is told apart from nonsense."""

import re
from collections import Counter
from datetime import UTC, datetime
from typing import Annotated, Any, cast

from fastapi import Request
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator
from pydantic_core import PydanticKnownError

from midwatch.domain.errors import Invalid
from midwatch.domain.session import SessionStatus
from midwatch.kit.json import clean_text
from midwatch.store.lists import REACH, SEARCH_REACH, Listing, SortKey, SortOrder
from midwatch.store.search import SHORTEST_WORD, write_query

_LONGEST = 200
_DIGITS = re.compile(r"-?[0-9]+")
_MOMENT = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)[Tt](?P<time>\d\d:\d\d:\d\d)(?:\.(?P<fraction>\d{1,9}))?"
    # In a query an unescaped plus is a space.
    r"(?P<zone>[Zz]|[+\- ]\d\d:\d\d)",
    re.ASCII,
)


async def refuse_repeats(request: Request) -> None:
    """Which of two values would count is a guess, and clients guess differently."""
    counted = Counter(name for name, _ in request.query_params.multi_items())
    name, times = next(iter(counted.most_common(1)), ("", 0))
    if times > 1:
        field = clean_text(name)[:_LONGEST]
        raise Invalid(f"{field}: may be sent once in a query", field=field)


def _check_text(text: str) -> str:
    if clean_text(text) != text:
        raise ValueError("holds a character that no text has")
    return text


def _check_digits(written: Any) -> Any:
    """What Python takes for a number is more than others do, such as 1_000."""
    if isinstance(written, str) and not _DIGITS.fullmatch(written):
        raise PydanticKnownError("int_parsing")
    return written


Words = Annotated[
    str, Field(max_length=_LONGEST, json_schema_extra={"pattern": r"^[^\u0000]*$"}), AfterValidator(_check_text)
]
Number = Annotated[int, BeforeValidator(_check_digits)]
Moment = Annotated[Words, WithJsonSchema({"type": "string", "format": "date-time"})]
Statuses = Annotated[
    str,
    AfterValidator(_check_text),
    WithJsonSchema({"type": "array", "items": {"type": "string", "enum": [status.value for status in SessionStatus]}}),
]


class SessionQuery(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    page: Number = Field(
        default=1,
        ge=1,
        description=f"So that it is among the first {REACH} sessions, or the first {SEARCH_REACH} that a search finds",
    )
    page_size: Number = Field(default=25, ge=1, le=100)
    sort_by: SortKey = Field(
        default=SortKey.CREATED_AT, description="By duration, sessions that have not ended count as the longest"
    )
    sort_order: SortOrder = SortOrder.DESCENDING
    status: Statuses | None = Field(default=None, description="One or several, with commas between them")
    alert_type: Words | None = Field(default=None, description="Exactly this one")
    chain_id: Words | None = Field(default=None, description="Exactly this one")
    search: Words | None = Field(
        default=None,
        description="Words of the alert, the analysis or the timeline; all must be there, the last may be cut short. "
        f"One must have {SHORTEST_WORD} letters or digits",
    )
    start_date: Moment | None = Field(default=None, description="Created then or later; RFC 3339")
    end_date: Moment | None = Field(default=None, description="Created then or earlier; RFC 3339")

    @model_validator(mode="before")
    @classmethod
    def _leave_out_empty(cls, given: Any) -> Any:
        return {name: value for name, value in cast("dict[str, Any]", given).items() if value != ""}

    def as_listing(self) -> Listing:
        """Raises Invalid."""
        listing = Listing(
            statuses=_parse_statuses(self.status),
            alert_type=self.alert_type,
            chain_id=self.chain_id,
            query=_parse_search(self.search),
            start=_parse_moment("start_date", self.start_date),
            end=_parse_moment("end_date", self.end_date),
            sort_key=self.sort_by,
            sort_order=self.sort_order,
            limit=self.page_size,
            offset=(self.page - 1) * self.page_size,
        )
        if listing.offset >= listing.reach:
            raise Invalid(
                f"page: only the first {listing.reach} sessions can be paged through; narrow the list, by date perhaps",
                field="page",
            )
        return listing


def _parse_statuses(written: str | None) -> tuple[SessionStatus, ...]:
    words = [word.strip() for word in (written or "").split(",")]
    try:
        return tuple(dict.fromkeys(SessionStatus(word) for word in words if word))
    except ValueError:
        raise Invalid("status: there is no such status", field="status", allowed=list(SessionStatus)) from None


def _parse_search(written: str | None) -> str | None:
    if written is None:
        return None
    query = write_query(written)
    if query is None:
        raise Invalid(f"search: needs a word of {SHORTEST_WORD} characters or more", field="search")
    return query


def _parse_moment(field: str, written: str | None) -> datetime | None:
    if written is None:
        return None
    moment = _read_moment(written)
    if moment is None:
        raise Invalid(f"{field}: must be a moment such as 2025-01-31T06:30:00Z (RFC 3339)", field=field)
    return moment


def _read_moment(written: str) -> datetime | None:
    found = _MOMENT.fullmatch(written)
    if found is None:
        return None
    zone = "+00:00" if found["zone"] in "Zz" else found["zone"].replace(" ", "+")
    fraction = (found["fraction"] or "0")[:6].ljust(6, "0")
    try:
        return datetime.fromisoformat(f"{found['day']}T{found['time']}.{fraction}{zone}").astimezone(UTC)
    except (ValueError, OverflowError):
        return None
