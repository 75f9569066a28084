"""Counters of one replica, in a registry of its own. Rooms name a series and its labels; the library stays in here."""

from collections.abc import Iterable
from functools import partial
from itertools import product
from typing import Generic, Protocol, TypeVar, assert_never, final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from midwatch.telemetry.labels import OTHER, Admission
from midwatch.telemetry.series import CATALOGUE, Series, Shape

_MOST_CHILDREN = 1_000
"""Combinations of labels that one series may have; any further one is all `other`."""

Child = TypeVar("Child", Counter, Gauge, Histogram)

# A time of birth for every child would double what is scraped, and nothing of ours asks for it.
disable_created_metrics()


class Meters(Protocol):
    def count(self, series: Series, values: tuple[str, ...] = (), *, by: float = 1) -> None:
        """`values` are those of the labels, in the order of the series."""
        ...

    def observe(self, series: Series, values: tuple[str, ...] = (), *, seconds: float) -> None: ...

    def show(self, series: Series, values: tuple[str, ...] = (), *, amount: float) -> None:
        """Of a gauge: this is what it is now."""
        ...

    def move(self, series: Series, *, by: float) -> None:
        """Of a gauge without labels: it is so much more, or less."""
        ...

    def render(self) -> bytes | None:
        """The text that is scraped; None when nothing is counted."""
        ...


@final
class NoMeters:
    """Counts nothing."""

    def count(self, series: Series, values: tuple[str, ...] = (), *, by: float = 1) -> None:
        """Nobody asks."""

    def observe(self, series: Series, values: tuple[str, ...] = (), *, seconds: float) -> None:
        """Nobody asks."""

    def show(self, series: Series, values: tuple[str, ...] = (), *, amount: float) -> None:
        """Nobody asks."""

    def move(self, series: Series, *, by: float) -> None:
        """Nobody asks."""

    def render(self) -> bytes | None:
        return None


UNMETERED = NoMeters()


@final
class Metrics:
    def __init__(self, catalogue: Iterable[Series] = CATALOGUE) -> None:
        self._registry = CollectorRegistry()
        self._counters: dict[str, _Family[Counter]] = {}
        self._gauges: dict[str, _Family[Gauge]] = {}
        self._histograms: dict[str, _Family[Histogram]] = {}
        for series in catalogue:
            self._register(series)
        ProcessCollector(registry=self._registry)

    def count(self, series: Series, values: tuple[str, ...] = (), *, by: float = 1) -> None:
        self._counters[series.name].child(values).inc(by)

    def observe(self, series: Series, values: tuple[str, ...] = (), *, seconds: float) -> None:
        self._histograms[series.name].child(values).observe(max(seconds, 0.0))

    def show(self, series: Series, values: tuple[str, ...] = (), *, amount: float) -> None:
        self._gauges[series.name].child(values).set(amount)

    def move(self, series: Series, *, by: float) -> None:
        self._gauges[series.name].child(()).inc(by)

    def render(self) -> bytes | None:
        return generate_latest(self._registry)

    def _register(self, series: Series) -> None:
        names = [label.name for label in series.labels]
        match series.shape:
            case Shape.COUNTER:
                counter = Counter(series.name, series.meaning, names, registry=self._registry)
                self._counters[series.name] = _Family(series, counter)
                self._counters[series.name].begin_at_zero()
            case Shape.GAUGE:
                gauge = Gauge(series.name, series.meaning, names, registry=self._registry)
                self._gauges[series.name] = _Family(series, gauge)
            case Shape.HISTOGRAM:
                make = partial(Histogram, series.name, series.meaning, names, registry=self._registry)
                self._histograms[series.name] = _Family(series, make(buckets=series.buckets))
            case _ as never:
                assert_never(never)


class _Family(Generic[Child]):
    """One series and its children, found by the values as they are given."""

    def __init__(self, series: Series, parent: Child) -> None:
        self._admissions = [Admission(label) for label in series.labels]
        self._parent = parent
        self._children: dict[tuple[str, ...], Child] = {(): parent} if not series.labels else {}

    def child(self, values: tuple[str, ...]) -> Child:
        found = self._children.get(values)
        return self._admit(values) if found is None else found

    def begin_at_zero(self) -> None:
        """Where all values are known: a rate needs something to rise from."""
        known = [admission.label.known for admission in self._admissions]
        if known and all(known):
            for values in product(*(sorted(each or ()) for each in known)):
                self.child(values)

    def _admit(self, values: tuple[str, ...]) -> Child:
        admitted = tuple(admission.admit(value) for admission, value in zip(self._admissions, values, strict=True))
        if admitted not in self._children:
            # What is given in ever new spellings is cleaned each time: only the cleaned one is worth remembering.
            if len(self._children) >= _MOST_CHILDREN:
                admitted = (OTHER,) * len(admitted)
            self._children[admitted] = self._parent.labels(*admitted)
        return self._children[admitted]
