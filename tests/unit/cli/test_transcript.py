"""A transcript reads the same whether it is watched, caught up or read again, and shows nothing that can do harm."""

import json
from typing import Any

import pytest

from midwatch.cli.live.follow import Ended, Found, Lost, Seen, Told
from tests.unit.cli.recorded import (
    ANALYSIS,
    SESSION,
    analysis,
    call,
    called,
    chunk,
    closed,
    execution,
    opened,
    run,
    session,
    show,
    started,
    steps_of,
    tell,
)

THOUGHT = "The alert speaks of water on the deck. I look at the disks first, and then at what the pumps have to say."
WHOLE = run(
    opened("t1", "llm_thinking"),
    chunk("t1", THOUGHT[:20]),
    chunk("t1", THOUGHT[20:70]),
    closed("t1", "llm_thinking", THOUGHT),
    opened("r1", "llm_response"),
    closed("r1", "llm_response", "I look at the disks."),
    *called('{"disks": [{"mounted_on": "/", "used_percent": 97.2}], "notes": []}', metadata=call(arguments='{"a": 1}')),
    *analysis(),
)


def test_a_whole_session_at_eighty_columns() -> None:
    assert (
        show(WHOLE)
        == f"""\
alert    deck  chain deck-chain
session  {SESSION}
model    demo model  no language model: rules choose what to look at

── watch · stage 1 of 1 ────────────────────────────────────────────────────────
  The alert speaks of water on the deck. I look at the disks first, and then at
  what the pumps have to say.
  I look at the disks.
● midwatch-host.disks  {{"a":1}}  ✓ 0.2 s
  disks: 1 (mounted on /, used 97.2 %)

── analysis ────────────────────────────────────────────────────────────────────

What it is

The deck is wet.

 • rain
 • a wave

✓ completed in 3.2 s · 2 model calls · 1 tool call · 1,204 tokens · cost none
(demo model)
"""
    )


def test_a_whole_session_at_twenty_columns() -> None:
    shown = show(WHOLE, width=20)
    assert max(len(line) for line in shown.splitlines()) <= 20
    assert (
        shown.partition("\n── watch")[2]
        == """\
 · stage 1
of 1
  The alert speaks
  of water on the
  deck. I look at
  the disks first,
  and then at what
  the pumps have to
  say.
  I look at the
  disks.
●
midwatch-host.disks
{"a":1}  ✓ 0.2 s
  disks: 1 (mounted
  on /, used 97.2 %)

── analysis ────────

What it is

The deck is wet.

 • rain
 • a wave

✓ completed in 3.2 s
· 2 model calls · 1
tool call · 1,204
tokens · cost none
(demo model)
"""
    )


def test_a_wide_terminal_does_not_make_lines_that_nobody_can_read() -> None:
    shown = show(WHOLE, width=200)
    assert max(len(line) for line in shown.splitlines()) == 100
    assert "cost none (demo model)\n" in shown


def test_a_terminal_without_the_signs_gets_plain_ones() -> None:
    shown = show(WHOLE, encoding="ascii")
    assert '* midwatch-host.disks  {"a":1}  ok 0.2 s\n' in shown
    assert "\n-- watch ? stage 1 of 1 ----" in shown


def test_streamed_or_not_the_words_are_the_same() -> None:
    caught_up = [item for item in WHOLE if not (isinstance(item, Told) and item.event["type"] == "stream.chunk")]
    assert len(caught_up) < len(WHOLE)
    assert show(caught_up) == show(WHOLE)


def test_a_stream_is_shown_line_by_line_and_its_beginning_once() -> None:
    words = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    begun = [opened("t1", "llm_thinking"), *(chunk("t1", f"{word} ") for word in words.split())]
    shown = show([Seen(session()), started(), *begun])
    assert shown.endswith("  one two three four five six seven eight nine ten eleven twelve thirteen\n")
    finished = steps_of(show(run(*begun, closed("t1", "llm_thinking", f"{words} sixteen"))))
    assert finished.split() == [*words.split(), "sixteen"]


