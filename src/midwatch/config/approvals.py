"""The `approvals` block: how long a question to a person stays open."""

from datetime import timedelta

from pydantic import Field

from midwatch.config.duration import Duration
from midwatch.config.strict import Strict


class Approvals(Strict):
    expire_after: Duration = Field(default=timedelta(minutes=15), description="Silence until then is a no")
