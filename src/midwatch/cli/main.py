"""The `midwatch` program: one command per file; heavy imports stay inside them."""

import click

from midwatch import __version__
from midwatch.cli.serve import serve


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="midwatch")
def main() -> None:
    """Midwatch stands the night watch for people who run systems."""


main.add_command(serve)
