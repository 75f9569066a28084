"""What one agent may spend: iterations, and time in front of a model."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    max_iterations: int = 20
    first_chunk: float = 120.0
    """Seconds until a model says anything."""
    gap: float = 60.0
    """Seconds between two chunks."""
    call: float = 300.0
    """Seconds for one whole model call."""
    iteration: float = 360.0
    """Seconds for the model call of one iteration with its retries; tools do not count."""
    failures_in_a_row: int = 2
    """Model calls that may fail one after another before the run ends."""
    empty_replies: int = 2
    """Times a model is asked again after it said nothing."""
    refused_drafts: int = 3
    """Times a model is sent back to look at what it changed last."""
