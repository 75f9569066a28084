"""`midwatch stop`: every change stopped at once, until somebody lifts it."""

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from midwatch.cli.ending import run_to_status
from midwatch.cli.flags import config_dir_flag, server_flag, token_file_flag

if TYPE_CHECKING:
    from midwatch.cli.deciding import Deciding
    from midwatch.cli.live.server import Body


@click.command(short_help="Stop every change at once, or allow changes again.")
@click.option("--reason", metavar="TEXT", help="Why, for whoever finds it stopped. Needed in order to stop.")
@click.option("--lift", is_flag=True, help="Allow changes again.")
@click.option("--status", "only_look", is_flag=True, help="Only say whether changes are stopped.")
@server_flag
@token_file_flag
@config_dir_flag
def stop(
    *,
    reason: str | None,
    lift: bool,
    only_look: bool,
    server: str | None,
    token_file: Path | None,
    config_dir: Path | None,
) -> None:
    """Stop every change of every session on every replica; reading goes on.

    No change is started from the moment the command returns. What is on its way is given up on: whether it was made is
    unknown, and its target stays closed until its time is over. Only --lift ends it.

    \b
    midwatch stop --reason "the agents are restarting the wrong pods"
    midwatch stop --lift --reason "rules corrected"
    """  # noqa: D301 -- click's mark for lines that stay as they are
    if lift and only_look:
        raise click.UsageError("--lift and --status are two things: choose one")
    if not lift and not only_look and not (reason or "").strip():
        raise click.UsageError("say why: --reason TEXT")
    if server is not None and config_dir is not None:
        raise click.UsageError("the server has its own configuration: leave out --config-dir or --server")

    async def work() -> None:
        from midwatch.cli.deciding import Where, open_deciding
        from midwatch.telemetry.logs import configure_logs

        configure_logs("error", "text")
        where = Where(server=server or None, config_dir=config_dir, token_file=token_file, environ=os.environ)
        async with open_deciding(where) as deciding:
            click.echo(await _act(deciding, reason or "", lift=lift, only_look=only_look))

    sys.exit(run_to_status(lambda: asyncio.run(work())))


async def _act(deciding: "Deciding", reason: str, *, lift: bool, only_look: bool) -> str:
    if only_look:
        return _describe(await deciding.show_stop())
    if lift:
        await deciding.allow_changes(reason)
        return "Changes are allowed again, as far as the configuration allows them."
    stopped = await deciding.stop_changes(reason)
    given_up = len(stopped.get("cancelled_calls") or ())
    return f"{_describe(stopped)} Given up on: {given_up}. Lift it with: midwatch stop --lift"


def _describe(body: "Body") -> str:
    from midwatch.cli.terminal import clean_line

    if not body.get("active"):
        return "Changes are not stopped."
    since = str(body.get("declared_at"))[:19].replace("T", " ")
    return clean_line(f"Every change is stopped since {since} UTC by {body.get('declared_by')}: {body.get('reason')}.")
