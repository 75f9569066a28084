"""`midwatch demo`: a made-up alert, investigated right here with real tools and a model that needs no key."""

import asyncio
import os
import sys

import click


@click.command(short_help="Watch an investigation of a made-up alert, right here.")
@click.option("--sample", metavar="NAME", help="The alert to take.")
@click.option("--list-samples", is_flag=True, help="Show the alerts there are, and exit.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Serve there; 0 takes any free port. Default: the variable MIDWATCH_PORT, or 8080.",
)
@click.option("--once", is_flag=True, help="End after the investigation instead of serving on.")
@click.option("--no-color", is_flag=True, help="No colours; the variable NO_COLOR does the same.")
def demo(*, sample: str | None, list_samples: bool, port: int | None, once: bool, no_color: bool) -> None:
    """Investigate a made-up alert about this machine, show how it goes, and serve on until Ctrl-C.

    It needs no configuration, no key and no database, and uses none that you have: the model follows rules, the tools
    only read, and what is stored goes into the folder demo of MIDWATCH_HOME.

    Exit status: 0 stopped as asked, or completed with --once; 1 failed; 2 it could not begin; 130 stopped by Ctrl-C
    during the investigation.
    """
    from midwatch.cli.ending import run_to_status

    if list_samples:
        _list_samples()
        return
    from midwatch.cli.attempt import Attempt
    from midwatch.cli.showcase import Options, run_showcase

    attempt = Attempt()
    options = Options(sample=sample, port=port, once=once, no_color=no_color)
    status = run_to_status(lambda: asyncio.run(run_showcase(attempt, options, os.environ)))
    sys.exit(attempt.judge(status))


def _list_samples() -> None:
    from midwatch.cli.samples import list_samples

    samples = list_samples()
    width = max(len(sample.name) for sample in samples)
    for sample in samples:
        click.echo(f"{sample.name:<{width}}  {sample.title}")
