"""The program as a click group: which command was typed, and what went wrong in what was typed."""

from __future__ import annotations

from typing import Any

import click

from rejoinder import __version__
from rejoinder.cli._help import MAX_WIDTH, SUMMARY, command_module, command_names, first_screen
from rejoinder.cli._terminal import escaped_streams
from rejoinder.errors import RejoinderError, SpecError, nearest
from rejoinder.lab import COMMANDS, explain_absence


class Commands(click.Group):
    """The folder is the registry: ``rejoinder/cli/NAME.py`` holds the click command ``command``.

    The file also says in which ``GROUP`` of the help the command is, its place among the most used (``COMMON``), and
    whether it is ``RESUMABLE``: "always", or "with output" if it keeps finished work beside its output.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted(command_names())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return one command; its module is imported only now."""
        command = getattr(command_module(cmd_name), "command", None)
        return command if isinstance(command, click.Command) else None

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first screen: the most used commands, and all others by name."""
        formatter.write(first_screen(formatter.width))

    def main(self, *args: Any, **settings: Any) -> Any:
        """Run a command; control characters in what it prints are escaped."""
        with escaped_streams():
            return super().main(*args, **settings)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that was typed; an unknown name is an error that suggests the nearest one."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            if name in COMMANDS:
                raise SpecError(explain_absence(f"rejoinder {name}"))
            raise click.UsageError(f"no command is called {name!r}; {nearest(name, self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=Commands, help=SUMMARY, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": MAX_WIDTH}
)
@click.version_option(__version__, prog_name="rejoinder")
@click.pass_context
def program(ctx: click.Context) -> None:
    """Run before every command."""
    from rejoinder.cli._notes import end_notes, show_notes

    ctx.call_on_close(end_notes)
    show_notes(ctx.invoked_subcommand not in ("score", "import"))  # these two say it in their summaries


def run_command() -> int:
    """Run what was typed and return the exit status; what click refuses is a user's error like any other."""
    try:
        status = program.main(prog_name="rejoinder", standalone_mode=False)
    except click.UsageError as error:
        where = f" (see: {error.ctx.command_path} --help)" if error.ctx else ""
        raise RejoinderError(error.format_message() + where) from error
    except click.ClickException as error:
        raise RejoinderError(error.format_message()) from error
    except click.exceptions.Abort as error:
        raise KeyboardInterrupt from error
    return status if isinstance(status, int) else 0  # click returns the status of an Exit
