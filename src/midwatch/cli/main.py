"""The `midwatch` program: one command per file; heavy imports stay inside them."""

import click

from midwatch import __version__
from midwatch.cli.check_config import check_config
from midwatch.cli.serve import serve


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="midwatch")
def main() -> None:
    """Midwatch stands the night watch: language-model agents investigate alerts behind a safety gate.

    To look around, run `midwatch serve --example`. It needs no configuration, no key and no database.
    """


main.add_command(check_config)
main.add_command(serve)
