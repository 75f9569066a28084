"""Every error Midwatch raises on purpose, sorted by who must act.

MidwatchError
├── Rejected              the caller can fix it
│   ├── Invalid           bad input
│   ├── Unauthenticated   it takes a secret that was not shown
│   ├── NotFound          no such thing
│   ├── Conflict          not in this state
│   ├── Gone              it was there and is no longer kept
│   └── TooLarge          over a limit
├── Unavailable           something we depend on failed
│   ├── StoreUnavailable      the database is gone or restarting
│   ├── ReplicaStopping       this replica takes nothing new; another does
│   ├── ModelUnavailable      a model call failed
│   └── ToolServerUnavailable a tool server cannot be reached
├── Misconfigured         the operator must fix it; raised only while loading
├── DispatchTooLate       a call's deadline passed before it could be sent; it was not sent
├── Draining              this replica is stopping; the run goes on elsewhere
└── LeaseLost             this run no longer owns its session and must stop

Refusals and failed tool calls are not exceptions: they are results that the model reads.
"""

from collections.abc import Sequence


class MidwatchError(Exception):
    """Something Midwatch knows how to explain."""


class Rejected(MidwatchError):
    code = "rejected"

    def __init__(self, message: str, *, field: str | None = None, allowed: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.allowed = tuple(allowed)


class Invalid(Rejected):
    code = "invalid"


class Unauthenticated(Rejected):
    code = "unauthenticated"


class NotFound(Rejected):
    code = "not_found"

    def __init__(self, what: str, identifier: object) -> None:
        super().__init__(f"there is no {what} {identifier}")


class Conflict(Rejected):
    code = "conflict"


class Gone(Rejected):
    code = "gone"


class TooLarge(Rejected):
    code = "too_large"


class Unavailable(MidwatchError):
    pass


class StoreUnavailable(Unavailable):
    pass


class ReplicaStopping(Unavailable):
    pass


class ModelUnavailable(Unavailable):
    """A model call failed. `code` is one of the gateway's stable codes, such as provider_error or credentials."""

    def __init__(self, message: str, *, code: str, retryable: bool, feedback: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = retryable
        self.feedback = feedback
        """What the model should be told before it is asked again."""


class ToolServerUnavailable(Unavailable):
    def __init__(self, server: str, message: str) -> None:
        super().__init__(f"tool server {server}: {message}")
        self.server = server


class Misconfigured(MidwatchError):
    """All that is wrong with the configuration, at once."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class DispatchTooLate(MidwatchError):
    pass


class Draining(MidwatchError):
    pass


class LeaseLost(MidwatchError):
    pass