def test_what_was_missed_of_a_stream_is_shown_when_it_is_whole() -> None:
    words = [f"word{number}" for number in range(40)]
    whole = " ".join(words)
    steps = [
        opened("t1", "llm_thinking"),
        chunk("t1", whole[:100]),
        Lost(),
        Lost(),
        Found(),
        chunk("t1", whole[150:200]),
        closed("t1", "llm_thinking", whole),
    ]
    shown = steps_of(show(run(*steps)))
    lost = "· the connection is lost; trying to get it back\n"
    assert shown.count(lost) == 1
    assert shown.replace(lost, "").split() == words


def test_a_stream_that_became_another_text_is_shown_as_it_became() -> None:
    steps = [opened("t1", "llm_thinking"), chunk("t1", "I gu"), closed("t1", "llm_thinking", "I know.")]
    assert steps_of(show(run(*steps))) == "  I know.\n"


def test_two_who_think_at_once_are_not_mixed() -> None:
    first, second = ("a " * 60).strip(), ("b " * 60).strip()
    steps = [
        opened("t1", "llm_thinking"),
        chunk("t1", first[:50]),
        opened("t2", "llm_thinking"),
        chunk("t2", second),
        chunk("t1", first[50:]),
        closed("t1", "llm_thinking", first),
        closed("t2", "llm_thinking", second),
    ]
    assert steps_of(show(run(*steps))).split() == first.split() + second.split()


def test_several_agents_are_named() -> None:
    stage = {
        "id": "s1",
        "stage_name": "watch",
        "executions": [execution(), execution(execution_id="x2", agent_name="Bosun")],
    }
    steps = [Seen(session(stages=[stage])), closed("t1", "llm_thinking", "Hm.", execution_id="x2"), *called("dry")]
    assert steps_of(show(run(*steps))) == "  Bosun\n  Hm.\n● Mate midwatch-host.disks  ✓ 0.2 s\n  dry\n"


def test_a_model_that_is_cut_off_is_said_to_be() -> None:
    steps = [
        closed("t1", "llm_thinking", "I beg", status="interrupted"),
        closed("r1", "llm_response", "The de", status="interrupted"),
        tell("timeline_event.created", event_type="provider_retry", status="completed", content="the model is busy"),
        tell("timeline_event.created", event_type="error", status="completed", content="the model fell silent"),
        tell("timeline_event.created", event_type="provider_fallback", status="completed", content="a gave way to b"),
        tell("timeline_event.created", event_type="skill_loaded", status="completed", content="knots"),
    ]
    assert (
        steps_of(show(run(*steps)))
        == """\
  I beg
  [cut off]
  The de
  [cut off]
↻ trying again: the model is busy
✗ the model fell silent
↻ a gave way to b
· skill loaded: knots
"""
    )


def test_a_draft_that_is_no_conclusion_is_said_to_be_withdrawn_once() -> None:
    told_live = [closed("r1", "llm_response", "Done."), closed("r1", "llm_response", "Done.", status="withdrawn")]
    read_later = [closed("r1", "llm_response", "Done.", status="withdrawn")] * 2
    for steps in (told_live, read_later):
        assert steps_of(show(run(*steps, *called("up")))).startswith("  Done.\n  [withdrawn]\n● midwatch-host.disks")


def test_a_run_that_goes_on_elsewhere_drops_what_was_being_said() -> None:
    resumed = {"content": "The investigation goes on where it had stopped.", "metadata": {"attempts": 2}}
    steps = [
        opened("t1", "llm_thinking"),
        chunk("t1", "I was about"),
        tell("timeline_event.created", event_type="session_resumed", status="completed", **resumed),
        tell("session.resumed", attempts=2),
        chunk("t1", " to say"),
        opened("t2", "llm_thinking"),
        chunk("t2", "Again."),
        closed("t2", "llm_thinking", "Again."),
    ]
    assert steps_of(show(run(*steps))) == (
        "↻ The investigation goes on where it had stopped. (attempt 2)\n  I was about\n  Again.\n"
    )


REFUSAL = '{"error": {"code": "WRITES_OFF", "message": "changes are off", "hint": "Only read."}}'


