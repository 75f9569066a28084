"""What a run works with, handed in by wiring."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from midwatch.config.limits import Limits
from midwatch.config.load import Config
from midwatch.investigation.decisions import Decisions
from midwatch.kit.owned import OwnedTasks
from midwatch.knowledge.runbooks import Runbooks
from midwatch.llm.gateway import Gateway
from midwatch.llm.prices import Prices
from midwatch.store.engine import Store
from midwatch.telemetry.metrics import UNMETERED, Meters
from midwatch.telemetry.tracing import UNTRACED, Tracer
from midwatch.timeline.flush import Flusher
from midwatch.tools.gate import NoPins, Pins
from midwatch.tools.inflight import CallsInFlight
from midwatch.tools.sightings import Sightings
from midwatch.tools.workbench import Scopes


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    store: Store
    flusher: Flusher
    config: Config
    gateway: Gateway
    prices: Prices
    owned: OwnedTasks
    environ: Mapping[str, str]
    """Ours; tool servers inherit only what their configuration lets them."""
    secret_names: frozenset[str]
    """Variables that hold model keys."""
    limits: Limits = field(default_factory=Limits)
    sightings: Sightings = field(default_factory=Sightings)
    pins: Pins = field(default_factory=NoPins)
    calls: CallsInFlight = field(default_factory=CallsInFlight)
    decisions: Decisions = field(default_factory=Decisions)
    scopes: Scopes = field(default_factory=Scopes)
    """Tool servers that stay open when an execution is over."""
    runbooks: Runbooks = field(default_factory=Runbooks)
    meters: Meters = UNMETERED
    tracer: Tracer = UNTRACED
