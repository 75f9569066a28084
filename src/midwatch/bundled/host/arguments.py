"""What models write as arguments, read with some patience: null for nothing, any case, other names for the same."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

LEVELS = ("emerg", "alert", "crit", "err", "warning", "notice", "info", "debug")
"""How urgent a message is, as syslog and the kernel number it."""

_PRIORITIES: Mapping[str, str] = {
    **{str(number): name for number, name in enumerate(LEVELS)},
    "emergency": "emerg",
    "panic": "emerg",
    "critical": "crit",
    "error": "err",
    "errors": "err",
    "warn": "warning",
}


def _read_text(value: Any) -> Any:
    return "" if value is None else value


def _read_priority(value: Any) -> Any:
    word = str(value).casefold()
    return None if value is None else _PRIORITIES.get(word, word)


def _read_state(value: Any) -> Any:
    return value.upper().replace("-", "_") if isinstance(value, str) else value


Text = Annotated[str, BeforeValidator(_read_text), Field(max_length=200)]
Port = Annotated[int | None, Field(ge=1, le=65535)]
Priority = Annotated[
    Literal["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"] | None,
    BeforeValidator(_read_priority),
]
SocketState = Annotated[
    Literal[
        "ESTABLISHED",
        "SYN_SENT",
        "SYN_RECV",
        "FIN_WAIT1",
        "FIN_WAIT2",
        "TIME_WAIT",
        "CLOSE",
        "CLOSE_WAIT",
        "LAST_ACK",
        "CLOSING",
    ]
    | None,
    BeforeValidator(_read_state),
]
