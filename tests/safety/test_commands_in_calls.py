"""What a call would have something else run, found in its arguments."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midwatch.domain.tools import ToolResult
from midwatch.safety.queries import find_change
from midwatch.tools import commands
from midwatch.tools.commands import Command, takes_text
from midwatch.tools.contents import NamedContent, NamedContents, find_named, read_digest
from midwatch.tools.places import list_places
from tests.safety.requirements import requirement


def find_command(arguments: dict[str, Any], properties: dict[str, Any]) -> Command | None:
    return commands.find_command(list_places(arguments, properties))


def find_query_change(arguments: dict[str, Any]) -> str | None:
    return commands.find_query_change(list_places(arguments))


@requirement("gate:commands-judged")
@pytest.mark.parametrize(
    ("arguments", "text", "reads", "is_whole"),
    [
        ({"command": "ls -l"}, "ls -l", True, True),
        ({"cmd": "rm x"}, "rm x", False, True),
        ({"command": ["ls", "a b"]}, "ls 'a b'", True, False),
        ({"command": ["sh", "-c", "rm x"]}, "sh -c 'rm x'", False, False),
        ({"command": "find", "args": ["/", "-delete"]}, "find / -delete", False, False),
        ({"command": "find", "args": ["/", "-name", "core"]}, "find / -name core", True, False),
        ({"command": "ls", "arguments": "-l; rm x"}, "ls -l; rm x", False, False),
        ({"command": "ls", "argv": {"odd": 1}}, "ls", False, False),
        ({"command": 7}, "", False, False),
        ({"command": [7]}, "", False, False),
        ({"command": ["ls", 7]}, "", False, False),
        ({"command": None}, "", False, False),
    ],
)
def test_a_command_is_read_with_all_its_words(
    arguments: dict[str, Any],
    text: str,
    reads: bool,  # noqa: FBT001 - a parameter
    is_whole: bool,  # noqa: FBT001 - a parameter
) -> None:
    command = find_command(arguments, {})
    assert command is not None
    assert (command.verdict.command, command.verdict.reads, command.is_whole) == (text, reads, is_whole)


@requirement("gate:commands-judged")
@pytest.mark.parametrize(
    "arguments",
    [
        {"command": "uptime", "cmd": "rm x"},
        {"cmd": "rm x", "command": "uptime"},
        {"command": "echo '", "cmd": "rm x '"},
        {"commands": ["uptime", "rm x"]},
        {"commands": [["uptime"], ["rm", "x"]]},
        {"command_line": "rm x"},
        {"commandLine": "rm x"},
        {"CMD": "rm x"},
        {"cmdline": "rm x"},
        {"shell-command": "rm x"},
        {"cli_command": "rm x"},
        {"kubectlCommand": "rm x"},
        {"remoteCmds": ["uptime", "rm x"]},
        {"ssh_command_lines": ["uptime", "rm x"]},
        {"command": "", "extra_args": "; rm x"},
        {"command": "find", "cmd": "rm x", "cli-arguments": {}},
        {"bash_script": "uptime\nrm x"},
        {"request": {"command": "rm x"}},
        {"steps": [{"run": {"command": "uptime"}}, {"run": {"command": "rm x"}}]},
        {"args": {"cmd": "rm x"}},
    ],
)
def test_every_command_counts_however_it_is_named_and_wherever_it_stands(arguments: dict[str, Any]) -> None:
    command = find_command(arguments, {})
    assert command is not None
    assert not command.verdict.reads
    assert "rm x" in command.verdict.command


@requirement("gate:commands-judged")
@pytest.mark.parametrize(
    "arguments",
    [
        {"command": "uptime", "cmd": "ls"},
        {"commands": ["uptime", "ls -l"]},
        {"commands": []},
        {"request": {"command": "find", "args": ["/", "-name", "core"], "argv": []}},
        {"args": {"command": "uptime"}},
        {"command": "uptime", "args": None, "env": {}, "shell": True},
        {"command": "uptime", "env": {"LANG": "C"}, "shell": "/usr/bin/bash"},
        {"command": "uptime", "env": None, "environment_variables": "", "shell": None, "executable": ""},
        {"command": "uptime", "shell": "ash", "interpreter": "/bin/dash", "executable": "/usr/local/bin/sh"},
        {"command": "uptime", "args": ["-p"], "then": {"command": "ls"}},
        {"command": "uptime", "then": {"cmd": "ls", "args": ["-l"], "shell": "sh", "env": ["LANG=C"]}},
        {"command": "uptime", "environment": "production", "shell": "sh"},
        {"command": "uptime", "env": ["LANG=C", "TZ"], "executable": "/bin/sh", "shell": "dash"},
        {"command": "uptime", "target": {"environment": "production", "args": [], "shell": False}},
    ],
)
def test_what_stands_beside_a_command_may_be_harmless(arguments: dict[str, Any]) -> None:
    command = find_command(arguments, {})
    assert command is not None
    assert command.verdict.reads
    assert command.is_readable


@requirement("gate:commands-judged")
@pytest.mark.parametrize(
    "arguments",
    [
        {"command": "uptime", "env": {"LD_PRELOAD": "/tmp/x.so"}},
        {"command": "uptime", "env": {"A B": "x"}},
        {"command": "uptime", "env": {"PATH": None}},
        {"command": "uptime", "environment": ["LANG=C", "PATH=/tmp"]},
        {"command": "uptime", "env_vars": "LANG=C LD_PRELOAD=/tmp/x.so"},
        {"command": "uptime", "env": [{"name": "PATH", "value": "/tmp"}]},
        {"command": "uptime", "env": ["LANG=C", {"name": "PATH", "value": "/tmp"}]},
        {"command": "uptime", "env": 7},
        {"command": "uptime", "environmentVariables": {"PATH": "/tmp"}},
        {"command": "uptime", "envVars": {"PATH": "/tmp"}},
        {"command": "uptime", "options": {"env": {"PATH": "/tmp"}}},
        {"command": "uptime", "shell": "python3"},
        {"command": "uptime", "shell": "/tmp/bash"},
        {"command": "uptime", "shell": "ba/bin/sh"},
        {"command": "uptime", "shell": "bash -x"},
        {"command": "uptime", "shell": "bash", "executable": "sh"},
        {"command": "uptime", "interpreter": ["bash"]},
        {"command": "uptime", "options": {"shell": "zsh"}},
        {"command": "find", "options": {"args": ["/", "-delete"]}},
        {"command": "find /", "args": "#", "argv": ["-delete"]},
        {"commands": ["find /"], "args": ["-name", "core"]},
        {"command": {"line": "uptime"}},
        {"command": "uptime", "cmd": ["ls", 7]},
    ],
)
def test_what_stands_beside_a_command_may_make_another_of_it(arguments: dict[str, Any]) -> None:
    command = find_command(arguments, {})
    assert command is not None
    assert not command.verdict.reads
    assert not command.is_whole


@requirement("gate:commands-judged")
def test_a_command_within_an_object_can_be_replaced_there() -> None:
    near = find_command({"request": {"command": "top"}}, {})
    assert near is not None
    assert (near.place, near.is_whole) == (("request", "command"), True)
    deep = find_command({"spec": {"containers": [{"command": ["bash", "/x"]}]}}, {})
    assert deep is not None
    assert (deep.place, deep.lines, deep.verdict.reads) == (None, (), False)


@requirement("gate:commands-judged")
def test_variables_are_read_as_a_shell_would_be_told() -> None:
    command = find_command({"command": "uptime", "env": {"LANG": "a b=c", "TZ": "UTC"}}, {})
    assert command is not None
    assert command.lines == ("uptime", "LANG='a b=c' true", "TZ=UTC true")
    nothing = find_command({"commands": [], "env": {"LANG": "C"}}, {})
    assert nothing is not None
    assert (nothing.lines, nothing.place, nothing.is_whole) == (("LANG=C true",), None, False)


@requirement("gate:commands-judged")
def test_the_tools_own_lists_are_found_within_objects() -> None:
    choice = {"properties": {"command": {"enum": ["status"]}}}
    assert find_command({"of": {"command": "status"}}, {"of": choice}) is None
    assert find_command({"of": [{"command": "status"}]}, {"of": {"items": choice}}) is None
    assert find_command({"of": {"command": "status"}}, {"of": "odd"}) is not None
    assert find_command({"command": "status", "cmd": "uptime"}, {"command": {"enum": ["status"]}}) is not None


@requirement("gate:commands-judged")
def test_arguments_of_any_depth_are_searched() -> None:
    arguments: dict[str, Any] = {"command": "rm x"}
    for _ in range(5000):
        arguments = {"within": arguments}
    command = find_command(arguments, {})
    assert command is not None
    assert not command.verdict.reads


@requirement("gate:commands-judged")
def test_a_word_out_of_a_list_of_the_tools_own_is_no_command() -> None:
    assert find_command({"command": "restart"}, {"command": {"enum": ["status", "restart"]}}) is None
    assert find_command({"command": "restart"}, {"command": {"const": "restart"}}) is None
    for name in ("name", "subcommand", "sub_commands", "SUB-CMD", "commander", "shell", "args", "script"):
        assert find_command({name: "web"}, {}) is None


@requirement("gate:queries-judged")
@pytest.mark.parametrize(
    ("query", "change"),
    [
        ("DELETE FROM crew WHERE id = 1", "delete"),
        ("select 1; drop table crew", "drop"),
        ("  /* all is well */ insert into crew values (1)", "insert"),
        ("-- looking\nUPDATE crew SET name = 'x'", "update"),
        ("with gone as (delete from crew returning *) select * from gone", "delete"),
        ("TRUNCATE TABLE crew", "truncate"),
        ("create temporary table x (a int)", "create"),
        ("alter table crew add column a int", "alter"),
        ("grant all on crew to mate", "grant"),
        ("replace into crew values (1)", "replace"),
        ("merge into crew using x on a = b", "merge"),
        ("mutation { removePump(id: 1) { id } }", "mutation"),
        ("mutation Remove($id: ID!) { removePump(id: $id) { id } }", "mutation"),
        ("select * from crew into outfile '/tmp/x'", "file"),
        ("copy crew to program 'sh'", "copy"),
        ("copy (select 1) to program 'sh'", "file"),
        ("DROP MEASUREMENT cpu", "drop"),
        ("select pg_terminate_backend(pid) from pg_stat_activity", "function"),
        ("select pg_cancel_backend/* gently */ (7)", "function"),
        ("select \"setval\"('crew_id', 1)", "function"),
        ("SELECT pg_read_file('/etc/passwd')", "function"),
        ("select * from dblink_exec('x', 'drop table y')", "function"),
        ("select lo_import('/etc/passwd')", "function"),
        ("select sleep (100)", "function"),
        ("call remove_crew(7)", "run"),
        ("exec master.dbo.xp_cmdshell 'dir'", "run"),
        ("do $$ begin perform 1; end $$", "run"),
        ("execute immediate 'drop table crew'", "run"),
        ("copy crew from '/etc/passwd'", "copy"),
        ("load data local infile 'x' into table crew", "copy"),
        ("kill query 7", "kill"),
        ("shutdown", "kill"),
        ("set global read_only = 0", "set"),
        ("select 1; lock tables crew write", "lock"),
        ("select * from crew for update", "lock"),
        ("(select * from crew for no key update nowait)", "lock"),
        ("vacuum full crew", "upkeep"),
        ("reindex table crew", "upkeep"),
        ("refresh materialized view crew", "upkeep"),
        ("OPTIMIZE TABLE crew FINAL", "upkeep"),
        ("system reload config", "upkeep"),
    ],
)
def test_a_query_that_says_what_it_changes_is_heard(query: str, change: str) -> None:
    assert find_change(query) == change
    assert find_query_change({"query": query}) == change
    assert find_query_change({"sql": query}) == change
    assert find_query_change({"statement": query}) == change
    assert find_query_change({"queries": ["select 1", 7, query]}) == change
    assert find_query_change({"request": [{"rawSql": query}]}) == change


@requirement("gate:queries-judged")
@pytest.mark.parametrize(
    "query",
    [
        "sum(rate(http_requests_total[5m])) by (job)",
        "SELECT mean(usage) FROM cpu WHERE time > now() - 1h GROUP BY host",
        '{app="web"} |= "delete failed"',
        "delete failed",
        "update available",
        'level:error AND message:"drop table"',
        "fields @timestamp, @message | filter @message like /insert/ | limit 20",
        "SELECT count(*) FROM Transaction SINCE 1 hour ago",
        "query { pumps { id } }",
        "show tables",
        "select * from crew where note = 'waiting for update'",
        "waiting for update",
        "call failed",
        "execute failed",
        "copy from host to guest",
        "kill signal received",
        "vacuum pump",
        "set speed",
        "rate(node_sleep_seconds[5m])",
        "select jsonb_array_elements(doc) from t",
        "create alarm",
        "",
    ],
)
def test_other_queries_are_left_to_whoever_vouched_for_the_tool(query: str) -> None:
    assert find_change(query) is None
    assert find_query_change({"query": query, "sql": 7}) is None


@requirement("gate:queries-judged")
@pytest.mark.parametrize(
    "name",
    ["query", "queries", "sql", "statement", "statements", "sqlQuery", "sql_statement", "rawSql", "raw-query", "SQL"],
)
def test_some_names_speak_of_queries(name: str) -> None:
    assert find_query_change({name: "delete from crew"}) == "delete"
    assert find_query_change({f"{name}_note": "delete from crew"}) is None
    assert takes_text({name: {"type": "string"}})


WORDS = (
    *("insert", "replace", "update", "delete", "merge", "truncate", "create", "drop", "alter", "grant", "mutation"),
    *("file", "function", "run", "copy", "kill", "set", "lock", "upkeep"),
)


@given(st.text(max_size=300))
def test_no_query_is_too_odd_to_be_read(query: str) -> None:
    change = find_change(query)
    assert change is None or change in WORDS


def test_long_queries_are_read_in_good_time() -> None:
    for part in (
        "update a ",
        "grant ",
        "create a ",
        "/*",
        "; insert a ",
        "( ",
        "(copy a(",
        "for ",
        "; exec a.",
        "pg_create_",
    ):
        assert find_change(part * 20_000) in (None, *WORDS)


def test_who_does_not_say_what_it_takes_may_take_a_command() -> None:
    assert takes_text({})
    assert takes_text({"sql": {"type": "string"}})
    assert takes_text({"name": {"type": "string"}, "commandLine": {"type": "string"}})
    assert takes_text({"request": {"type": "object"}})
    assert takes_text({"name": {}})
    assert not takes_text({name: {"type": name} for name in ("string", "number", "integer", "boolean")})


@requirement("approval:files")
@pytest.mark.parametrize(
    ("arguments", "asking"),
    [
        ({"command": "bash /x", "host": "a"}, {"command": "sha256sum -- /x", "host": "a"}),
        ({"cmd": "bash '/a b'"}, {"cmd": "sha256sum -- '/a b'"}),
        ({"command": ["bash", "/a b"]}, {"command": ["sha256sum", "--", "/a b"]}),
        ({"command": "bash", "args": ["/x"], "on": "a"}, {"command": "sha256sum", "args": ["--", "/x"], "on": "a"}),
        ({"command": "bash", "args": "/x"}, None),
        ({"command": "bash", "args": ["/x"], "argv": []}, None),
        ({"run": {"command": "bash /x"}, "on": "a"}, {"run": {"command": "sha256sum -- /x"}, "on": "a"}),
        ({"run": {"cmd": "bash", "argv": ["/x"]}}, {"run": {"cmd": "sha256sum", "argv": ["--", "/x"]}}),
        ({"command": "bash /x", "shell": "bash"}, {"command": "sha256sum -- /x", "shell": "bash"}),
        ({"command": "uptime", "cmd": "bash /x"}, None),
        ({"commands": ["bash /x"]}, None),
        ({"command": "uptime", "env": {"LD_PRELOAD": "/x"}}, None),
        ({"command": "cd / && ./x"}, None),
    ],
)
def test_the_same_tool_is_asked_what_is_in_a_file(arguments: dict[str, Any], asking: dict[str, Any] | None) -> None:
    (file,) = find_named(arguments, {}).files
    assert file.asking == asking


@requirement("approval:files")
def test_a_call_may_name_a_file_that_nobody_can_be_asked_about() -> None:
    names = ("script_path", "manifestFile", "values_files", "playbook_path", "sql_filename", "patchFileNames")
    for name in (*names, "query_file", "template_path", "var_file", "vars_paths"):
        assert find_named({name: "x", "to": "web"}, {}) == NamedContents(files=(NamedContent(path="x", asking=None),))
    listed = find_named({"values_files": ["x", "", 7, "y"], "with": {"varsFile": "z"}}, {})
    assert [file.path for file in listed.files] == ["x", "y", "z"]
    assert find_named({"spec": {"template": {"script_path": "x"}}}, {}) == NamedContents()
    assert find_named({"script_path": "", "manifest_file": 7, "path": "/x", "script": "ls"}, {}) == NamedContents()
    both = find_named({"script_path": "x", "command": "bash y"}, {})
    assert [file.path for file in both.files] == ["x", "y"]


@requirement("approval:files")
def test_what_cannot_be_followed_in_a_command_is_said() -> None:
    assert find_named({"command": "`x`"}, {}).unclear == "`x`"
    assert find_named({"command": "bash", "args": ["/x", 7]}, {}).unclear == "its words are no command line"
    assert find_named({"command": "bash /x", "shell": "python3"}, {}).unclear == "its words are no command line"
    assert find_named({"command": "true", "cmd": "`x`"}, {}).unclear == "`x`"
    assert find_named({"command": "restart"}, {"command": {"enum": ["restart"]}}) == NamedContents()
    assert find_named({"spec": {"containers": [{"command": ["bash", "/x"]}]}}, {}) == NamedContents()


@requirement("approval:files")
def test_a_digest_is_read_only_where_it_is_beyond_doubt() -> None:
    one, other = "0a" * 32, "1b" * 32
    assert read_digest(ToolResult(content=f"{one}  /x\n")) == one
    assert read_digest(ToolResult(content=f"\\{one}  /a\\nb and again {one}")) == one
    assert read_digest(ToolResult(content=f"{one}  /x\n{other}  /y\n")) is None
    assert read_digest(ToolResult(content=f"{one}0  /x")) is None
    assert read_digest(ToolResult(content=f"Z{one}  /x")) is None
    assert read_digest(ToolResult(content=one.upper())) is None
    assert read_digest(ToolResult(content=one, error="EXECUTION_FAILED")) is None
    assert read_digest(None) is None
