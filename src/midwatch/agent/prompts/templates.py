"""The templates of the prompts. A missing variable is an error, never an empty line."""

from functools import cache, partial
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from midwatch.agent.prompts.fences import inline
from midwatch.domain.stories import Called, Failed, Said, Thought

FOLDER = Path(__file__).parent
_DEEDS = {"thought": Thought, "said": Said, "called": Called, "failure": Failed}


def fill_template(name: str, **values: object) -> str:
    return load_template(name).render(values).removesuffix("\n")


@cache
def load_template(name: str) -> Template:
    return _environment().get_template(f"{name}.md.j2")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # A template that is included ends as it is written: with a whole line.
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 -- prompts are text, not markup
    )
    environment.filters["inline"] = inline
    environment.tests.update({name: partial(_is_a, kind=kind) for name, kind in _DEEDS.items()})
    return environment


def _is_a(value: object, *, kind: type) -> bool:
    return isinstance(value, kind)
