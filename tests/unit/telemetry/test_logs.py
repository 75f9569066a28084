"""Logs as a process writes them: each test starts one, so that no configuration leaks into the others."""

import json
import os
import pty
import subprocess
import sys
from textwrap import dedent
from typing import Any

import pytest

SECRET = "hunter2"


def run(code: str, *, level: str = "info", fmt: str | None = "json") -> list[str]:
    script = f"from midwatch.telemetry.logs import configure_logs\nconfigure_logs({level!r}, {fmt!r})\n{dedent(code)}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout == ""
    return done.stderr.splitlines()


def run_json(code: str, *, level: str = "info") -> list[dict[str, Any]]:
    return [json.loads(line) for line in run(code, level=level)]


def test_a_fact_is_one_line_of_json_on_stderr() -> None:
    (line,) = run_json("import structlog; structlog.get_logger().info('session_claimed', attempt=2)")
    assert line.pop("timestamp").endswith("Z")
    assert line == {"event": "session_claimed", "attempt": 2, "level": "info"}


def test_what_is_bound_to_the_context_comes_along_for_libraries_too() -> None:
    lines = run_json("""
        import logging, structlog
        with structlog.contextvars.bound_contextvars(session_id="s1"):
            structlog.get_logger().info("claimed")
            logging.getLogger("asyncio").warning("slow %s", "callback")
    """)
    assert [(line["event"], line["session_id"]) for line in lines] == [("claimed", "s1"), ("slow callback", "s1")]
    assert lines[1]["logger"] == "asyncio"
    assert lines[1]["level"] == "warning"


@pytest.mark.parametrize(("level", "told"), [("debug", ["d", "i", "e"]), ("info", ["i", "e"]), ("error", ["e"])])
def test_the_level_decides_what_is_told(level: str, told: list[str]) -> None:
    lines = run_json(
        "import structlog; log = structlog.get_logger(); log.debug('d'); log.info('i'); log.error('e')", level=level
    )
    assert [line["event"] for line in lines] == told


@pytest.mark.parametrize(("level", "told"), [("debug", ["w", "e"]), ("info", ["w", "e"]), ("error", ["e"])])
@pytest.mark.parametrize("library", ["uvicorn.access", "httpx", "mcp.client.stdio", "asyncio", "anything"])
def test_libraries_speak_from_warning_upwards(library: str, level: str, told: list[str]) -> None:
    lines = run_json(
        f"""
        import logging
        log = logging.getLogger({library!r}); log.info('i'); log.warning('w'); log.error('e')
        """,
        level=level,
    )
    assert [line["event"] for line in lines] == told


def test_a_library_that_set_itself_up_before_is_brought_into_line() -> None:
    (line,) = run_json("""
        import logging, sys
        from midwatch.telemetry.logs import configure_logs
        logger = logging.getLogger("uvicorn.error")
        logger.addHandler(logging.StreamHandler(sys.stdout)); logger.propagate = False; logger.setLevel("DEBUG")
        configure_logs("info", "json")
        logger.warning("w")
    """)
    assert line["event"] == "w"


FAILURE = f"""
    import structlog
    def fail(password):
        raise ValueError("broken")
    try:
        fail("{SECRET}"[:3] + "{SECRET}"[3:])
    except ValueError:
        structlog.get_logger().exception("session_crashed")
"""


@pytest.mark.parametrize("fmt", ["json", "text"])
def test_an_exception_is_told_without_the_values_of_its_variables(fmt: str) -> None:
    told = "\n".join(run(FAILURE, fmt=fmt))
    assert "ValueError: broken" in told
    assert "session_crashed" in told
    assert SECRET not in told


def test_a_failure_inside_the_mcp_library_does_not_quote_the_message_that_failed() -> None:
    (line,) = run_json(f"""
        import logging
        try:
            raise ValueError("input_value={SECRET}")
        except ValueError:
            logging.getLogger("mcp.client.stdio").exception("Failed to parse")
    """)
    assert line["event"] == "Failed to parse"
    assert line["error"] == "ValueError"
    assert SECRET not in json.dumps(line)


def test_a_failure_inside_another_library_is_told_whole() -> None:
    (line,) = run_json("""
        import logging
        try:
            raise ValueError("broken")
        except ValueError:
            logging.getLogger("asyncio").exception("Task exception was never retrieved")
    """)
    assert "ValueError: broken" in line["exception"]


def test_a_value_json_cannot_hold_does_not_lose_the_line() -> None:
    (line,) = run_json("import structlog; structlog.get_logger().info('odd', thing=object(), text='\\ud800')")
    assert line["event"] == "odd"


def test_without_a_format_a_pipe_gets_json() -> None:
    (line,) = run("import structlog; structlog.get_logger().info('x')", fmt=None)
    assert json.loads(line)["event"] == "x"


def test_text_in_a_pipe_has_no_colours() -> None:
    (line,) = run("import structlog; structlog.get_logger().info('x', a=1)", fmt="text")
    assert "x" in line
    assert "a=1" in line
    assert "\x1b" not in line


def test_without_a_format_a_person_at_a_terminal_gets_text() -> None:
    ours, theirs = pty.openpty()
    code = (
        "import structlog\nfrom midwatch.telemetry.logs import configure_logs\n"
        "configure_logs('info', None)\nstructlog.get_logger().info('watched', a=1)"
    )
    try:
        subprocess.run([sys.executable, "-c", code], stderr=theirs, check=True, timeout=30)
        told = os.read(ours, 4096).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert "watched" in told
    assert not told.startswith("{")


def test_logs_follow_stderr_when_it_is_replaced() -> None:
    assert run("""
        import io, logging, structlog, sys
        old, sys.stderr = sys.stderr, io.StringIO()
        structlog.get_logger().info("ours"); logging.getLogger("x").warning("theirs")
        caught, sys.stderr = sys.stderr, old
        assert len(caught.getvalue().splitlines()) == 2
    """) == []  # fmt: skip
