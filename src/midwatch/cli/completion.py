"""`midwatch completion`: the script with which a shell completes our commands and options."""

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

from midwatch.cli.catalogue import COMPLETION_VARIABLE, PROGRAM

_SHELLS = {
    "bash": (BashComplete, 'Put this into ~/.bashrc:  eval "$(midwatch completion bash)"'),
    "zsh": (ZshComplete, 'Put this into ~/.zshrc, below compinit:  eval "$(midwatch completion zsh)"'),
    "fish": (FishComplete, "Run once:  midwatch completion fish > ~/.config/fish/completions/midwatch.fish"),
}


@click.command(short_help="Print what makes the Tab key complete commands.")
@click.argument("shell", type=click.Choice(list(_SHELLS)))
@click.pass_context
def completion(ctx: click.Context, *, shell: str) -> None:
    """Print a script that lets the Tab key complete commands, options and files. Its first line says where it goes.

    \b
    bash  eval "$(midwatch completion bash)"      in ~/.bashrc
    zsh   eval "$(midwatch completion zsh)"       in ~/.zshrc, below compinit
    fish  midwatch completion fish > ~/.config/fish/completions/midwatch.fish
    """  # noqa: D301 -- click's mark for lines that stay as they are
    kind, advice = _SHELLS[shell]
    click.echo(f"# {advice}")
    click.echo(kind(ctx.find_root().command, {}, PROGRAM, COMPLETION_VARIABLE).source())
