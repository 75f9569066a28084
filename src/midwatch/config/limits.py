"""Times and counts that are part of the design. Nobody configures them; a test may build shorter ones."""

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
    health_interval: float = 15
    """Between two looks at a tool server."""
    health_check: float = 5
    chat_slots: int = 5
    """Questions that one replica answers at once, beside its sessions."""
    takeovers_in_a_row: int = 3
    """Take-overs without progress that fail a session."""
