"""A page that lists what can be asked, for people without tools. It loads nothing from anywhere."""

import re
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

router = APIRouter()

_QUOTED = re.compile(r"`([^`]+)`")

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title} API</title>
<style>
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }}
code {{ font-size: .95em; }}
h2 {{ font-size: 1.1rem; margin: 1.5rem 0 .25rem; }}
p, ul {{ margin: .25rem 0; }}
</style>
</head>
<body>
<main>
<h1>{title} {version}</h1>
{about}
<p>Below is every path, with what it takes and what it may answer. Programs read
<a href="/openapi.json">/openapi.json</a>, which also has the bodies.</p>
{operations}
</main>
</body>
</html>
"""


@router.get("/api/docs", include_in_schema=False)
async def show_docs(request: Request) -> HTMLResponse:
    schema: Mapping[str, Any] = request.app.openapi()
    info = schema["info"]
    return HTMLResponse(
        _PAGE.format(
            title=escape(info["title"]),
            version=escape(info["version"]),
            about="\n".join(_render_text(info["description"])),
            operations="\n".join(_render_operations(schema["paths"])),
        )
    )


def _render_text(text: str) -> Iterator[str]:
    for paragraph in text.strip().split("\n\n"):
        yield f"<p>{_quote(paragraph)}</p>"


def _quote(text: str) -> str:
    return _QUOTED.sub(r"<code>\1</code>", escape(text))


def _render_operations(paths: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for path, methods in paths.items():
        for method, operation in methods.items():
            yield f"<h2><code>{method.upper()} {escape(path)}</code></h2>"
            yield from _render_text(f"{operation['summary']}. {operation.get('description', '')}")
            yield from _render_list(
                (parameter["name"], f"({parameter['in']}) {parameter.get('description', '')}")
                for parameter in operation.get("parameters", ())
            )
            yield from _render_list(
                (status, answer["description"]) for status, answer in operation["responses"].items()
            )


def _render_list(items: Iterable[tuple[str, str]]) -> Iterator[str]:
    shown = "".join(f"<li><code>{escape(name)}</code> {_quote(text)}</li>" for name, text in items)
    if shown:
        yield f"<ul>{shown}</ul>"
