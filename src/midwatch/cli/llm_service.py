"""`midwatch llm-service`: the gateway to the models as a process of its own, which alone has their keys."""

import asyncio
import os
import sys
from pathlib import Path

import click

from midwatch.cli.ending import run_to_status


@click.command("llm-service", short_help="Serve models to others, so that the keys stay here.")
@click.option(
    "--config-dir",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder whose llm-providers.yaml says where keys may be sent; nothing else of it is read but .env. "
    "Default: the variable CONFIG_DIR.",
)
@click.option("--host", metavar="ADDRESS", help="Listen there. Default: the variable LLM_SERVICE_HOST, or 127.0.0.1.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Listen there; 0 takes any free port. Default: the variable LLM_SERVICE_PORT, or 50051.",
)
@click.option(
    "--allow-address",
    multiple=True,
    metavar="URL",
    help="Let callers choose this base_url, with any key. Those of the providers themselves are always allowed. "
    "Can be given several times.",
)
@click.option(
    "--tls-cert", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Certificate chain, a PEM file."
)
@click.option("--tls-key", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Its key, a PEM file.")
@click.option("--token-env", metavar="NAME", help="Ask callers for the token that this variable holds.")
@click.option(
    "--no-authentication",
    is_flag=True,
    help="Listen where other machines can reach us, although nobody is asked for a token.",
)
def llm_service(
    *,
    config_dir: Path | None,
    host: str | None,
    port: int | None,
    allow_address: tuple[str, ...],
    tls_cert: Path | None,
    tls_key: Path | None,
    token_env: str | None,
    no_authentication: bool,
) -> None:
    """Ask models on behalf of others, so that the keys are in this process and nowhere else.

    The others are a Midwatch whose llm.service_addr (or variable LLM_SERVICE_ADDR) names this service, or TARSy. They
    say which model to ask and in which variable its key is. The variables are those of this process; their values go to
    the provider and to nobody else.

    \b
    midwatch llm-service --config-dir models --token-env LLM_TOKEN --host 0.0.0.0

    gRPC's health service answers as well. SIGTERM or Ctrl-C drains: no call is taken any more, and those under way may
    end, for up to five minutes. A second signal ends it at once.

    Exit status: 0 stopped as asked, 1 failed, 2 misconfigured.
    """  # noqa: D301 -- click's mark for lines that stay as they are
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")  # read when gRPC is loaded
    from midwatch.cli.llm_process import Options, run_llm_service

    options = Options(
        config_dir=config_dir,
        host=host,
        port=port,
        addresses=allow_address,
        tls_cert=tls_cert,
        tls_key=tls_key,
        token_env=token_env,
        no_authentication=no_authentication,
    )
    sys.exit(run_to_status(lambda: asyncio.run(run_llm_service(options, os.environ))))
