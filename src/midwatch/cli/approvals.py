"""`midwatch approvals`: what waits for a person, and the person's answer."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import click

from midwatch.cli.ending import run_to_status
from midwatch.cli.flags import config_dir_flag, server_flag, token_file_flag

if TYPE_CHECKING:
    from midwatch.cli.deciding import Deciding
    from midwatch.cli.live.server import Body

_STATES = ("waiting", "approved", "denied", "expired", "cancelled")
_HEADINGS = ("approval", "state", "tool", "risk", "expires (UTC)")
_SECONDS = len("2025-01-01T12:00:00")

_json_flag = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_reason_option = click.option("--reason", metavar="TEXT", default="", help="Kept on record; the model reads a no's.")


@click.group(short_help="Say yes or no to what agents want to do.")
def approvals() -> None:
    """See what agents may not do without a person's yes, and decide.

    A yes is given to one call with everything that decides its effect, is used once, and does not last. Without an
    answer in time the answer is no.

    Without --server the database itself is used. With it, the server asks for the approver's secret: the content of
    approver.token in its MIDWATCH_HOME.
    """


@approvals.command("list", short_help="List what waits, or what was decided.")
@click.option("--state", type=click.Choice([*_STATES, "all"]), default="waiting", show_default=True)
@server_flag
@config_dir_flag
@_json_flag
def list_(state: str, *, server: str | None, config_dir: Path | None, as_json: bool) -> None:
    """List the calls that wait for a person, the first to expire in front."""

    async def show(deciding: "Deciding") -> None:
        listed = await deciding.list_approvals(None if state == "all" else state)
        _print_json({"approvals": listed}) if as_json else _print_list(listed, state)

    _run(show, server=server, config_dir=config_dir)


@approvals.command(short_help="Show one, with the whole call.")
@click.argument("approval", type=click.UUID)
@server_flag
@config_dir_flag
@_json_flag
def show(approval: UUID, *, server: str | None, config_dir: Path | None, as_json: bool) -> None:
    """Show the whole call, what it acts on, why a person is asked, and what was decided."""

    async def look(deciding: "Deciding") -> None:
        found = await deciding.show_approval(approval)
        _print_json(found) if as_json else _print_one(found)

    _run(look, server=server, config_dir=config_dir)


@approvals.command(short_help="Say yes to one call.")
@click.argument("approval", type=click.UUID)
@_reason_option
@server_flag
@token_file_flag
@config_dir_flag
def approve(
    approval: UUID, *, reason: str, server: str | None, token_file: Path | None, config_dir: Path | None
) -> None:
    """Say yes, once, to this very call. If anything that decides its effect has changed by then, it does not run."""
    _decide(approval, reason, is_approved=True, server=server, token_file=token_file, config_dir=config_dir)


@approvals.command(short_help="Say no to one call.")
@click.argument("approval", type=click.UUID)
@_reason_option
@server_flag
@token_file_flag
@config_dir_flag
def deny(approval: UUID, *, reason: str, server: str | None, token_file: Path | None, config_dir: Path | None) -> None:
    """Say no. The model reads that a person did, with the reason, and goes on without the call."""
    _decide(approval, reason, is_approved=False, server=server, token_file=token_file, config_dir=config_dir)


def _decide(approval: UUID, reason: str, *, is_approved: bool, **where: Any) -> None:
    async def decide(deciding: "Deciding") -> None:
        decided = await deciding.decide(approval, is_approved=is_approved, reason=reason)
        click.echo(f"{decided['state']}: {decided['server_name']}.{decided['tool_name']}")

    _run(decide, **where)


def _run(
    act: "Callable[[Deciding], Awaitable[None]]",
    *,
    server: str | None,
    config_dir: Path | None,
    token_file: Path | None = None,
) -> None:
    if server is not None and config_dir is not None:
        raise click.UsageError("the server has its own configuration: leave out --config-dir or --server")

    async def work() -> None:
        from midwatch.cli.deciding import Where, open_deciding
        from midwatch.telemetry.logs import configure_logs

        configure_logs("error", "text")
        where = Where(server=server or None, config_dir=config_dir, token_file=token_file, environ=os.environ)
        async with open_deciding(where) as deciding:
            await act(deciding)

    sys.exit(run_to_status(lambda: asyncio.run(work())))


def _print_json(body: "Body") -> None:
    from midwatch.kit.json import encode_text

    click.echo(encode_text(body))


def _print_list(listed: "list[Body]", state: str) -> None:
    """Never cut: ids are there to be copied."""
    from midwatch.cli.terminal import make_console

    console = make_console()
    if not listed:
        console.print("Nothing waits for a person." if state == "waiting" else "There are none.")
        return
    rows = [_HEADINGS, *map(_render, listed)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    for row in rows:
        console.print("  ".join(map(str.ljust, row, widths)).rstrip(), soft_wrap=True)
    console.print("To see one: midwatch approvals show APPROVAL")


def _render(approval: "Body") -> tuple[str, ...]:
    from midwatch.cli.terminal import clean_line

    shown = (
        str(approval["approval_id"]),
        str(approval["state"]),
        f"{approval['server_name']}.{approval['tool_name']}",
        str(approval["risk"]),
        str(approval["expires_at"])[:_SECONDS].replace("T", " "),
    )
    return tuple(map(clean_line, shown))


def _print_one(approval: "Body") -> None:
    from midwatch.cli.live.requests import render_request
    from midwatch.cli.live.screen import Screen
    from midwatch.cli.terminal import make_console

    screen = Screen(console=make_console())
    screen.show(*render_request(approval, marks=screen.marks))
    if approval["state"] == "waiting":
        screen.show_exactly(f"  Decide: midwatch approvals approve {approval['approval_id']}   (or deny)")
        return
    by = f" by {approval['decided_by']}" if approval.get("decided_by") else ""
    reason = f": {approval['reason']}" if approval.get("reason") else ""
    screen.show_exactly(f"  {approval['state']}{by}{reason}")
