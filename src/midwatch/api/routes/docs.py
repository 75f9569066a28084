"""A page that lists what can be asked, for people without tools. It loads nothing from anywhere."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

router = APIRouter()

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
<p>Every path, with what it takes. Programs read <a href="/openapi.json">/openapi.json</a>, which also has the bodies.
Errors come as <code>{{"message", "code", "field", "allowed"}}</code>.</p>
{operations}
</main>
</body>
</html>
"""


@router.get("/api/docs", include_in_schema=False)
async def show_docs(request: Request) -> HTMLResponse:
    schema: Mapping[str, Any] = request.app.openapi()
    about = schema["info"]
    operations = "\n".join(_render_operations(schema["paths"]))
    return HTMLResponse(
        _PAGE.format(title=escape(about["title"]), version=escape(about["version"]), operations=operations)
    )


def _render_operations(paths: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for path, methods in paths.items():
        for method, operation in methods.items():
            yield f"<h2><code>{method.upper()} {escape(path)}</code></h2>"
            yield f"<p>{escape(operation.get('description') or operation['summary'])}</p>"
            yield from _render_parameters(operation.get("parameters", ()))


def _render_parameters(parameters: Any) -> Iterator[str]:
    items = [
        f"<li><code>{escape(parameter['name'])}</code> ({escape(parameter['in'])}) "
        f"{escape(parameter.get('description', ''))}</li>"
        for parameter in parameters
    ]
    if items:
        yield "<ul>" + "".join(items) + "</ul>"
