"""The shape all configuration models share: frozen, and closed to keys nobody knows."""

from typing import Annotated, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

Item = TypeVar("Item")


class Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


def _check_distinct(items: tuple[Item, ...]) -> tuple[Item, ...]:
    if len(set(items)) < len(items):
        raise ValueError("must not name anything twice")
    return items


def _check_url(url: str) -> str:
    """The message never repeats the value: a URL may hold a password."""
    if not url.startswith(("http://", "https://")):
        raise ValueError("must start with http:// or https://")
    try:
        parts = urlsplit(url)
        is_sound = bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_sound = False
    if not is_sound:
        raise ValueError("expected an address such as https://host/path")
    return url


def _without_slash(url: str) -> str:
    return url.rstrip("/")


Name = Annotated[str, Field(min_length=1)]
DistinctNames = Annotated[tuple[Name, ...], AfterValidator(_check_distinct)]
ExactUrl = Annotated[str, AfterValidator(_check_url)]
WebUrl = Annotated[ExactUrl, AfterValidator(_without_slash)]
