"""Prompts as templates. A missing variable is an error, never an empty line.

What comes from outside, such as the alert, stands between fences that carry a random word: text inside cannot close
the fence it does not know.
"""

import secrets
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template


@cache
def load_template(name: str) -> Template:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701 -- prompts are text, not markup
    )
    return environment.get_template(name)


def render_system(
    *,
    instructions: Mapping[str, str],
    unavailable: Mapping[str, str],
    custom_instructions: str,
    agent: str,
    budget: str = "",
) -> str:
    return load_template("system.md.j2").render(
        agent=agent,
        instructions=instructions,
        unavailable=unavailable,
        custom_instructions=custom_instructions,
        budget=budget,
    )


def render_investigation(
    *,
    alert_type: str,
    alert_data: str,
    runbook: str,
    earlier: Sequence[tuple[str, str]],
    runbook_url: str | None = None,
    fence: str | None = None,
) -> str:
    """`earlier` holds the names of finished stages and their analyses, in order."""
    return load_template("investigation.md.j2").render(
        alert_type=alert_type,
        alert_data=alert_data,
        runbook=runbook,
        runbook_url=runbook_url,
        earlier=earlier,
        fence=fence or secrets.token_hex(6),
    )


def render_conclude_now(iterations: int) -> str:
    return load_template("conclude.md.j2").render(iterations=iterations)


def read_used_up(prompt: str) -> str | None:
    """What was used up, of a prompt that asks for a conclusion; None of any other."""
    for unit, before, after in _concluding_prompts():
        if prompt.startswith(before) and prompt.endswith(after):
            return prompt.removeprefix(before).removesuffix(after) + unit
    return None


@cache
def _concluding_prompts() -> tuple[tuple[str, str, str], ...]:
    """What follows the amount that was used up, and the words before and after it."""
    mark = "\x00"
    said = {"": render_budget_spent(mark), " iterations": load_template("conclude.md.j2").render(iterations=mark)}
    return tuple((unit, *_split(prompt, mark)) for unit, prompt in said.items())


def _split(prompt: str, mark: str) -> tuple[str, str]:
    before, _, after = prompt.partition(mark)
    return before, after


def render_say_something() -> str:
    return load_template("say_something.md.j2").render()


def render_budget_spent(spent: str) -> str:
    return load_template("spent.md.j2").render(spent=spent)


def render_budget_left(left: str) -> str:
    return load_template("budget_left.md.j2").render(left=left)


def render_be_direct() -> str:
    return load_template("be_direct.md.j2").render()


def render_broken_off(partial: str) -> str:
    return load_template("broken_off.md.j2").render(partial=partial)
