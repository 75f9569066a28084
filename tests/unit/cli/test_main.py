"""The front of the program: help at once, commands loaded when they are run, words for whoever mistypes."""

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from midwatch import __version__
from midwatch.cli.catalogue import HELPS, TARGETS, render_help, render_version
from midwatch.cli.group import group

PROGRAM = Path(sys.executable).with_name("midwatch")
HEAVY = ("click", "rich", "pydantic", "structlog", "asyncio", "fastapi", "sqlalchemy", "mcp")


def run(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *arguments], env=environ, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("arguments", [[], ["-h"], ["--help"], ["--version"]])
def test_what_is_answered_at_once_is_what_click_would_say(arguments: list[str]) -> None:
    quick = run(*arguments)
    assert (quick.returncode, quick.stderr) == (0, "")
    slow = CliRunner().invoke(group, arguments, prog_name="midwatch")
    assert (slow.exit_code, slow.output) == (0, quick.stdout)
    assert quick.stdout == (render_version() if arguments == ["--version"] else render_help())


def test_the_help_names_every_option_that_click_knows() -> None:
    context = click.Context(group, info_name="midwatch", help_option_names=["-h", "--help"])
    known = {option for parameter in group.get_params(context) for option in parameter.opts}
    assert known == {"--version", "-h", "--help"}
    assert known <= set(render_help().replace(",", " ").split())
    assert group.get_usage(context) == render_help().splitlines()[0]


def test_the_help_is_told_without_loading_a_library() -> None:
    code = f"""
import sys
sys.argv = ["midwatch", "--help"]
from midwatch.cli.main import main
main()
print(*sorted(set(sys.modules) & set({HEAVY!r})), file=sys.stderr, end="")
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == render_help()


def test_the_first_command_to_try_comes_first() -> None:
    told = render_help()
    assert told.index("midwatch demo") < told.index("Start here:") < told.index("Check:") < told.index("Database:")
    assert max(map(len, told.splitlines())) <= 80
    assert told.isascii()


@pytest.mark.parametrize("name", TARGETS)
def test_every_command_is_where_the_catalogue_says_and_says_the_same_of_itself(name: str) -> None:
    command = group.get_command(click.Context(group), name)
    assert isinstance(command, click.Command)
    assert (command.name, command.get_short_help_str(limit=80)) == (name, HELPS[name])


def test_one_command_loads_no_other() -> None:
    code = """
import sys
from midwatch.cli.group import group
group(["completion", "--help"], standalone_mode=False)
print(sorted(name for name in sys.modules if name.startswith("midwatch.")))
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = ["midwatch.cli", "midwatch.cli.catalogue", "midwatch.cli.completion", "midwatch.cli.group"]
    assert result.stdout.splitlines()[-1] == str(loaded)


@pytest.mark.parametrize(
    ("typed", "meant"), [("docter", "doctor"), ("check_config", "check-config"), ("serv", "serve")]
)
def test_a_mistyped_command_is_met_with_the_right_one(typed: str, meant: str) -> None:
    result = run(typed)
    assert (result.returncode, result.stdout) == (2, "")
    assert f'there is no command "{typed}"; did you mean "{meant}"?' in result.stderr


def test_a_word_that_resembles_nothing_leads_to_the_list() -> None:
    assert "`midwatch --help` lists the commands" in run("xyzzy").stderr


def test_an_unknown_option_is_refused() -> None:
    result = run("--verbose")
    assert (result.returncode, result.stdout) == (2, "")
    assert "--verbose" in result.stderr


def test_the_version_is_that_of_the_package() -> None:
    assert render_version() == f"midwatch {__version__}\n"
