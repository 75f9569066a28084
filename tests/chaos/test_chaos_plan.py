"""Plans: the same seed is the same plan, and between them the seeds come everywhere."""

import json
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from tests.chaos.plan import Action, Place, Run, Tool, Transport, plan
from tests.chaos.witness import PLACES


@given(st.integers(min_value=0, max_value=2**32))
def test_the_same_seed_is_the_same_plan(seed: int) -> None:
    assert plan(seed) == plan(seed)


def test_another_process_makes_the_same_plan_of_a_seed() -> None:
    program = "import json; from tests.chaos.plan import plan; print(json.dumps(plan(7).as_json()))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == json.dumps(plan(7).as_json())


@given(st.integers(min_value=0, max_value=2**32))
def test_a_fault_strikes_a_session_and_a_call_that_there_are(seed: int) -> None:
    made = plan(seed)
    for fault in made.faults:
        session = made.sessions[fault.session]
        assert fault.run is Run.ALERT or session.questions
        assert (fault.place is Place.TOOL) == bool(fault.key)
        assert fault.key == "" or fault.key.startswith(f"{session.tag}.")


def test_two_hundred_seeds_come_everywhere() -> None:
    plans = [plan(seed) for seed in range(200)]
    faults = [fault for each in plans for fault in each.faults]
    sessions = [session for each in plans for session in each.sessions]
    stages = [stage for session in sessions for stage in session.stages]
    calls = [call for stage in stages for agent in stage.agents for turn in agent.turns for call in turn]
    assert {fault.action for fault in faults} == set(Action)
    assert {fault.place for fault in faults} == set(Place)
    assert {fault.run for fault in faults} == set(Run)
    assert {call.tool for call in calls} == set(Tool)
    assert {transport for session in sessions for _, transport in session.servers} == set(Transport)
    assert {len(session.stages) for session in sessions} == {1, 2, 3}
    assert {len(stage.agents) for stage in stages} == {stage.replicas for stage in stages} == {1, 2, 3}
    assert len({(fault.action, fault.place) for fault in faults}) > len(Action) * len(Place) * 2 / 3


def test_every_place_in_the_database_has_its_trigger() -> None:
    assert PLACES.keys() == set(Place) - {Place.STREAM, Place.TOOL}
