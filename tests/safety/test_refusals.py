"""The envelope: one table of codes, used, documented, and with a hint for each."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from midwatch.domain.tools import Refusal
from midwatch.safety.refusals import CODES, Code, build_refusal, name_failure, render_failure, render_refusal
from midwatch.tools.failure import FailureCode
from tests.safety.requirements import requirement

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "midwatch"
SHOUTED = re.compile(r"[A-Z]+(?:_[A-Z]+)*")
SEED = {
    "STRICT_RESOLUTION",
    "FSM_BLOCKED",
    "NOT_FOUND",
    "ACTION_NOT_ALLOWED",
    "POLICY_BLOCKED",
    "APPROVAL_REQUIRED",
    "INVALID_INPUT",
    "EXECUTION_FAILED",
    "ROUTING_MISMATCH",
    "EXECUTION_CONTEXT_UNAVAILABLE",
    "NO_AGENT",
    "READ_ONLY_VIOLATION",
    "SENSITIVE_COMMAND",
}


def codes_in(path: Path) -> Iterator[str]:
    """Codes of refusals and results, where they are written as words."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Call(func=ast.Name(id="Refusal" | "ToolResult"), keywords=keywords):
                values = [keyword.value for keyword in keywords if keyword.arg in ("code", "error")]
                yield from (value.value for value in values if isinstance(value, ast.Constant) and value.value)  # pyright: ignore[reportReturnType] - codes are texts
            case _:
                pass


@requirement("envelope:known-codes")
def test_every_code_that_is_used_stands_in_the_table() -> None:
    used = {code for path in SOURCES.rglob("*.py") for code in codes_in(path)}
    assert used
    assert used | set(FailureCode) <= set(CODES)
    assert set(CODES) == set(Code)
    assert set(CODES) >= SEED


@requirement("envelope:known-codes")
def test_every_code_stands_in_the_documentation_with_its_meaning() -> None:
    text = (ROOT / "docs" / "safety.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([A-Z_]+)` \| ([^|]+) \|$", text, flags=re.MULTILINE))
    assert rows == {code.value: facts.meaning for code, facts in CODES.items()}


@requirement("envelope:known-codes")
@pytest.mark.parametrize("code", Code)
def test_every_code_has_a_meaning_and_a_hint_in_plain_sentences(code: Code) -> None:
    facts = CODES[code]
    assert SHOUTED.fullmatch(code)
    for sentence in (facts.meaning, facts.hint):
        assert sentence.endswith(".")
        assert sentence[0].isupper()


@requirement("envelope:promised-details")
def test_a_refusal_says_what_its_code_promises_and_how_to_put_it_right() -> None:
    refusal = build_refusal(Code.STRICT_RESOLUTION, "not found", details={"resource_id": "a", "action": "b"})
    assert json.loads(render_refusal(refusal)) == {
        "ok": False,
        "error": {
            "code": "STRICT_RESOLUTION",
            "message": "not found",
            "blocked": True,
            "hint": CODES[Code.STRICT_RESOLUTION].hint,
            "details": {
                "resource_id": "a",
                "action": "b",
                "recovery_hint": CODES[Code.STRICT_RESOLUTION].hint,
                "auto_recoverable": True,
            },
        },
    }


@requirement("envelope:promised-details")
def test_a_refusal_that_keeps_a_promised_detail_back_is_a_mistake_of_ours() -> None:
    with pytest.raises(ValueError, match="STRICT_RESOLUTION always says action"):
        build_refusal(Code.STRICT_RESOLUTION, "not found", details={"resource_id": "a"})


def test_whoever_refuses_may_know_a_better_hint() -> None:
    assert build_refusal(Code.POLICY_BLOCKED, "no", hint="Wait.") == Refusal(
        code="POLICY_BLOCKED", reason="no", hint="Wait."
    )


def test_what_may_pass_later_is_said_to_be_retryable() -> None:
    refusal = build_refusal(Code.TARGET_BUSY, "busy", details={"targets": ["a"]})
    assert json.loads(render_refusal(refusal))["error"]["retryable"] is True


@requirement("envelope:unknown-is-failed")
@pytest.mark.parametrize("code", ["SOMETHING", "", None])
def test_a_failure_without_a_code_of_ours_is_execution_failed(code: str | None) -> None:
    assert name_failure(code) is Code.EXECUTION_FAILED
    assert json.loads(render_failure(code, "boom")) == {
        "ok": False,
        "error": {
            "code": "EXECUTION_FAILED",
            "message": "boom",
            "failed": True,
            "hint": CODES[Code.EXECUTION_FAILED].hint,
        },
    }


def test_a_call_that_never_ran_is_blocked_and_one_that_ran_has_failed() -> None:
    assert json.loads(render_failure("TIMEOUT", "slow"))["error"]["failed"] is True
    unsent = json.loads(render_failure("NOT_DISPATCHED", "late"))["error"]
    assert (unsent["blocked"], "failed" in unsent) == (True, False)
