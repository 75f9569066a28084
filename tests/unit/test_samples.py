"""The made-up alerts that come with Midwatch."""

import pytest

from midwatch.cli.samples import Sample, list_samples, load_sample
from midwatch.config.load import load_config
from midwatch.domain.errors import NotFound
from midwatch.llm.demo.symptoms import Symptom, find_symptoms

EXPECTED = {
    "all-quiet": Symptom.UNKNOWN,
    "cpu": Symptom.CPU,
    "disk": Symptom.DISK,
    "memory": Symptom.MEMORY,
    "port-conflict": Symptom.PORT,
    "service-down": Symptom.SERVICE,
    "slow-machine": Symptom.CPU,
}


def test_they_are_listed_in_order_and_each_is_about_something_else() -> None:
    assert {sample.name: find_symptoms(sample.text)[0] for sample in list_samples()} == EXPECTED
    assert [sample.name for sample in list_samples()] == sorted(EXPECTED)


@pytest.mark.parametrize("sample", list_samples(), ids=lambda sample: sample.name)
def test_each_has_a_title_and_a_type_that_is_taken_without_configuration(sample: Sample) -> None:
    assert sample.title
    assert sample.text == sample.text.strip()
    chains = load_config(None, environ={}).chains.values()
    assert any(sample.alert_type in chain.alert_types for chain in chains)


def test_one_is_found_by_its_name() -> None:
    assert load_sample("disk").title == "A file system fills up"
    with pytest.raises(NotFound, match="there is no sample tape"):
        load_sample("tape")
