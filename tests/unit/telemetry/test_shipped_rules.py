"""The rules and the dashboard that ship: they name what is counted, and mean what they say."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from midwatch.kit import json
from midwatch.telemetry.metrics import Metrics
from midwatch.telemetry.series import CATALOGUE
from tests.deployed import DASHBOARD, RULES, list_expressions, list_named, list_panels, needs_promtool, promtool
from tests.safety.requirements import requirement

ROOT = Path(__file__).parents[3]
ALERTS = Path(__file__).with_name("alerts.yaml")


@requirement("telemetry:rules-ship")
def test_rules_and_dashboard_name_only_what_is_counted() -> None:
    known = {name for series in CATALOGUE for name in series.scraped_names}
    assert list_named() - known == set()


def test_everything_that_is_counted_is_shown_or_watched_somewhere() -> None:
    named = list_named()
    assert [series.name for series in CATALOGUE if named.isdisjoint(series.scraped_names)] == []


def test_labels_that_are_asked_for_belong_to_what_they_are_asked_of() -> None:
    labels = {name: series.labels for series in CATALOGUE for name in series.scraped_names}
    asked = re.compile(r"(midwatch_\w+)\{([^}]*)\}")
    found = [
        (name, word)
        for expression in list_expressions()
        for name, selector in asked.findall(expression)
        for word in re.findall(r"(\w+)\s*=~?", selector)
        if word != "instance" and word not in {label.name for label in labels[name]}
    ]
    assert found == []


def test_recorded_names_that_are_asked_for_are_recorded() -> None:
    recorded = {rule["record"] for rule in list_rules() if "record" in rule}
    asked = {name for expression in list_expressions() for name in re.findall(r"midwatch:[\w:]+", expression)}
    assert asked <= recorded


def test_every_alert_says_how_bad_it_is_and_what_it_is_about() -> None:
    alerts = [rule for rule in list_rules() if "alert" in rule]
    assert alerts
    assert all(rule["labels"]["severity"] in ("warning", "critical") for rule in alerts)
    assert all(rule["annotations"]["summary"] for rule in alerts)
    page = (ROOT / "docs" / "telemetry.md").read_text(encoding="utf-8")
    assert [rule["alert"] for rule in alerts if f"`{rule['alert']}`" not in page] == []


def test_panels_of_the_dashboard_have_their_own_ids_and_places() -> None:
    panels = list_panels()
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels]
    assert len(set(places)) == len(places)


def list_rules() -> Iterator[dict[str, Any]]:
    for group in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]:
        yield from group["rules"]


@needs_promtool
def test_prometheus_takes_the_rules() -> None:
    promtool("check", "rules", RULES)


@requirement("telemetry:rules-ship")
@needs_promtool
def test_the_alerts_ring_when_they_should_and_only_then() -> None:
    promtool("test", "rules", ALERTS)


@needs_promtool
def test_prometheus_can_read_every_query_of_the_dashboard(tmp_path: Path) -> None:
    queries = [query.replace("$instance", ".*") for query in list_expressions(DASHBOARD)]
    rules = [{"record": f"dashboard:query{number}", "expr": query} for number, query in enumerate(queries)]
    path = tmp_path / "queries.yaml"
    path.write_text(json.encode_text({"groups": [{"name": "dashboard", "rules": rules}]}), encoding="utf-8")
    promtool("check", "rules", path)


@needs_promtool
def test_prometheus_finds_no_fault_with_what_is_scraped_before_anything_has_happened() -> None:
    promtool("check", "metrics", stdin=(Metrics().render() or b"").decode())
