"""The last step before a command is refused, and the first behind it: where a slip would let something pass."""

import pytest

from midwatch.safety.shell.classify import classify
from midwatch.safety.shell.programs.destinations import host_of, is_metadata
from midwatch.safety.shell.programs.sql import inspect_sql
from midwatch.safety.shell.quoting import expand_braces, remove_from_bare
from midwatch.safety.shell.verdict import Category, Intent, Risk


@pytest.mark.parametrize(
    "command", ["PATH= ls", "LD_PRELOAD= ls", "GIT_SSH=cat git log", "GIT_EXTERNAL_DIFF=cat git diff"]
)
def test_only_a_pager_may_be_switched_off_for_a_command(command: str) -> None:
    assert classify(command).rule == "assignment:changes-what-runs"


@pytest.mark.parametrize("command", ["LC_ALL=../x ls", "TZ=a/../../x date", "LANG=C/.. ls"])
def test_no_harmless_variable_leads_out_of_its_folder(command: str) -> None:
    assert classify(command).rule == "assignment:changes-what-runs"


@pytest.mark.parametrize("command", ["echo ${x#a|b}", "echo ${x%;*}", "echo ${x/a/<b}", "echo ${x//a\\/b/c}"])
def test_signs_of_the_shell_inside_an_expansion_are_not_understood(command: str) -> None:
    assert classify(command).rule == "expansion:unusual"


@pytest.mark.parametrize(
    "name",
    ['"/de$x"', '"/dev/$x"', '"/dev/tc$x/80"', '"/$x"', '"//$x"', '"/tmp/../$x"'],
)
def test_input_from_a_name_that_may_become_a_socket_is_not_reading(name: str) -> None:
    assert classify(f"cat < {name}").rule == "redirect:unknown"


@pytest.mark.parametrize("name", ['"/tmp/$x"', '"a$x"', "/dev/null", "/dev/stdin", "a/../b"])
def test_input_from_any_other_name_is_reading(name: str) -> None:
    assert classify(f"cat < {name}").reads


def test_a_command_may_have_32768_characters_and_no_more() -> None:
    longest = "echo ".ljust(32_768, "x")
    assert classify(longest).reads
    assert classify(f"{longest}x").rule == "guard:too-long"


@pytest.mark.parametrize(
    "command",
    ["nice tail -f x", "env -i tail -f x", "command tail -f x", "nohup tail -f x", "xargs tail -f", "sh -c 'tail -f x'",
     "kubectl exec p -- tail -f x", "docker exec c tail -f x"],
)  # fmt: skip
def test_an_endless_command_stays_endless_inside_another(command: str) -> None:
    assert classify(command).endless is Category.STREAM


def test_a_command_that_is_stopped_in_time_is_not_endless() -> None:
    assert classify("timeout 5 tail -f x").bounded


@pytest.mark.parametrize(
    "host",
    ["metadata", "metadata.google.internal", "metadata.goog", "instance-data", "metadata.azure.com", "169.254.169.254",
     "169.254.170.2", "169.254.169.253", "100.100.100.200", "[fd00:ec2::254]"],
)  # fmt: skip
def test_every_address_that_hands_out_credentials_is_known(host: str) -> None:
    assert is_metadata(host_of(f"http://{host}/x"))


@pytest.mark.parametrize("value", ["$y", "${y}", '"a"', "'a'", "a$y", "$(date)", "a", "1"])
def test_what_stands_in_for_an_unset_variable_may_be_any_word(value: str) -> None:
    assert classify(f"echo ${{x:-{value}}}").reads


@pytest.mark.parametrize(
    ("names", "rule"),
    [
        ("sudo doas su pkexec runuser sg newgrp gosu su-exec setpriv capsh run0", "guard:privilege"),
        ("eval source . trap", "guard:evaluates"),
        ("tee", "guard:tee"),
    ],
)
def test_some_programs_are_refused_by_name_whatever_they_are_given(names: str, rule: str) -> None:
    verdicts = {name: classify(f"{name} --help") for name in names.split()}
    assert {name: (verdict.rule, verdict.risk) for name, verdict in verdicts.items()} == dict.fromkeys(
        names.split(), (rule, Risk.HIGH)
    )


@pytest.mark.parametrize("text", ["{1..3", "{a..", "x{..y"])
def test_a_range_that_is_not_closed_is_unknown(text: str) -> None:
    assert expand_braces(remove_from_bare(text)[0]) is None


def test_sql_that_the_parser_gives_up_on_is_refused_without_a_log(caplog: pytest.LogCaptureFixture) -> None:
    assert inspect_sql("vacuum accounts", dialect="postgres") == "sql:writes"
    assert not caplog.records


@pytest.mark.parametrize("operator", ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"])
def test_every_comparison_of_numbers_evaluates_what_it_compares(operator: str) -> None:
    assert classify(f"[[ $x {operator} 5 ]]").rule == "test:evaluates"


@pytest.mark.parametrize("command", ["kubectl get pods -n $x", "kubectl get pods -n *", "journalctl -u $x"])
def test_the_value_of_an_option_is_one_word(command: str) -> None:
    assert classify(command).rule == "expansion:option"
    assert classify(command.replace("$x", '"$x"').replace("*", '"*"')).reads


@pytest.mark.parametrize("command", ["sh -c 'nice date'", "sh -c 'bash -c date'", "docker exec c nice date"])
def test_what_is_uncertain_outside_is_uncertain_inside(command: str) -> None:
    assert {found.intent for found in classify(command).findings if found.rule == "read:date"} == {Intent.CONDITIONAL}


@pytest.mark.parametrize("command", ["while read x\ndo\necho a\ndone", "while read x; do echo a; done"])
def test_a_loop_may_be_written_on_lines_of_its_own(command: str) -> None:
    assert classify(command).reads


def test_a_rewriting_that_does_not_end_either_is_not_proposed() -> None:
    assert classify("watch tail -f x").rewrite is None


def test_a_rewriting_spells_out_what_braces_stand_for() -> None:
    assert classify("less {a,b}").rewrite == "cat a b | head -200"
