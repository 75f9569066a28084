"""From messages to facts: each result belongs to its call, and what is no fact is not taken for one."""

from uuid import uuid4

import pytest

from midwatch.domain.messages import AssistantMessage, Message, ToolMessage
from midwatch.domain.tools import ToolCall
from midwatch.kit import json
from midwatch.llm.demo.answers import Answer, Disks, Memory, read_answer
from midwatch.llm.demo.observations import Exchange, gather_facts, list_exchanges
from midwatch.llm.demo.wording import build_command, say_size, show
from tests.unit.llm.demo.findings import QUIET, disk, memory


def ask(provider_id: str, name: str, arguments: str = "{}") -> AssistantMessage:
    call = ToolCall(call_id=uuid4(), provider_id=provider_id, name=name, arguments=arguments)
    return AssistantMessage(text="", calls=(call,))


def exchange(content: str | None, *, is_error: bool = False) -> Exchange:
    return Exchange(name="host.disks", arguments={}, content=content, is_error=is_error)


def test_ids_that_repeat_in_later_turns_do_not_mix_up_results() -> None:
    messages: list[Message] = [
        ask("call_0", "host.load"),
        ask("call_0", "host.disks", '{"a": 1}'),
        ToolMessage(provider_id="call_0", name="host.disks", content="second"),
        ask("call_0", "host.memory", "{oops"),
    ]
    assert list_exchanges(messages) == [
        Exchange(name="host.load", arguments={}, content=None),
        Exchange(name="host.disks", arguments={"a": 1}, content="second"),
        Exchange(name="host.memory", arguments={}, content=None),
    ]


@pytest.mark.parametrize(
    ("content", "is_error", "reason"),
    [
        (None, False, "no result"),
        ("[MASKED]", False, "answered in text that my rules cannot read"),
        ("[1, 2]", False, "answered in text that my rules cannot read"),
        ('{"weather": "fine"}', False, "answered in a form that my rules do not know"),
        ('{"pid": "none"}', False, "answered in a form that my rules do not know"),
        ('{"error": {"code": "DENIED", "message": "no"}}', True, "failed: `DENIED: no`"),
        (json.encode_text(QUIET["disks"]), True, "failed: "),
    ],
)
def test_what_is_no_fact_is_noted_with_its_reason(content: str | None, is_error: bool, reason: str) -> None:  # noqa: FBT001 - a column of the table
    facts = gather_facts([exchange(content, is_error=is_error)])
    assert facts.seen == ()
    assert [trouble.reason.startswith(reason) for trouble in facts.troubles] == [True]


@pytest.mark.parametrize(("tool", "answer"), QUIET.items(), ids=QUIET)
def test_every_answer_is_recognised_by_its_shape(tool: str, answer: dict[str, object]) -> None:
    found = read_answer(answer)
    assert isinstance(found, Answer)
    assert type(found).__name__.lower().replace("kernelmessages", "kernel_messages") == tool


def test_a_row_or_a_value_that_is_not_as_expected_is_left_out() -> None:
    broken = {**disk("/data", 99.0), "total_bytes": "much"}
    found = read_answer({"disks": [disk("/", 1.0), "row", {"mounted_on": 5}, broken], "notes": "none"})
    assert isinstance(found, Disks)
    assert [(row.mounted_on, row.total_bytes) for row in found.disks] == [("/", 100e9), ("/data", None)]
    assert found.notes == ()
    reading = read_answer({**memory(50.0), "available_bytes": -1})
    assert isinstance(reading, Memory)
    assert (reading.available_bytes, reading.used_percent) == (None, 50.0)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "`plain`"),
        ("a\nb\t c", "`a b c`"),
        ("a\x1b[31mb\u202ec", "`a [31mb c`"),
        ("a`b", "`` a`b ``"),
        ("", "` `"),
        ("x" * 500, f"`{'x' * 160}…`"),
    ],
)
def test_text_from_outside_is_shown_as_code_on_one_line(text: str, shown: str) -> None:
    assert show(text) == shown


def test_sizes_are_told_in_units_a_person_reads() -> None:
    told = [say_size(size) for size in (0, 999, 1000, 3_140_000_000, 2**63)]
    assert told == ["0 bytes", "999 bytes", "1.0 kB", "3.1 GB", "9.2 EB"]


def test_a_command_is_quoted_or_not_given_at_all() -> None:
    assert build_command("rm", "-i", "a b;c") == "rm -i 'a b;c'"
    assert build_command("rm", "-i", "a\nb") == ""
