"""`midwatch serve`: one replica in the foreground."""

import asyncio
import ipaddress
import os
import sys
from pathlib import Path

import click

from midwatch.cli.ending import run_to_status
from midwatch.cli.flags import config_dir_flag

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def _parse_networks(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> tuple[Network, ...]:
    try:
        return tuple(ipaddress.ip_network(network) for network in given)
    except ValueError as error:
        raise click.BadParameter("expected a network such as 10.0.0.0/8") from error


@click.command(short_help="Serve the API and investigate alerts.")
@config_dir_flag
@click.option("--host", metavar="ADDRESS", help="Listen there. Default: the variable MIDWATCH_HOST, or 127.0.0.1.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Listen there; 0 takes any free port. Default: the variable MIDWATCH_PORT, or 8080.",
)
@click.option(
    "--allow-host",
    multiple=True,
    metavar="NAME",
    help="Answer to this name as well, such as that of a proxy in front; requests for unknown names are turned away. "
    "Can be given several times.",
)
@click.option(
    "--trusted-proxy",
    multiple=True,
    callback=_parse_networks,
    metavar="CIDR",
    help="Believe peers of this network who sends a request (X-Forwarded-User and the like). Can be given several "
    "times. Default: the variable MIDWATCH_TRUSTED_PROXIES. Programs on this machine are always believed.",
)
@click.option(
    "--no-authentication",
    is_flag=True,
    help="Listen where other machines can reach us, although nobody is asked who they are.",
)
def serve(
    *,
    config_dir: Path | None,
    host: str | None,
    port: int | None,
    allow_host: tuple[str, ...],
    trusted_proxy: tuple[Network, ...],
    no_authentication: bool,
) -> None:
    """Run one replica in the foreground: the API, and workers that investigate alerts.

    SIGTERM or Ctrl-C drains it: nothing new is begun, and what is running stops where it can go on later, in another
    replica or at the next start. A second signal ends it at once.

    Without a configuration one agent looks at this machine: with the model whose key is set, else with the demo model,
    which follows rules.

    Everything is kept in the PostgreSQL of DATABASE_URL. Without that variable Midwatch runs one of its own in the
    folder MIDWATCH_HOME.

    Exit status: 0 stopped as asked, 1 failed, 2 misconfigured.
    """
    from midwatch.cli.replica import Options, run_replica

    options = Options(
        config_dir=config_dir,
        host=host,
        port=port,
        allow_hosts=allow_host,
        trusted_proxies=trusted_proxy,
        no_authentication=no_authentication,
    )
    sys.exit(run_to_status(lambda: asyncio.run(run_replica(options, os.environ))))
