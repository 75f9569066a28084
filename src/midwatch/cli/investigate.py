"""`midwatch investigate`: one alert from a file or a pipe, watched to its end."""

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import click

from midwatch.cli.flags import config_dir_flag, token_file_flag

if TYPE_CHECKING:
    from midwatch.cli.live.server import NewAlert


@click.command(short_help="Investigate one alert and print what was found.")
@click.argument("file", required=False, metavar="[FILE]")
@click.option(
    "--sample", metavar="NAME", help="Take a made-up alert instead of FILE; `midwatch demo --list-samples` names them."
)
@click.option("--follow", type=click.UUID, metavar="SESSION", help="Watch a session that is there already.")
@click.option("--type", "alert_type", metavar="TYPE", help="The alert's type. Default: the configured one.")
@click.option("--runbook", metavar="URL", help="Where the alert's runbook is.")
@click.option(
    "--select",
    "selected",
    multiple=True,
    metavar="ID",
    help="What the alert is about, as kind:host:uid or kind:uid: no call goes to its host instead. May be repeated.",
)
@click.option(
    "--server",
    metavar="URL",
    envvar="MIDWATCH_URL",
    help="Have it investigated by the Midwatch that serves there. Default: the variable MIDWATCH_URL, else right here.",
)
@click.option(
    "--record",
    type=click.Path(path_type=Path, dir_okay=False, writable=True),
    metavar="FILE",
    help="Write what the models said into FILE, a script that a provider of `type: scripted` plays again.",
)
@config_dir_flag
@token_file_flag
@click.option("--json", "as_json", is_flag=True, help="Print every event and then the result, one JSON object a line.")
@click.option("--quiet", "-q", is_flag=True, help="Print only the analysis.")
@click.option("--no-color", is_flag=True, help="No colours; the variable NO_COLOR does the same.")
def investigate(
    *,
    file: str | None,
    sample: str | None,
    follow: UUID | None,
    alert_type: str | None,
    runbook: str | None,
    selected: tuple[str, ...],
    server: str | None,
    record: Path | None,
    config_dir: Path | None,
    token_file: Path | None,
    as_json: bool,
    quiet: bool,
    no_color: bool,
) -> None:
    """Investigate the alert in FILE, or on standard input if FILE is -, and show how it goes.

    Without --server everything happens in this process, with the database and the configuration that `midwatch serve`
    would use, and nothing is left running. Ctrl-C then cancels the investigation. With --server it only ends the
    watching; --follow takes it up again. Selecting at a server takes the approver's secret.

    Exit status: 0 completed, 1 failed, timed out or cancelled, 2 it could not begin, 130 stopped by Ctrl-C.
    """
    from midwatch.cli.ending import MISCONFIGURED, explain, run_to_status
    from midwatch.domain.errors import Invalid

    if sum(given is not None for given in (file, sample, follow)) != 1:
        raise click.UsageError("give one of: FILE, - for standard input, --sample NAME, --follow SESSION")
    if follow is not None and selected:
        raise click.UsageError("what is selected is sent with the alert: leave out --select or --follow")
    if token_file is not None and (server is None or not selected):
        raise click.UsageError("the secret is needed to select at a server: leave out --token-file")
    if as_json and quiet:
        raise click.UsageError("--json and --quiet are two ways to print: choose one")
    if server is not None and config_dir is not None:
        raise click.UsageError("the server has its own configuration: leave out --config-dir or --server")
    if server is not None and record is not None:
        raise click.UsageError("what is recorded is read from the database: leave out --record or --server")
    try:
        alert = None if follow else _read(file, sample, alert_type=alert_type, runbook=runbook, selected=selected)
    except Invalid as problem:
        explain(problem)
        sys.exit(MISCONFIGURED)
    from midwatch.cli.attempt import Attempt, Request, run_attempt

    attempt = Attempt()
    request = Request(
        alert=alert,
        follow=str(follow) if follow else None,
        server=server or None,
        record=record,
        config_dir=config_dir,
        token_file=token_file,
        as_json=as_json,
        quiet=quiet,
        no_color=no_color,
    )
    sys.exit(attempt.judge(run_to_status(lambda: asyncio.run(run_attempt(attempt, request, os.environ)))))


def _read(
    file: str | None, sample: str | None, *, alert_type: str | None, runbook: str | None, selected: tuple[str, ...]
) -> "NewAlert":
    from midwatch.cli.alert_source import find_sample, read_alert
    from midwatch.cli.live.server import NewAlert

    if sample is not None:
        taken = find_sample(sample)
        alert_type = alert_type or taken.alert_type
        return NewAlert(data=taken.text, alert_type=alert_type, runbook=runbook, selected=selected)
    assert file is not None  # noqa: S101 -- one of them is given
    return NewAlert(data=read_alert(file), alert_type=alert_type, runbook=runbook, selected=selected)
