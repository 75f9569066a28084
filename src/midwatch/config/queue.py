"""The `queue` block: how many sessions run at once, and for how long."""

from datetime import timedelta

from pydantic import Field, ValidationInfo, field_validator

from midwatch.config.duration import Duration, DurationOrZero
from midwatch.config.strict import Strict

_HEARTBEATS_PER_LEASE = 3
_SPARE_CONNECTIONS = 10
"""For people who look, and for chores."""
_MOST_AT_ONCE = 40
"""Runs that commit at the same moment: each needs a connection for some milliseconds of a turn that takes seconds."""


class Queue(Strict):
    worker_count: int = Field(default=5, ge=1, le=200, description="Sessions this replica runs at once")
    max_concurrent_sessions: int = Field(default=5, ge=1, description="Sessions all replicas run at once")
    database_connections: int | None = Field(
        default=None,
        ge=1,
        le=1000,
        description="Most connections to the database for the work of this replica; by the number of its slots when "
        "missing. Five more keep its leases and tell of its events",
    )
    poll_interval: Duration = Field(default=timedelta(seconds=1), description="Look for work even if nobody called")
    poll_interval_jitter: DurationOrZero = Field(
        default=timedelta(milliseconds=500), description="Spreads the looks of several replicas"
    )
    warn_depth: int = Field(
        default=100, ge=1, le=10_000, description="So many sessions that wait are too many: senders and people are told"
    )
    session_timeout: Duration = Field(default=timedelta(minutes=40), description="Running time a session may take")
    graceful_shutdown_timeout: Duration = Field(default=timedelta(seconds=10), description="Time to drain on stopping")
    scoring_shutdown_timeout: DurationOrZero = Field(
        default=timedelta(minutes=3), description="Time to finish judging on stopping; not used yet"
    )
    heartbeat_interval: Duration = Field(default=timedelta(seconds=10), description="How often a lease is renewed")
    orphan_detection_interval: Duration | None = Field(default=None, description="Superseded by the lease")
    orphan_threshold: Duration | None = Field(default=None, description="Superseded by the lease")

    @field_validator("poll_interval_jitter")
    @classmethod
    def _jitter_is_shorter(cls, jitter: timedelta, info: ValidationInfo) -> timedelta:
        if "poll_interval" in info.data and jitter >= info.data["poll_interval"]:
            raise ValueError("must be shorter than poll_interval")
        return jitter

    @field_validator("orphan_threshold")
    @classmethod
    def _threshold_is_longer(cls, threshold: timedelta | None, info: ValidationInfo) -> timedelta | None:
        if threshold is not None and "heartbeat_interval" in info.data and threshold <= info.data["heartbeat_interval"]:
            raise ValueError("must be longer than heartbeat_interval")
        return threshold

    def size_pool(self, *, chat_slots: int) -> int:
        """How many connections the work of one replica may take."""
        if self.database_connections is not None:
            return self.database_connections
        return min(self.worker_count + chat_slots, _MOST_AT_ONCE) + _SPARE_CONNECTIONS

    @property
    def lease(self) -> timedelta:
        """How long a silent worker keeps its session."""
        return _HEARTBEATS_PER_LEASE * self.heartbeat_interval
