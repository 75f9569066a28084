"""Pages from templates. Whatever comes from outside is escaped; Markdown of a model becomes text and no links."""

from functools import cache
from pathlib import Path
from typing import Any, cast

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from midwatch import __version__
from midwatch.api.pages.words import (
    cut,
    first_line,
    say_age,
    say_cost,
    say_duration,
    say_question,
    say_status,
    say_times,
    say_type,
    spell_json,
)

_FOLDER = Path(__file__).parent
_HEADINGS_BELOW = 2
_LOWEST_HEADING = 6
_LONGEST_MARKDOWN = 200_000

STYLE = (_FOLDER / "style.css").read_text(encoding="utf-8")


def render_page(template: str, **values: Any) -> str:
    return _environment().get_template(template).render(version=__version__, **values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
    )
    words = (
        cut,
        first_line,
        say_age,
        say_cost,
        say_duration,
        say_question,
        say_status,
        say_times,
        say_type,
        spell_json,
    )
    filters = cast("dict[str, Any]", environment.filters)
    filters |= {word.__name__: word for word in words} | {"markdown": render_markdown}
    return environment


@cache
def _markdown() -> MarkdownIt:
    """Neither HTML nor links nor pictures: the text may repeat what an attacker wrote into a log."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    return parser.disable(["link", "image", "autolink", "reference", "html_inline", "html_block"])


def render_markdown(text: str) -> Markup:
    if len(text) > _LONGEST_MARKDOWN:
        return Markup("<pre>{}</pre>").format(text)
    parser = _markdown()
    tokens = parser.parse(text)
    for token in tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(int(token.tag[1]) + _HEADINGS_BELOW, _LOWEST_HEADING)}"
    # What the renderer writes is escaped by it, except raw HTML, which the parser does not know.
    return Markup(parser.renderer.render(tokens, parser.options, {}))  # noqa: S704 -- see above