@pytest.mark.parametrize(
    ("content", "fields", "expected"),
    [
        ("", {}, "✓ 0.2 s"),
        ("it leaks\nbadly", {}, "✓ 0.2 s\n  it leaks"),
        (
            REFUSAL,
            {"status": "failed", "metadata": call(call_state="refused", error_code="WRITES_OFF")},
            "✗ refused: WRITES_OFF 0.2 s\n  changes are off\n  hint: Only read.",
        ),
        (
            "the pump is gone",
            {"status": "failed", "metadata": call(error_code="tool_error")},
            "✗ failed: tool_error 0.2 s\n  the pump is gone",
        ),
        ("", {"status": "interrupted"}, "? outcome unknown 0.2 s"),
        ("", {"status": "timed_out"}, "✗ timed out 0.2 s"),
        ("", {"timestamp": "nonsense"}, "✓"),
    ],
)
def test_a_call_says_how_it_went(content: str, fields: dict[str, Any], expected: str) -> None:
    assert steps_of(show(run(*called(content, **fields)))) == f"● midwatch-host.disks  {expected}\n"


def test_a_refusal_is_told_once() -> None:
    refused = call(call_state="refused", error_code="WRITES_OFF")
    told = {"event_type": "tool_refused", "status": "completed", "content": REFUSAL}
    steps = [*called(REFUSAL, status="failed", metadata=refused), tell("timeline_event.created", **told)]
    assert show(run(*steps)).count("WRITES_OFF") == 1


def test_a_command_that_was_bounded_is_told_of() -> None:
    hint = "This is sent instead: tail -n 200 f"
    refusal = {"error": {"code": "READ_ONLY_VIOLATION", "message": "the command may never end", "hint": hint}}
    told = {"event_type": "tool_refused", "status": "completed", "metadata": {"policy_rule": "gate:rewrite"}}
    steps = [tell("timeline_event.created", content=json.dumps(refusal), **told), *called("ok")]
    assert steps_of(show(run(*steps))).startswith(f"· the command may never end. {hint}\n")


def test_the_last_reply_is_the_analysis_and_stands_there_once() -> None:
    shown = show(run(*analysis()))
    assert shown.count("wet") == 1
    assert shown.partition("analysis ─")[2].count("wet") == 1


def test_each_stage_ends_with_its_analysis() -> None:
    stages = [{"id": f"s{n}", "stage_name": f"n{n}", "stage_index": n, "executions": [execution()]} for n in (1, 2)]
    whole = session(total_stages=2, stages=stages)
    items = [Seen(whole), started(1, "look"), *analysis("It leaks."), started(2, "act"), *analysis(), Ended(whole)]
    shown = [line for line in show(items).splitlines() if line]
    assert [line.strip("─ ") for line in shown[3:7]] == [
        "look · stage 1 of 2",
        "It leaks.",
        "act · stage 2 of 2",
        "analysis",
    ]


def test_a_summary_stands_under_its_name_and_what_it_sums_up_once_below_it() -> None:
    names = (("look", "investigation"), ("Executive Summary", "exec_summary"))
    stages = [
        {"id": f"s{n}", "stage_name": name, "stage_index": n, "stage_type": kind, "executions": [execution()]}
        for n, (name, kind) in enumerate(names, start=1)
    ]
    whole = session(total_stages=2, stages=stages)
    summing_up = tell(
        "stage.status", status="started", stage_id="s2", stage_name=names[1][0], stage_index=2, stage_type=names[1][1]
    )
    items = [Seen(whole), started(1, "look"), *analysis(), summing_up, *analysis("In short: wet."), Ended(whole)]
    shown = show(items)
    assert shown.count("In short: wet.") == 1
    assert ANALYSIS.splitlines()[0].strip("# ") in shown.partition("analysis ─")[2]
    steps = [line.strip("─ ") for line in shown.splitlines() if line][3:7]
    assert steps == ["look · stage 1 of 2", "Executive Summary · stage 2 of 2", "In short: wet.", "analysis"]


