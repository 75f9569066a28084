"""The `system` block: where people meet Midwatch, what it may fetch, and how long it keeps things."""

import re
from calendar import monthrange
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from midwatch.config.cost import CostEstimation
from midwatch.config.duration import Duration
from midwatch.config.strict import Name, Strict, WebUrl

_LEAP_YEAR = 2024


def _check_day(written: str) -> str:
    parts = re.fullmatch(r"(0[1-9]|1[0-2])-([0-3][0-9])", written)
    if parts is None or not 1 <= int(parts[2]) <= monthrange(_LEAP_YEAR, int(parts[1]))[1]:
        raise ValueError("expected a month and a day such as 12-25")
    return written


class GitHub(Strict):
    token_env: Name = Field(default="GITHUB_TOKEN", description="Variable that holds the token for runbooks")


class Runbooks(Strict):
    repo_url: WebUrl | None = Field(default=None, repr=False, description="Folder on GitHub that lists the runbooks")
    cache_ttl: Duration = Field(default=timedelta(minutes=1), description="How long a fetched runbook is kept")
    allowed_domains: tuple[Name, ...] = Field(
        default=("github.com", "raw.githubusercontent.com"),
        description="Where runbooks may come from: a name or an address, with a port where it is not the usual one",
    )
    allow_private: bool = Field(
        default=False,
        description="Let the names in allowed_domains lead into private networks and to this machine",
    )


class Slack(Strict):
    enabled: bool = Field(default=False, description="Tell a channel how investigations end")
    token_env: Name = Field(default="SLACK_BOT_TOKEN", description="Variable that holds the bot's token")
    channel: str = Field(default="", validate_default=True, description="The channel's id; required when enabled")

    @field_validator("channel")
    @classmethod
    def _is_known_when_needed(cls, channel: str, info: ValidationInfo) -> str:
        if not channel and info.data.get("enabled"):
            raise ValueError("must be set when enabled is true")
        return channel


class Retention(Strict):
    session_retention_days: int = Field(default=365, ge=1, description="Then a session is put away")
    event_ttl: Duration = Field(default=timedelta(hours=1), description="Then an event can no longer be caught up on")
    cleanup_interval: Duration = Field(default=timedelta(hours=12), description="How often old things are looked for")


class Holiday(Strict):
    date: Annotated[str, AfterValidator(_check_day)] = Field(description="Month and day, such as `12-25`")
    name: Name = Field(description="What is celebrated")


class System(Strict):
    dashboard_url: WebUrl = Field(
        default="http://localhost:8080", description="Where people open the dashboard; used in links and for origins"
    )
    allowed_ws_origins: tuple[Name, ...] = Field(
        default=(), description="Further origins whose pages may listen to events"
    )
    github: GitHub = Field(default=GitHub(), description="How to reach GitHub")
    runbooks: Runbooks = Field(default=Runbooks(), description="Where runbooks come from")
    slack: Slack = Field(default=Slack(), description="Notifications")
    retention: Retention = Field(default=Retention(), description="How long things are kept")
    holidays: tuple[Holiday, ...] = Field(
        default=(Holiday(date="01-01", name="New Year's Day"), Holiday(date="12-25", name="Christmas Day")),
        description="Days on which few people are at work; instead of 01-01 and 12-25",
    )
    cost_estimation: CostEstimation = Field(default=CostEstimation(), description="What models cost")
