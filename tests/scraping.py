"""What is scraped, as samples that a test can ask for."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import httpx
from prometheus_client.parser import text_string_to_metric_families


@dataclass(frozen=True, slots=True)
class Samples:
    found: Mapping[str, Mapping[tuple[tuple[str, str], ...], float]]
    """By the name of the sample, then by its labels."""

    def value(self, name: str, **labels: str) -> float:
        """0 for what was never counted, as a query would have it."""
        return self.found.get(name, {}).get(tuple(sorted(labels.items())), 0.0)

    def total(self, name: str) -> float:
        return sum(self.found.get(name, {}).values())

    def of(self, name: str) -> dict[tuple[str, ...], float]:
        """By the values of the labels, in the order of their names."""
        return {tuple(value for _, value in labels): amount for labels, amount in self.found.get(name, {}).items()}

    @property
    def names(self) -> frozenset[str]:
        """Of all that has a value."""
        return frozenset(self.found)


def read_samples(text: str) -> Samples:
    found: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
    for name, labels, value in _list_samples(text):
        found.setdefault(name, {})[labels] = value
    return Samples(found)


def _list_samples(text: str) -> Iterator[tuple[str, tuple[tuple[str, str], ...], float]]:
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            yield sample.name, tuple(sorted(sample.labels.items())), sample.value


async def scrape(http: httpx.AsyncClient) -> Samples:
    answer = await http.get("/metrics")
    assert answer.status_code == 200, answer.text
    return read_samples(answer.text)
