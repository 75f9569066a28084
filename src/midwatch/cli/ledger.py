"""`midwatch ledger`: what a session sent to models, call by call, and each body as it left."""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import click

from midwatch.cli.ending import DONE, FAILED, run_to_status
from midwatch.cli.flags import config_dir_flag

if TYPE_CHECKING:
    from midwatch.cli.live.server import Body
    from midwatch.cli.outbound import Sendings

_HEADINGS = ("", "time (UTC)", "provider", "host", "bytes", "sha256", "id")
_MARKS = {True: "✓", False: "✗"}
_PLAIN_MARKS = {True: "ok", False: "x"}
_SHOWN_DIGITS = 12
_SECONDS = len("2025-01-01T12:00:00")


@click.command(short_help="Show what a session sent to models.")
@click.argument("session", type=click.UUID)
@click.option("--call", type=click.UUID, metavar="ID", help="Print the body of this request, as it was sent.")
@click.option(
    "--server",
    metavar="URL",
    envvar="MIDWATCH_URL",
    help="Ask the Midwatch that serves there. Default: the variable MIDWATCH_URL, else the database itself.",
)
@config_dir_flag
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object with all that is known of each request.")
def ledger(session: UUID, *, call: UUID | None, server: str | None, config_dir: Path | None, as_json: bool) -> None:
    """List every request of SESSION that left for a model: when, to whom, how many bytes, and their hash.

    A request is verified (✓) when its body, put together again from what is stored, has the hash of what was sent.
    Attempts that failed are listed too. It is kept for 30 days. Keys are headers and are never stored.

    \b
    midwatch ledger 0199d1f2-… --call 0199d1f3-… | jq .messages

    What went to an LLM service is a message of its protocol: JSON on a terminal, its own bytes in a pipe.

    Exit status: 0, 1 when a body could not be verified, 2 misconfigured or nothing there.
    """  # noqa: D301 -- click's mark for lines that stay as they are
    if call is not None and as_json:
        raise click.UsageError("a body is JSON already: leave out --json or --call")
    if server is not None and config_dir is not None:
        raise click.UsageError("the server has its own configuration: leave out --config-dir or --server")
    sys.exit(run_to_status(lambda: asyncio.run(_show(session, call, server or None, config_dir, as_json=as_json))))


async def _show(session: UUID, call: UUID | None, server: str | None, config_dir: Path | None, *, as_json: bool) -> int:
    from midwatch.cli.outbound import open_database_sendings, open_server_sendings
    from midwatch.telemetry.logs import configure_logs

    configure_logs("error", "text")
    opened = open_server_sendings(server) if server else open_database_sendings(config_dir, os.environ)
    async with opened as sendings:
        if call is not None:
            return await _print_body(sendings, session, call)
        requests = await sendings.list_requests(session)
    if as_json:
        _print_json(requests)
    else:
        _print_lines(requests)
    return DONE if all(request["rebuilt"] for request in requests) else FAILED


async def _print_body(sendings: "Sendings", session: UUID, call: UUID) -> int:
    from midwatch.cli.outbound import render_body
    from midwatch.cli.terminal import clean

    body = await sendings.read_body(session, call)
    # Exactly as it is into a file or a pipe; a terminal is spared what nobody can read and what could steer it.
    click.echo(clean(render_body(body)) if sys.stdout.isatty() else body, nl=sys.stdout.isatty())
    return DONE


def _print_json(requests: "list[Body]") -> None:
    from midwatch.kit.json import encode_text

    click.echo(encode_text({"requests": requests}))


def _print_lines(requests: "list[Body]") -> None:
    """Never cut: ids and hashes are there to be copied."""
    from midwatch.cli.terminal import make_console

    console = make_console()
    if not requests:
        console.print("Nothing was sent to a model, or it is no longer kept.")
        return
    marks = _MARKS if console.encoding.startswith("utf") else _PLAIN_MARKS
    rows = [_HEADINGS, *(_render(request, marks) for request in requests)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    for row in rows:
        console.print("  ".join(map(_pad, row, widths, _HEADINGS)).rstrip(), soft_wrap=True)
    total = sum(request["bytes"] for request in requests)
    noun = "request" if len(requests) == 1 else "requests"
    console.print(f"{len(requests)} {noun}, {total:,} bytes. To see one: midwatch ledger SESSION --call ID")


def _render(request: "Body", marks: Mapping[bool, str]) -> tuple[str, ...]:
    from midwatch.cli.terminal import clean_line

    shown = (
        marks[bool(request["rebuilt"])],
        str(request["sent_at"])[:_SECONDS].replace("T", " "),
        str(request["provider"]),
        str(request["host"]),
        f"{request['bytes']:,}",
        str(request["sha256"])[:_SHOWN_DIGITS],
        str(request["id"]),
    )
    return tuple(map(clean_line, shown))


def _pad(text: str, width: int, heading: str) -> str:
    return text.rjust(width) if heading == "bytes" else text.ljust(width)
