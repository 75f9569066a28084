"""`midwatch classify` as a person or a script calls it."""

import json
import subprocess
import sys
from pathlib import Path

from tests.safety.requirements import requirement

PROGRAM = str(Path(sys.executable).with_name("midwatch"))
KEYS = ["command", "kind", "intent", "risk", "bounded", "sensitive", "egress", "rule", "rewrite"]


def run(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, "classify", *arguments], input=given, capture_output=True, text=True, check=False)


@requirement("shell:one-verdict")
def test_arguments_become_one_verdict_a_line_in_their_order() -> None:
    done = run("ls -la", "rm f", "tail -f f", "curl -s http://h")
    verdicts = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert [list(verdict) for verdict in verdicts] == [KEYS] * 4
    assert [verdict["kind"] for verdict in verdicts] == ["read", "write", "read", "read"]
    assert [verdict["bounded"] for verdict in verdicts] == [True, True, False, True]
    assert verdicts[1]["risk"] == "high"
    assert verdicts[2]["rewrite"] == "tail -n 200 f"
    assert verdicts[3]["egress"] == ["h"]


def test_lines_of_json_are_answered_line_by_line() -> None:
    done = run(given='{"command": "cat /etc/shadow"}\n{"command": "ls > f"}\n')
    first, second = (json.loads(line) for line in done.stdout.splitlines())
    assert (first["kind"], first["sensitive"], first["intent"]) == ("read", True, "read_only_certain")
    assert (second["kind"], second["rule"], second["command"]) == ("write", "redirect:write", "ls > f")


def test_a_line_that_is_no_command_is_a_write_and_is_reported() -> None:
    done = run(given='nonsense\n{"command": 5}\n[]\n{"command": "ls"}\n')
    assert [json.loads(line)["kind"] for line in done.stdout.splitlines()] == ["write", "write", "write", "read"]
    assert done.returncode == 1
    assert "error: line 1 is not" in done.stderr


def test_words_say_what_each_part_does_and_show_the_tree() -> None:
    done = run("--explain", "journalctl -f | grep x; ssh host cat /etc/shadow", "ls \x1b[2K")
    for expected in (
        "may go on for ever",
        "read:grep",
        "shows password hashes",
        "reaches host",
        "enters host:host",
        "pipeline",
        "(not parsed)",
    ):
        assert expected in done.stdout
    assert "\x1b" not in done.stdout


def test_words_offer_the_rewrite() -> None:
    assert "ends like this: tail -n 200 f" in run("--explain", "tail -f f").stdout


def test_the_shell_that_would_run_it_matters() -> None:
    assert json.loads(run("sort {a,b}").stdout)["kind"] == "read"
    assert json.loads(run("--shell", "sh", "sort {a,b}").stdout)["kind"] == "write"


def test_one_cannot_have_both_words_and_json() -> None:
    assert run("--explain", "--json", "ls").returncode == 2
