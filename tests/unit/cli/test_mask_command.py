"""`midwatch mask`: shows the places and never the secrets."""

import sys
from pathlib import Path

import pytest

from midwatch.kit import json
from tests.commands import run_midwatch

TEXT = "pump hot\nuser=deck password=hunter2-deck\nmail mate@ship.example and cook@ship.example\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    transport = {"type": "stdio", "command": sys.executable}
    ticket = {"pattern": "OPS-[0-9]+", "replacement": "[TICKET]", "description": "tickets"}
    main = {
        "defaults": {"llm_provider": "fake", "alert_masking": {"pattern_group": "basic"}},
        "mcp_servers": {
            "deck": {"transport": transport, "data_masking": {"custom_patterns": [ticket]}},
            "open": {"transport": transport, "data_masking": {"enabled": False}},
        },
    }
    provider = {"type": "openai", "model": "fake", "base_url": "http://127.0.0.1:1/v1"}
    (tmp_path / "midwatch.yaml").write_text(json.encode_text(main))
    (tmp_path / "llm-providers.yaml").write_text(json.encode_text({"llm_providers": {"fake": provider}}))
    return tmp_path


def rows(output: str) -> list[list[str]]:
    return [line.split() for line in output.splitlines()]


def test_places_and_rules_are_listed_without_the_secrets(tmp_path: Path) -> None:
    file = tmp_path / "alert.txt"
    file.write_text(TEXT)
    result = run_midwatch("mask", file)
    assert (result.returncode, result.stderr) == (0, "")
    assert rows(result.stdout) == [
        ["line", "rule", "shown", "as", "count"],
        ["2", "password", "[MASKED_PASSWORD]", "1"],
        ["3", "email", "[MASKED_EMAIL]", "2"],
        ["3", "would", "be", "masked."],
    ]
    assert "hunter2" not in result.stdout


def test_a_dash_reads_what_is_piped_in() -> None:
    assert run_midwatch("mask", "-", stdin=TEXT).stdout.endswith("3 would be masked.\n")
    assert run_midwatch("mask", "-", stdin="all quiet").stdout == "Nothing would be masked.\n"
    assert run_midwatch("mask", "-", stdin=b"\xff\xfe password=hunter2-deck").stdout.endswith("1 would be masked.\n")


def test_the_masked_text_comes_out_as_it_would_be_stored() -> None:
    result = run_midwatch("mask", "--text", "-", stdin="\x1b[1mpassword=hunter2-deck\nno end of line")
    assert result.stdout == "\x1b[1mpassword=[MASKED_PASSWORD]\nno end of line"


def test_a_script_can_read_it() -> None:
    told = json.decode(run_midwatch("mask", "--json", "-", stdin=TEXT).stdout)
    assert told["count"] == 3
    assert told["findings"][0] == {"line": 2, "rule": "password", "placeholder": "[MASKED_PASSWORD]", "count": 1}


def test_the_rules_for_alerts_are_those_of_the_configuration(folder: Path) -> None:
    result = run_midwatch("mask", "--config-dir", folder, "-", stdin=TEXT)
    assert result.stdout.endswith("1 would be masked.\n")
    assert run_midwatch("mask", "-", stdin=TEXT, CONFIG_DIR=str(folder)).stdout == result.stdout


def test_the_rules_may_be_those_of_a_tool_server(folder: Path) -> None:
    result = run_midwatch("mask", "--config-dir", folder, "--server", "deck", "-", stdin="OPS-7 password=hunter2-deck")
    assert rows(result.stdout)[1:3] == [["1", "password", "[MASKED_PASSWORD]", "1"], ["1", "tickets", "[TICKET]", "1"]]


def test_masking_that_is_switched_off_is_said_to_be(folder: Path) -> None:
    result = run_midwatch("mask", "--config-dir", folder, "--server", "open", "-", stdin=TEXT)
    assert (result.returncode, result.stdout) == (0, "Nothing would be masked.\n")
    assert result.stderr == "warning: the configuration switches masking off here\n"


def test_an_unknown_server_is_met_with_the_known_ones(folder: Path) -> None:
    result = run_midwatch("mask", "--config-dir", folder, "--server", "dekc", "-", stdin="x")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith('error: there is no tool server "dekc"; did you mean "deck"? (known: ')


@pytest.mark.parametrize("arguments", [["nowhere.txt"], ["--text", "--json", "-"], []])
def test_what_makes_no_sense_is_refused(arguments: list[str]) -> None:
    result = run_midwatch("mask", *arguments)
    assert (result.returncode, result.stdout) == (2, "")
