"""The analysis in Markdown. Every number in it comes from a tool result or is marked as the alert's."""

from collections.abc import Iterator, Sequence

from midwatch.llm.demo.alert_text import LONGEST
from midwatch.llm.demo.answers import Answer, Overview
from midwatch.llm.demo.case import Advice, Case, Point, Problem, Wish
from midwatch.llm.demo.needs import PROFILES, Need
from midwatch.llm.demo.observations import Seen
from midwatch.llm.demo.steps import TOPICS, Plan, find_problems
from midwatch.llm.demo.symptoms import Symptom
from midwatch.llm.demo.thresholds import ROUNDS_OF_CALLS
from midwatch.llm.demo.wording import say_number, show

FOOTER = "Written by Midwatch's demo model: rules, no language model. Configure a model for real investigations."
_MOST_POINTS = 12
_MOST_NOTES = 6
_MOST_ADVICE = 6


def render_report(case: Case, plan: Plan, *, forced: bool) -> str:
    """`forced`: there were no tools any more when the report was asked for."""
    problems = find_problems(case)
    sections = (
        ("Root cause", [" ".join(_say_cause(case, problems)), f"How sure: {_say_certainty(case, problems)}"]),
        ("Evidence", [_list(_say_evidence(case, problems)) or "None: no tool told me anything."]),
        ("What I did not check", [_list(_say_unchecked(case, plan, forced=forced))]),
        ("What to do next", [_list(_say_advice(case, problems))]),
    )
    return "\n\n".join((*("\n\n".join((f"## {title}", *paragraphs)) for title, paragraphs in sections), FOOTER))


def _say_cause(case: Case, problems: Sequence[Problem]) -> Iterator[str]:
    leading = _leading(case, problems)
    if leading:
        yield leading.headline
        if not leading.explained:
            yield "Why that is so, I could not see."
    elif not case.facts.seen:
        yield "I cannot say: no tool told me anything about the machine."
    elif problems:
        yield f"I see no sign of what the alert reports ({', '.join(case.symptoms)})."
        yield f"Something else stands out: {problems[0].headline}"
    else:
        yield f"No problem found: {say_alert(case)}, and nothing that I could check is out of bounds."
    yield from _say_other_machine(case)
    if not leading and case.clues.percents:
        yield f"The alert itself speaks of {say_number(max(case.clues.percents))} %; what I measured is below."


def _leading(case: Case, problems: Sequence[Problem]) -> Problem | None:
    if not problems:
        return None
    concerns = problems[0].symptom in case.symptoms or Symptom.UNKNOWN in case.symptoms
    return problems[0] if concerns else None


def say_alert(case: Case) -> str:
    if Symptom.UNKNOWN in case.symptoms:
        return "the alert matches none of the kinds of trouble that I know"
    return f"the alert reads like {' and '.join(case.symptoms)}"


def _say_certainty(case: Case, problems: Sequence[Problem]) -> str:
    leading = _leading(case, problems)
    if not case.facts.seen:
        return "not at all sure."
    if leading is None:
        return "fairly sure, for what the tools show at this moment. What has passed already may leave nothing to see."
    if leading.symptom not in case.symptoms:
        return "not very sure. The alert matches none of my rules; this is what I found when I looked around."
    if leading.explained:
        return "fairly sure. What the alert reports is there, and a likely cause of it was seen too."
    return "half sure. What the alert reports is there; its cause is not among what I saw."


def _say_other_machine(case: Case) -> Iterator[str]:
    overview = case.facts.last(Overview)
    here = overview.answer.hostname if overview else None
    if here and case.clues.hosts and _first_label(here) not in map(_first_label, case.clues.hosts):
        named = show(case.clues.hosts[0])
        yield f"**The alert names {named}, but the tools looked at {show(here)}**: this may be the wrong machine."


def _first_label(host: str) -> str:
    return host.lower().partition(".")[0]


def _say_evidence(case: Case, problems: Sequence[Problem]) -> Iterator[str]:
    topics = [TOPICS[symptom] for symptom in dict.fromkeys((*case.symptoms, *TOPICS)) if symptom in TOPICS]
    found = (point for problem in problems for point in problem.evidence)
    points: dict[str, Point] = {}
    for point in (*found, *(point for topic in topics for point in topic.read(case))):
        points.setdefault(point.text, point)
    yield from (f"{show(point.source)}: {point.text}" for point in list(points.values())[:_MOST_POINTS])


def _say_unchecked(case: Case, plan: Plan, *, forced: bool) -> Iterator[str]:
    reason = "I was told to conclude before I came to it" if forced else "there is no tool for it that I can use"
    yield from (f"{_title(need)}: {reason}." for need in _needs(plan.untold))
    yield from (f"{_title(need)}: I stop after {ROUNDS_OF_CALLS} rounds of calls." for need in _needs(plan.unreached))
    yield from (f"{show(trouble.source)} {trouble.reason}." for trouble in case.facts.troubles[:_MOST_NOTES])
    notes = {note: seen.source for seen in reversed(case.facts.seen) for note in reversed(seen.answer.notes)}
    yield from (f"{show(source)} notes: {show(note)}" for note, source in list(reversed(notes.items()))[:_MOST_NOTES])
    cut = dict.fromkeys(seen.source for seen in case.facts.seen if seen.answer.truncated and not _is_short(seen))
    yield from (f"{show(source)} showed only a part of its list." for source in cut)
    if case.alert.is_cut:
        yield f"The end of the alert: I read its first {LONGEST} characters."
    if case.alert.has_runbook:
        yield "The runbook: my rules do not read runbooks."
    if case.alert.earlier:
        yield "What earlier stages wrote: my rules do not read it."
    yield "Anything that has to be understood: I match words and numbers, and know only a few kinds of trouble."


def _is_short(seen: Seen[Answer]) -> bool:
    """As it was asked to be."""
    return not seen.arguments.keys().isdisjoint(("limit", "lines"))


def _needs(wishes: Sequence[Wish]) -> list[Need]:
    return list(dict.fromkeys(wish.need for wish in wishes))


def _title(need: Need) -> str:
    title = PROFILES[need].title
    return title[0].upper() + title[1:]


def _say_advice(case: Case, problems: Sequence[Problem]) -> Iterator[str]:
    if _leading(case, problems) is None:
        yield "See whether the alert still fires. If it does, look at what it measures, on the machine that it names."
    if not case.facts.seen:
        yield "See whether the tool servers can be started; `midwatch check-config` reads the configuration."
    first = [problem for problem in problems if problem.symptom is problems[0].symptom]
    advice = dict.fromkeys(step for problem in first for step in problem.advice)
    yield from (_say_step(step) for step in list(advice)[:_MOST_ADVICE])


def _say_step(step: Advice) -> str:
    command = f": `{step.command}`" if step.command and "`" not in step.command else ""
    mark = f" **Destructive:** {step.destroys}." if step.destroys else ""
    return f"{step.text}{command}{mark}" if command else f"{step.text}."


def _list(lines: Iterator[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
