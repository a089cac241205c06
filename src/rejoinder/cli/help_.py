"""``rejoinder help``: every command in one list, or the help of one."""

from __future__ import annotations

import click

from rejoinder.cli import _help

GROUP = _help.SERVING


@click.command("help", short_help="Describe every command, or one")
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.option("--all", "everything", is_flag=True, help="Describe every command, in groups.")
@click.pass_context
def command(context: click.Context, words: tuple[str, ...], everything: bool) -> None:
    """Show the help of COMMAND, or with --all one line about every command."""
    if everything and words:
        raise click.UsageError("--all describes every command; leave it out, or leave out COMMAND")
    if everything:
        formatter = context.make_formatter()
        _help.write_all_commands(formatter)
        click.echo(formatter.getvalue().strip("\n"))
        return
    target = context.find_root()
    for word in words:
        if not isinstance(target.command, click.Group):
            raise click.UsageError(f"{target.command_path} has no commands of its own; leave out {word!r}")
        _, subcommand, _ = target.command.resolve_command(target, [word])
        assert subcommand is not None  # an unknown one is an error already
        target = click.Context(subcommand, parent=target, info_name=word)
    click.echo(target.get_help())
