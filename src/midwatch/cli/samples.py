"""Made-up alerts that come with Midwatch, each as a monitoring system would send it."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from midwatch.domain.errors import NotFound

_FOLDER = Path(__file__).parent / "sample_alerts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    name: str
    title: str
    text: str
    alert_type: str


@cache
def list_samples() -> tuple[Sample, ...]:
    """In the order of their names."""
    return tuple(_read(path) for path in sorted(_FOLDER.glob("*.yaml")))


def load_sample(name: str) -> Sample:
    """Raises NotFound."""
    for sample in list_samples():
        if sample.name == name:
            return sample
    raise NotFound("sample", name)


def _read(path: Path) -> Sample:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    return Sample(
        name=path.stem, title=content["title"], text=content["text"].strip(), alert_type=content["alert_type"]
    )
