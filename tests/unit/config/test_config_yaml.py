"""Files are read with their lines, their variables and no patience for ambiguity."""

import pytest

from midwatch.config.defaults import Defaults
from tests.unit.config.folder import Folder, stdio


def test_a_variable_is_replaced_before_parsing(folder: Folder) -> None:
    folder.change("command: serve-logs", "command: '{{.DIR}}/{{ .PROGRAM }}', args: [{{.ARGS}}]")
    transport = stdio(folder.load(DIR="/opt", PROGRAM="serve", ARGS="a, b"))
    assert transport.command == "/opt/serve"
    assert transport.args == ("a", "b")


def test_dollars_and_other_braces_are_left_alone(folder: Folder) -> None:
    folder.change("mcp_servers: [logs]", "custom_instructions: '$HOME ${HOME} {{ HOME }} {{.a.b}}'")
    assert folder.load(HOME="/root").agents["Reader"].custom_instructions == "$HOME ${HOME} {{ HOME }} {{.a.b}}"


def test_the_session_id_is_kept_for_later(folder: Folder) -> None:
    folder.change("mcp_servers: [logs]", "custom_instructions: '{{.SESSION_ID}}'")
    assert folder.load(SESSION_ID="x").agents["Reader"].custom_instructions == "{{.SESSION_ID}}"


@pytest.mark.parametrize("written", ["{{.GONE}}", "'{{.GONE}}'", "x{{.GONE}}", '"a # {{.GONE}}"'])
def test_a_missing_variable_is_told_once_and_nothing_else_about_its_line(folder: Folder, written: str) -> None:
    line = folder.change(
        "transport: {type: stdio, command: serve-logs}", f"transport:\n      type: stdio\n      command: {written}"
    )
    assert folder.problems() == (f"midwatch.yaml:{line + 2}: variable GONE is not set",)


def test_a_missing_variable_is_told_for_the_providers_too(folder: Folder) -> None:
    line = folder.change("http://localhost:1/v1", "{{.URL}}/v1", name="llm-providers.yaml")
    assert folder.problems() == (f"llm-providers.yaml:{line}: variable URL is not set",)


def test_an_empty_variable_is_set(folder: Folder) -> None:
    folder.change("command: serve-logs", "command: x, env: {A: '{{.EMPTY}}'}")
    assert stdio(folder.load(EMPTY="")).env == {"A": ""}


def test_a_missing_variable_in_a_comment_is_nobodys_business(folder: Folder) -> None:
    folder.change("    mcp_servers: [logs]", "    # {{.GONE}}\n    mcp_servers: [logs] # {{.GONE}}")
    assert folder.load().warnings == ()


def test_a_heading_inside_a_text_is_no_comment(folder: Folder) -> None:
    line = folder.change("mcp_servers: [logs]", "custom_instructions: |\n      # Look at {{.GONE}}\n")
    assert folder.problems() == (f"midwatch.yaml:{line + 1}: variable GONE is not set",)


def test_a_value_of_several_lines_does_not_move_the_lines_that_follow(folder: Folder) -> None:
    folder.change("mcp_servers: [logs]", "custom_instructions: '{{.TEXT}}'")
    line = folder.add("zzz: 1\n")
    assert folder.problems(TEXT="one\n\n\ntwo") == (f'midwatch.yaml:{line}: unknown key "zzz"',)


def test_a_key_written_twice_is_refused(folder: Folder) -> None:
    line = folder.add("agents: {}\n")
    assert folder.problems()[-1] == f'midwatch.yaml:{line}: key "agents" stands here a second time, first on line 4'


def test_a_key_written_twice_inside_an_entry_is_refused(folder: Folder) -> None:
    line = folder.change("mcp_servers: [logs]", "description: a\n    description: b")
    assert folder.problems() == (
        f'midwatch.yaml:{line + 1}: key "description" stands here a second time, first on line {line}',
    )


