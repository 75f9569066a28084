"""Everything that is counted, with its labels: one list, on which `/metrics`, documentation and rules agree."""

from dataclasses import dataclass
from enum import StrEnum

from midwatch.telemetry.labels import Label


class Shape(StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    name: str
    """As it is scraped."""
    shape: Shape
    meaning: str
    labels: tuple[Label, ...] = ()
    buckets: tuple[float, ...] = ()

    @property
    def scraped_names(self) -> tuple[str, ...]:
        """Those of its samples."""
        if self.shape is Shape.HISTOGRAM:
            return tuple(f"{self.name}_{part}" for part in ("bucket", "sum", "count"))
        return (self.name,)


_RUN_SECONDS = (5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 2400.0)
_WAIT_SECONDS = (0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0)
_MODEL_SECONDS = (0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 300.0)
_TOOL_SECONDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 90.0)
_REQUEST_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)

_ALERT_TYPE = Label("alert_type")
_PROVIDER = Label("provider")
_MODEL = Label("model")
_SERVER = Label("server")
_TOOL = Label("tool", most=200)
_CODE = Label("code")
_ERROR_CODE = Label("error_code")
_STATE = Label("state", frozenset({"RESOLVING", "READING", "WRITING", "VERIFYING"}))
_OWED_STATE = Label("state", frozenset({"WRITING", "VERIFYING"}))
_KIND = Label("kind", frozenset({"resolve", "read", "write", "ask"}))
_STATUS = Label("status", frozenset({"completed", "failed", "cancelled", "timed_out"}))
_TOKEN_TYPE = Label("type", frozenset({"input", "output", "thinking", "cache_read", "cache_write"}))
_METHOD = Label("method", frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}))
_PATH = Label("path", most=100)
_CLASS = Label("status", frozenset({"1xx", "2xx", "3xx", "4xx", "5xx"}))


_LISTED: list[Series] = []


def _list(series: Series) -> Series:
    _LISTED.append(series)
    return series


def _counter(name: str, meaning: str, *labels: Label) -> Series:
    return _list(Series(name=f"midwatch_{name}_total", shape=Shape.COUNTER, meaning=meaning, labels=labels))


def _gauge(name: str, meaning: str, *labels: Label) -> Series:
    return _list(Series(name=f"midwatch_{name}", shape=Shape.GAUGE, meaning=meaning, labels=labels))


def _timing(name: str, meaning: str, *labels: Label, buckets: tuple[float, ...]) -> Series:
    return _list(
        Series(name=f"midwatch_{name}_seconds", shape=Shape.HISTOGRAM, meaning=meaning, labels=labels, buckets=buckets)
    )


REFUSALS = _counter("ai_refusals", "Calls that were refused, each once, by code", _CODE, _TOOL)
FSM_TOOL_BLOCKS = _counter(
    "ai_fsm_tool_block", "Calls refused because of what happened to their target before", _STATE, _TOOL, _KIND
)
FSM_FINAL_BLOCKS = _counter(
    "ai_fsm_final_block", "Conclusions refused because a change had not been looked at", _OWED_STATE
)
STRICT_BLOCKS = _counter(
    "ai_strict_resolution_block", "Calls refused because nobody had found their target", _TOOL, Label("action")
)
ROUTING_BLOCKS = _counter(
    "ai_routing_mismatch_block",
    "Calls refused because they went to a host and something on it was meant",
    _TOOL,
    Label("target_kind"),
    Label("child_kind"),
)
PHANTOMS = _counter("ai_phantom_detected", "Answers that claimed what no tool had done or shown", _PROVIDER, _MODEL)
CLAIMS = _counter(
    "ai_claims",
    "What such answers said without grounds, by kind",
    Label("kind", frozenset({"action", "imitation", "state", "measurement"})),
)
RECOVERY_ATTEMPTS = _counter(
    "ai_auto_recovery_attempt", "Refusals that a model can put right by itself", _ERROR_CODE, _TOOL
)
RECOVERY_SUCCESSES = _counter(
    "ai_auto_recovery_success", "Such refusals after which the same tool succeeded", _ERROR_CODE, _TOOL
)
ITERATIONS = _counter("ai_agentic_iterations", "Turns of agents: questions that a model answered", _PROVIDER, _MODEL)

SUBMITTED = _counter("sessions_submitted", "Alerts that were accepted", _ALERT_TYPE)
ENDED = _counter("sessions_terminal", "Sessions that came to their end", _ALERT_TYPE, _STATUS)
SESSION_SECONDS = _timing(
    "session_duration", "How long sessions ran, waiting not counted", _ALERT_TYPE, _STATUS, buckets=_RUN_SECONDS
)
WAIT_SECONDS = _timing("session_wait", "How long sessions waited for a worker", _ALERT_TYPE, buckets=_WAIT_SECONDS)
ACTIVE = _gauge("sessions_active", "Sessions under way in all replicas")
QUEUED = _gauge("sessions_queued", "Sessions of all replicas that wait for a worker")
WORKERS = _gauge("workers", "Slots of this replica that run sessions")
BUSY_WORKERS = _gauge("workers_active", "Slots of this replica that are running one")
TAKEN_OVER = _counter("orphans_recovered", "Sessions taken over from a replica that went away")
STAGE_OUTCOMES = _counter("action_stage_outcomes", "Stages of agents that act, by how they ended", _STATUS)

MODEL_CALLS = _counter("llm_calls", "Calls of models, failed ones included", _PROVIDER, _MODEL)
MODEL_ERRORS = _counter("llm_errors", "Calls of models that failed", _PROVIDER, _MODEL, _CODE)
MODEL_SECONDS = _timing("llm_duration", "How long calls of models took", _PROVIDER, _MODEL, buckets=_MODEL_SECONDS)
TOKENS = _counter("llm_tokens", "Tokens as providers counted them", _PROVIDER, _MODEL, _TOKEN_TYPE)
FALLBACKS = _counter(
    "llm_fallbacks", "Times that one provider gave way to another", Label("from_provider"), Label("to_provider")
)

TOOL_CALLS = _counter("mcp_calls", "Calls of tools that passed the gate and came to an end", _SERVER, _TOOL)
TOOL_ERRORS = _counter("mcp_errors", "Those of them that failed", _SERVER, _TOOL, _CODE)
TOOL_SECONDS = _timing("mcp_duration", "How long calls of tools took", _SERVER, _TOOL, buckets=_TOOL_SECONDS)
SERVER_HEALTH = _gauge("mcp_health_status", "1 when the tool server was well when last looked at, else 0", _SERVER)

REQUESTS = _counter("http_requests", "Requests that were answered", _METHOD, _PATH, _CLASS)
REQUEST_SECONDS = _timing(
    "http_duration", "How long answering took, until the last byte", _METHOD, _PATH, buckets=_REQUEST_SECONDS
)
WATCHERS = _gauge("ws_connections_active", "Open WebSocket connections of this replica")
DATABASE_UP = _gauge("database_up", "1 when the database answered this scrape, else 0")
BUILD = _gauge("build_info", "Always 1; the label says which version runs", Label("version"))

CATALOGUE = tuple(_LISTED)
