"""Counters and their labels, as they are scraped."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from midwatch.domain.session import SessionStatus
from midwatch.domain.tools import ToolKind
from midwatch.safety.machine import Phase
from midwatch.telemetry.labels import MOST_VALUES, OTHER, Admission, Label, clean_value
from midwatch.telemetry.metrics import Metrics, NoMeters
from midwatch.telemetry.series import (
    CATALOGUE,
    ENDED,
    FSM_FINAL_BLOCKS,
    FSM_TOOL_BLOCKS,
    MODEL_SECONDS,
    QUEUED,
    REFUSALS,
    STRICT_BLOCKS,
    TAKEN_OVER,
    WATCHERS,
)
from tests.scraping import Samples, read_samples


def scrape(metrics: Metrics) -> Samples:
    return read_samples((metrics.render() or b"").decode())


def test_what_is_counted_is_scraped_with_its_labels() -> None:
    metrics = Metrics()
    metrics.count(REFUSALS, ("FSM_BLOCKED", "deck.restart"))
    metrics.count(REFUSALS, ("FSM_BLOCKED", "deck.restart"), by=2)
    metrics.count(TAKEN_OVER)
    metrics.observe(MODEL_SECONDS, ("openai", "gpt"), seconds=1.5)
    metrics.show(QUEUED, amount=7)
    metrics.move(WATCHERS, by=2)
    metrics.move(WATCHERS, by=-1)
    samples = scrape(metrics)
    assert samples.value("midwatch_ai_refusals_total", code="FSM_BLOCKED", tool="deck.restart") == 3
    assert samples.value("midwatch_orphans_recovered_total") == 1
    assert samples.value("midwatch_llm_duration_seconds_count", provider="openai", model="gpt") == 1
    assert samples.value("midwatch_llm_duration_seconds_sum", provider="openai", model="gpt") == 1.5
    assert samples.value("midwatch_sessions_queued") == 7
    assert samples.value("midwatch_ws_connections_active") == 1


def test_each_replica_counts_for_itself_and_the_common_registry_stays_out_of_it() -> None:
    one, other = Metrics(), Metrics()
    one.count(TAKEN_OVER)
    assert scrape(one).value("midwatch_orphans_recovered_total") == 1
    assert scrape(other).value("midwatch_orphans_recovered_total") == 0
    assert not [family.name for family in REGISTRY.collect() if family.name.startswith("midwatch")]


def test_all_values_that_are_known_are_there_from_the_start() -> None:
    samples = scrape(Metrics())
    assert samples.value("midwatch_ai_fsm_final_block_total", state="VERIFYING") == 0
    assert samples.value("midwatch_ai_fsm_final_block_total", state="WRITING") == 0


def test_a_value_outside_the_known_ones_is_other() -> None:
    metrics = Metrics()
    metrics.count(FSM_TOOL_BLOCKS, ("ASLEEP", "deck.restart", "burn"))
    assert scrape(metrics).value("midwatch_ai_fsm_tool_block_total", state=OTHER, tool="deck.restart", kind=OTHER) == 1


def test_ever_new_values_are_counted_as_other_and_none_is_lost() -> None:
    metrics = Metrics()
    for number in range(MOST_VALUES * 3):
        metrics.count(STRICT_BLOCKS, ("deck.act", f"action {number}"))
    samples = scrape(metrics).of("midwatch_ai_strict_resolution_block_total")
    assert len(samples) == MOST_VALUES + 1
    assert sum(samples.values()) == MOST_VALUES * 3
    assert samples[OTHER, "deck.act"] == MOST_VALUES * 2


def test_a_series_has_so_many_combinations_and_no_more() -> None:
    metrics = Metrics()
    for number in range(3_000):
        metrics.count(REFUSALS, (f"C{number % 30}", f"t{number // 30}"))
    samples = scrape(metrics).of("midwatch_ai_refusals_total")
    assert len(samples) == 1_001
    assert sum(samples.values()) == 3_000
    assert samples[OTHER, OTHER] > 0


def test_odd_spellings_of_a_value_are_not_remembered_one_by_one() -> None:
    metrics = Metrics()
    for number in range(10_000):
        metrics.count(REFUSALS, ("X", "deck.tool" + "\u200b" * number))
    assert len(scrape(metrics).of("midwatch_ai_refusals_total")) <= 2


@pytest.mark.parametrize(
    ("written", "cleaned"),
    [
        ("", "unknown"),
        (" \t\n", "unknown"),
        ("a b\n c", "a_b_c"),
        ("a\x1b[31mb\x00", "a[31mb"),
        ("\u202egnp.exe", "gnp.exe"),
        ("x" * 1_000_000, "x" * 64),
        ("Grüße", "Grüße"),
    ],
)
def test_a_value_becomes_one_short_visible_word(written: str, cleaned: str) -> None:
    assert clean_value(written) == cleaned


@given(st.text(max_size=300))
def test_whatever_a_label_is_given_a_parser_reads_back_what_was_admitted(value: str) -> None:
    metrics = Metrics(catalogue=[STRICT_BLOCKS])
    metrics.count(STRICT_BLOCKS, (value, "act"))
    text = (metrics.render() or b"").decode()
    families = [family for family in text_string_to_metric_families(text) if "strict" in family.name]
    (sample,) = [sample for family in families for sample in family.samples]
    assert sample.labels == {"tool": Admission(Label("tool")).admit(value), "action": "act"}
    assert len(text.splitlines()) == len([line for line in text.split("\n") if line])


def test_the_known_values_are_the_words_of_the_rooms_that_count() -> None:
    state, _, kind = FSM_TOOL_BLOCKS.labels
    assert state.known == {str(phase) for phase in Phase}
    assert kind.known == {str(kind) for kind in ToolKind}
    (owed,) = FSM_FINAL_BLOCKS.labels
    assert owed.known is not None
    assert owed.known < {str(phase) for phase in Phase}
    _, status = ENDED.labels
    assert status.known == {str(status) for status in SessionStatus if status.is_terminal}


def test_names_are_unique_and_ours() -> None:
    names = [series.name for series in CATALOGUE]
    assert len(set(names)) == len(names)
    assert all(name.startswith("midwatch_") for name in names)


def test_where_nothing_is_counted_nothing_is_shown() -> None:
    meters = NoMeters()
    meters.count(TAKEN_OVER)
    meters.observe(MODEL_SECONDS, ("a", "b"), seconds=1)
    meters.show(QUEUED, amount=1)
    meters.move(WATCHERS, by=1)
    assert meters.render() is None
