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


@requirement("approval:files")
def test_words_tell_what_a_yes_would_be_bound_to() -> None:
    told = run("--explain", "sudo bash /opt/fix.sh", "`x`", "cat /opt/fix.sh").stdout
    assert told.count("acts by what is in /opt/fix.sh") == 1
    assert "cannot be approved: `x` cannot be followed" in told


def test_the_shell_that_would_run_it_matters() -> None:
    assert json.loads(run("sort {a,b}").stdout)["kind"] == "read"
    assert json.loads(run("--shell", "sh", "sort {a,b}").stdout)["kind"] == "write"


def test_one_cannot_have_both_words_and_json() -> None:
    assert run("--explain", "--json", "ls").returncode == 2


CONFIG = """
defaults: {llm_provider: m}
safety: {control_level: controlled}
mcp_servers:
  k8s: {transport: {type: stdio, command: x}, kinds: {read: [get*, run]}, targets: {scale: "deploy:{name}"}}
agents: {a: {mcp_servers: [k8s]}}
agent_chains: {c: {alert_types: [t], stages: [{name: s, agents: [{name: a}]}]}}
"""


def write_config(folder: Path) -> list[str]:
    (folder / "midwatch.yaml").write_text(CONFIG)
    (folder / "llm-providers.yaml").write_text(
        'llm_providers: {m: {type: openai, model: m, base_url: "http://127.0.0.1:1/v1"}}'
    )
    return ["--config-dir", str(folder)]


@requirement("gate:judged")
def test_a_call_is_judged_by_the_configuration(tmp_path: Path) -> None:
    calls = [
        '{"server": "k8s", "tool": "scale", "arguments": {"name": "web"}}',
        '{"tool": "k8s.get_pods", "arguments": "{}"}',
        '{"tool": "k8s.run", "arguments": {"command": "rm x"}}',
        '{"tool": "k8s.scale"}',
        '{"tool": "k8s.scale", "arguments": "{"}',
        '{"tool": "k8s.other", "annotations": {"readOnlyHint": false, "destructiveHint": true}}',
    ]
    done = run(*write_config(tmp_path), *calls, "ls")
    judged = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, done.stderr) == (0, "")
    keys = ("kind", "rule", "risk", "targets", "decision", "policy_rule")
    assert [[each[key] for key in keys] for each in judged[:3]] == [
        ["write", "unknown", "unknown", ["deploy:web"], "ask", "level:controlled"],
        ["read", "operator:read:get*", "read_only", ["mcp:k8s"], "allow", "operator:read:get*"],
        ["write", "shell:verb:writes", "high", ["mcp:k8s"], "ask", "level:controlled"],
    ]
    assert [(each["decision"], each["code"]) for each in judged[3:5]] == [("refuse", "INVALID_INPUT")] * 2
    assert (judged[5]["rule"], judged[5]["risk"]) == ("annotation:write", "high")
    assert all(each["definition"] == "unknown" for each in judged[:6])
    assert judged[6]["command"] == "ls"


def test_calls_are_read_from_lines_and_told_in_words(tmp_path: Path) -> None:
    folder = write_config(tmp_path)
    done = run(*folder, given='{"tool": "k8s.get_pods"}\n{"command": "ls"}\n{"tool": 5}\n')
    assert [json.loads(line)["kind"] for line in done.stdout.splitlines()] == ["read", "read", "write"]
    assert done.returncode == 1
    words = run(*folder, "--explain", '{"tool": "k8s.get_pods"}').stdout.splitlines()
    assert "policy_rule: operator:read:get*" in words


def test_a_refusal_by_the_level_is_told_with_its_code(tmp_path: Path) -> None:
    folder = write_config(tmp_path)
    (tmp_path / "midwatch.yaml").write_text(CONFIG.replace("controlled", "read_only"))
    (judged,) = map(json.loads, run(*folder, '{"tool": "k8s.set"}').stdout.splitlines())
    assert (judged["decision"], judged["code"], judged["policy_rule"]) == (
        "refuse",
        "READ_ONLY_VIOLATION",
        "level:read_only",
    )


def test_a_server_that_is_not_configured_and_a_broken_configuration_are_told(tmp_path: Path) -> None:
    done = run(*write_config(tmp_path), '{"tool": "nope.get"}')
    assert (done.returncode, "there is no MCP server nope" in done.stderr) == (2, True)
    (tmp_path / "midwatch.yaml").write_text("mcp_servers: 7")
    assert run("--config-dir", str(tmp_path), '{"tool": "k8s.get"}').returncode == 2
