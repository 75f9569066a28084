"""The commands behind `midwatch`, each loaded when it is run and not before."""

from difflib import get_close_matches
from importlib import import_module
from typing import final

import click
from click.shell_completion import CompletionItem

from midwatch.cli.catalogue import HELPS, PROGRAM, TARGETS, render_help, render_version


@final
class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's signature
        return list(TARGETS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 -- as above
        if cmd_name not in TARGETS:
            return None
        module, _, attribute = TARGETS[cmd_name].partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)  # noqa: S101 -- the catalogue names commands
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in TARGETS and not ctx.resilient_parsing:
            near = get_close_matches(name, TARGETS)
            hint = f'did you mean "{near[0]}"?' if near else f"`{PROGRAM} --help` lists the commands"
            raise click.UsageError(f'there is no command "{name}"; {hint}', ctx)
        return super().resolve_command(ctx, args)

    def get_help(self, ctx: click.Context) -> str:  # noqa: ARG002 -- as above
        return render_help().rstrip("\n")

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """By the catalogue: click would load every command to ask for its help."""
        known = [CompletionItem(name, help=text) for name, text in HELPS.items() if name.startswith(incomplete)]
        return [*known, *click.Command.shell_complete(self, ctx, incomplete)]


def _show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 -- click's signature
    if wanted and not ctx.resilient_parsing:
        click.echo(render_version(), nl=False)
        ctx.exit()


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version)
@click.pass_context
def group(ctx: click.Context) -> None:
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
