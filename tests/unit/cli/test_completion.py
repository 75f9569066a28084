"""The Tab key: a real shell asks, as its user would make it ask."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(sys.executable).with_name("midwatch")


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=60)


def complete_in_bash(*words: str) -> list[str]:
    """Fills in what bash gives to a completion function, and prints what it made of it."""
    typed = " ".join(f"'{word}'" for word in words)
    script = f"""
        eval "$(midwatch completion bash)" || exit 1
        complete -p midwatch >&2
        COMP_WORDS=({typed}) COMP_CWORD={len(words) - 1} COMPREPLY=()
        _midwatch_completion midwatch '{words[-1]}' '{words[-2]}'
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    result = run("bash", "--norc", "-c", script)
    assert result.returncode == 0, result.stderr
    assert result.stderr == "complete -o nosort -F _midwatch_completion midwatch\n"
    return result.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["midwatch", "che"], ["check-config"]),
        (["midwatch", "d"], ["demo", "doctor", "db"]),
        (["midwatch", "completion", "z"], ["zsh"]),
        (["midwatch", "check-config", "--js"], ["--json"]),
        (["midwatch", "--vers"], ["--version"]),
        (["midwatch", "xyz"], []),
    ],
)
def test_bash_completes_commands_and_what_they_take(words: list[str], offered: list[str]) -> None:
    assert complete_in_bash(*words) == offered


@pytest.mark.parametrize(
    ("shell", "place", "hook"),
    [
        ("bash", "~/.bashrc", "complete -o nosort -F"),
        ("zsh", "~/.zshrc", "#compdef midwatch"),
        ("fish", "~/.config/fish/completions/midwatch.fish", "complete --no-files --command midwatch"),
    ],
)
def test_the_first_line_says_where_the_script_goes(shell: str, place: str, hook: str) -> None:
    result = run(PROGRAM, "completion", shell)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("# ")
    assert place in result.stdout.splitlines()[0]
    assert hook in result.stdout
    assert place in run(PROGRAM, "completion", "--help").stdout


def test_an_unknown_shell_is_told_which_are_known() -> None:
    result = run(PROGRAM, "completion", "tcsh")
    assert result.returncode == 2
    assert "'bash', 'zsh', 'fish'" in result.stderr