def test_what_was_read_again_stands_under_its_stage() -> None:
    entry = closed("t1", "llm_thinking", "Hm.", stage_id="s1")
    items = [Seen(session()), entry, Ended(session())]
    assert steps_of(show(items)) == "  Hm.\n"


def test_a_session_that_never_began_still_has_an_end() -> None:
    ended = session(status="failed", stages=[], final_analysis=None, error_message="provider x: no key", warnings=["w"])
    items = [Seen(session(stages=[])), started(), Ended(ended)]
    assert (
        show(items).partition("stage 1 of 1")[2].lstrip("─ \n")
        == """\
! w
✗ provider x: no key
✗ failed after 3.2 s · 2 model calls · 1 tool call · 1,204 tokens · cost unknown
"""
    )


OTHER = [{"executions": [execution(llm_provider="openai")]}]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"estimated_cost_usd": 0.0}, "cost none (demo model)"),
        ({"estimated_cost_usd": 0.01234, "stages": OTHER}, "cost about $0.0123"),
        ({"estimated_cost_usd": 12.5, "stages": OTHER, "cost_completeness": "partial"}, "cost at least $12.50"),
        ({"stages": OTHER}, "cost unknown"),
        ({"duration_ms": None, "status": "cancelled"}, "✗ cancelled · "),
        ({"duration_ms": 65_000, "status": "timed_out"}, "✗ timed out after 1 min 5 s"),
        ({"llm_interaction_count": 1, "mcp_interaction_count": 0}, "1 model call · 0 tool calls"),
    ],
)
def test_the_last_line_says_what_it_took(fields: dict[str, Any], words: str) -> None:
    assert words in show(run(**fields)).replace("\n", " ")


HOSTILE = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\x9b1mbold\x9d52;c;ZXZpbA==\x9c\u202etxet\u202c\x08\x00\r\x1b]8;;http://evil\x1b\\link"


def test_nothing_from_outside_reaches_the_terminal_as_a_command() -> None:
    named = {"alert_type": HOSTILE, "chain_id": HOSTILE, "error_message": HOSTILE, "warnings": [HOSTILE]}
    evil = {"server_name": HOSTILE, "tool_name": HOSTILE, "arguments": HOSTILE, "error_code": HOSTILE}
    steps = [
        opened("t1", "llm_thinking"),
        chunk("t1", HOSTILE),
        closed("t1", "llm_thinking", HOSTILE),
        closed("r1", "llm_response", HOSTILE),
        *called(HOSTILE, metadata=evil, status="failed"),
        *called(f'{{"{HOSTILE}": "{HOSTILE}"}}'.replace("\r", "").replace("\x00", ""), metadata=evil),
        tell("timeline_event.created", event_type=HOSTILE, status="completed", content=HOSTILE),
        tell("stage.status", status="started", stage_id="s2", stage_name=HOSTILE, stage_index=HOSTILE),
    ]
    ended = run(*steps, **named, final_analysis=f"{HOSTILE} and &#x1b;[31m &#x202e;text &#155;1m")
    shown = show([Seen(session(**named)), *ended[1:]])
    assert [character for character in shown if not character.isprintable() and character != "\n"] == []
    assert not set("\u202e\u202c\x9b\x9c\x9d\x1b") & set(shown)
    assert "red" in shown
    assert "owned" not in shown


def test_markup_of_the_console_means_nothing() -> None:
    text = "[bold]x[/bold] :smile: [link=http://evil]y[/link]"
    assert steps_of(show(run(closed("t1", "llm_thinking", text)))) == f"  {text}\n"


def test_a_link_in_the_analysis_shows_where_it_leads() -> None:
    shown = show(run(final_analysis="See [the manual](https://evil.example/x)."))
    assert "https://evil.example/x" in shown


def test_events_nobody_knows_are_passed_over() -> None:
    odd = [
        tell("new.kind"),
        tell("timeline_event.created", status="completed"),
        tell("stream.chunk"),
        chunk("none", "x"),
    ]
    assert ANALYSIS.splitlines()[4].removeprefix("- ") in show(run(*odd, *analysis()))