def test_anchors_and_merges_work_and_may_be_overridden(folder: Folder) -> None:
    folder.change(
        "agents:\n  Reader:\n",
        "agents:\n  First: &first {description: one, max_iterations: 3}\n"
        "  Second: &second\n    <<: *first\n    description: two\n  Third: *second\n  Reader:\n",
    )
    agents = folder.load().agents
    assert (agents["Second"].description, agents["Second"].max_iterations) == ("two", 3)
    assert agents["Third"] == agents["Second"]


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("agents:\n  a: [\n", 3, "not valid YAML: "),
        ("agents: {}\n\tqueue: {}\n", 2, "not valid YAML: "),
        ("agents: *nobody\n", 1, "not valid YAML: found undefined alias …"),
        ("agents: {}\n---\nqueue: {}\n", 2, "not valid YAML: but found another document"),
        ("queue: {}\nagents: \x07\n", 2, "not valid YAML: a control character stands here"),
        ("- agents\n", 1, "expected a mapping of keys to values"),
        ("agents: &a\n  x: *a\n", 1, "nested too deeply, or an alias points at what contains it"),
        ("queue: {}\nagents: !python/object:os.system {}\n", 2, "tags are not supported"),
        ("queue: !secret {}\n", 1, "tags are not supported"),
        ("queue: {}\nagents: {? [a, b] : c}\n", 2, "a key must be plain text"),
        ("queue: {}\nagents: {<<: text}\n", 2, "<< must point at a mapping"),
    ],
)
def test_what_is_not_plain_yaml_is_refused_with_its_line(folder: Folder, text: str, line: int, told: str) -> None:
    (folder.path / "midwatch.yaml").write_text(text, encoding="utf-8")
    assert folder.problems()[0].startswith(f"midwatch.yaml:{line}: {told}")


@pytest.mark.parametrize("depth", [60, 250, 5000])
def test_deep_nesting_is_refused_without_falling_over(folder: Folder, depth: int) -> None:
    folder.write("midwatch.yaml", "agents: " + "[" * depth + "]" * depth)
    assert folder.problems()[0].startswith("midwatch.yaml:1: nested too deeply")


def test_a_missing_variable_is_told_even_when_the_rest_is_not_yaml(folder: Folder) -> None:
    folder.write("midwatch.yaml", "agents: {{.GONE}}\nqueue: [\n")
    assert [problem.partition(": ")[0] for problem in folder.problems()] == ["midwatch.yaml:1", "midwatch.yaml:3"]


def test_both_files_are_read_before_giving_up(folder: Folder) -> None:
    folder.write("midwatch.yaml", "a: [")
    folder.write("llm-providers.yaml", "b: ]")
    assert [problem.partition(":")[0] for problem in folder.problems()] == ["llm-providers.yaml", "midwatch.yaml"]


def test_a_file_that_is_no_text_is_refused(folder: Folder) -> None:
    (folder.path / "midwatch.yaml").write_bytes(b"\xff\xfe\x00")
    assert folder.problems() == ("midwatch.yaml: cannot be read (UnicodeDecodeError)",)


def test_an_empty_file_is_an_empty_configuration(folder: Folder) -> None:
    folder.write("midwatch.yaml", "# nothing yet\n")
    config = folder.load()
    assert config.defaults == Defaults()
    assert config.chains == {}


def test_values_stay_as_they_were_written_where_text_is_wanted(folder: Folder) -> None:
    folder.change("command: serve-logs", "command: x, env: {PORT: 8080, DEBUG: yes, VERSION: 1.10, DAY: 2026-01-01}")
    assert stdio(folder.load()).env == {
        "PORT": "8080",
        "DEBUG": "yes",
        "VERSION": "1.10",
        "DAY": "2026-01-01",
    }


def test_the_folders_dotenv_is_beneath_the_environment(folder: Folder) -> None:
    folder.write(".env", "PROGRAM=from-file\nOTHER=other\n")
    folder.change("command: serve-logs", "command: '{{.PROGRAM}}', args: ['{{.OTHER}}']")
    config = folder.load(PROGRAM="from-environment")
    assert stdio(config).command == "from-environment"
    assert stdio(config).args == ("other",)
    assert config.environ["OTHER"] == "other"


def test_the_key_of_a_provider_may_come_from_the_dotenv(folder: Folder) -> None:
    folder.add("    api_key_env: KEY\n", name="llm-providers.yaml")
    folder.write(".env", "KEY=abc\n")
    assert folder.load().environ["KEY"] == "abc"
