"""The order of phases is a contract: no list of reading programs outvotes a guard or a known write."""

from itertools import product

import pytest

from midwatch.safety.shell.classify import classify, conclude
from midwatch.safety.shell.verdict import Finding, Intent, Phase, Risk, read_finding, write_finding
from tests.safety.requirements import requirement

READS = ["ls", "cat f", "git log", "kubectl get pods", "docker logs web", "psql -c 'select 1'", "curl http://h"]
GUARDED = [
    "sudo {}",
    "{} > f",
    "{} | tee f",
    "{}; rm f",
    "eval {}",
    "PATH=/tmp {}",
    "rm f && {}",
    "$x; {}",
    "{} | sh",
    "{}\nreboot",
    "`{}`",
    "{} & kill 1",
]


@requirement("shell:phase-order")
@pytest.mark.parametrize(("guard", "read"), list(product(GUARDED, READS)))
def test_a_guard_around_or_beside_a_reading_command_wins(guard: str, read: str) -> None:
    assert classify(read).reads
    assert not classify(guard.format(read)).reads


@requirement("shell:phase-order")
def test_the_phases_decide_in_their_order_wherever_they_stand() -> None:
    findings = [
        read_finding("read:a"),
        read_finding("read:b", conditional=True),
        write_finding("unknown", phase=Phase.UNKNOWN, risk=Risk.HIGH),
        Finding(Intent.WRITE, "content", Phase.INSPECT, Risk.HIGH),
        write_finding("known", phase=Phase.WRITE),
        write_finding("guard", phase=Phase.GUARD, risk=Risk.LOW),
    ]
    while findings:
        assert conclude("x", findings).rule == findings[-1].rule
        assert conclude("x", findings[::-1]).rule == findings[-1].rule
        findings.pop()
    assert conclude("x", []).rule == "read:nothing"


@requirement("shell:phase-order")
def test_the_phases_are_those_of_the_published_design_and_in_its_order() -> None:
    assert list(Phase) == [Phase.GUARD, Phase.WRITE, Phase.READ, Phase.INSPECT, Phase.UNKNOWN]


@requirement("shell:risk")
def test_a_list_has_the_risk_of_its_worst_part_also_when_another_part_decides() -> None:
    verdict = classify("$x; rm f; frobnicate")
    assert (verdict.rule, verdict.risk) == ("expansion:command", Risk.HIGH)
