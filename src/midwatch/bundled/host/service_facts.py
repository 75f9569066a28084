"""The shape of a service, whoever tells about it."""

from typing import Literal

from pydantic import Field

from midwatch.bundled.host.answers import Command, Name, PathText, Shape, Word

ServiceState = Literal["running", "failed", "stopped"]


class ServiceFacts(Shape):
    name: Name
    state: ServiceState = Field(description="One that is being restarted over and over counts as failed")
    detail: Command
    pid: int | None
    since: Word | None = Field(description="When it came into this state")
    exit_code: int | None
    source: PathText = Field(description="The unit file or pid file that this was read from")
