"""Times and sizes that are part of the design. Nobody configures them; a test may build shorter ones."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Times in seconds."""

    first_chunk: float = 120
    """Silence a model may keep before its first chunk."""
    gap: float = 60
    """Silence between two chunks."""
    call: float = 300
    """One model call from request to end."""
    iteration: float = 360
    """One model call with its retries; tools are not counted."""
    timeouts_in_a_row: int = 2
    """Model timeouts that end an execution."""

    tool_call: float = 90
    mcp_init: float = 30
    mcp_recreate: float = 10
    mcp_retry_wait: tuple[float, float] = (0.25, 0.75)
    """The wait before the one retry after a transport error is drawn from here."""
    mcp_health_interval: float = 15
    mcp_health_timeout: float = 5
    mcp_answer_bytes: int = 10 * 1024 * 1024

    takeover_within: float = 10
    """How soon an expired lease is noticed."""
    takeovers_in_a_row: int = 3
    """Take-overs without progress that fail a session."""

    alert_bytes: int = 1024 * 1024
    body_bytes: int = 2 * 1024 * 1024
    shown_result_tokens: int = 8_000
    """A tool result in the timeline is cut here; the journal keeps it whole."""
    event_ttl: float = 3600
    catchup_events: int = 200
    flush_interval: float = 0.03
    """How long token chunks gather before they are sent."""
