"""`midwatch check-config` says what `serve` would say, and starts nothing."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from midwatch.cli.group import group
from midwatch.config.builtins import PROVIDERS_BY_KEY
from midwatch.kit.json import decode

EXAMPLE = Path(__file__).parents[2] / "config" / "example"


def check(*arguments: str, **environ: str | None) -> Result:
    env = {"CONFIG_DIR": None, **dict.fromkeys(PROVIDERS_BY_KEY), **environ}
    return CliRunner().invoke(group, ["check-config", *arguments], env=env)


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    (tmp_path / "midwatch.yaml").write_text("queue: {orphan_threshold: 5m, worker_count: 0}\nagnts: {}\n")
    (tmp_path / "llm-providers.yaml").write_text("llm_providers: {}\n")
    return tmp_path


def test_a_sound_folder_is_counted(tmp_path: Path) -> None:
    result = check("--config-dir", str(EXAMPLE))
    assert result.exit_code == 0
    assert (
        result.output == "ok: 9 agents, 2 chains, 2 MCP servers, 18 LLM providers, 0 skills, with the built-in ones\n"
    )
    assert check(CONFIG_DIR=str(EXAMPLE)).output == result.output
    assert list(tmp_path.iterdir()) == []


def test_warnings_and_problems_are_told_one_per_line(broken: Path) -> None:
    result = check("--config-dir", str(broken))
    assert result.exit_code == 2
    warning, first, second = result.output.splitlines()
    assert warning.startswith("warning: midwatch.yaml:1: queue.orphan_threshold: has no effect")
    assert first == "error: midwatch.yaml:1: queue.worker_count: must be at least 1"
    assert second == 'error: midwatch.yaml:2: unknown key "agnts"; did you mean "agents"?'


def test_a_script_can_read_it(broken: Path) -> None:
    told = decode(check("--config-dir", str(broken), "--json").output.encode())
    assert (told["ok"], len(told["problems"]), len(told["warnings"]), told["counts"]) == (False, 2, 1, None)
    sound = decode(check("--config-dir", str(EXAMPLE), "--json").output.encode())
    assert (sound["ok"], sound["problems"], sound["counts"]["mcp_servers"]) == (True, [], 2)


def test_without_a_folder_it_checks_what_serve_would_take() -> None:
    assert check().exit_code == 0
    assert "warning: no configuration: the demo model investigates" in check().output
    assert "demo model" not in check(OPENAI_API_KEY="k").output


def test_help_says_what_the_exit_status_means() -> None:
    assert "Exit status: 0 usable, 2 misconfigured." in check("--help").output
