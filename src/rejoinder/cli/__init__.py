"""The command line: one file per command, each a thin shell over one library function."""

from __future__ import annotations

import atexit
import errno
import io
import os
import sys
from typing import Any

import click

from rejoinder import __version__
from rejoinder.cli._help import command_module, command_names, write_first_screen
from rejoinder.cli._terminal import escaped_streams
from rejoinder.errors import RejoinderError, nearest, shorten_path
from rejoinder.escape import hide_credentials

_WRITE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF, errno.EIO)  # these errors do not name a file


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
        write_first_screen(formatter, self.help or "")

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
            raise click.UsageError(f"no command is called {name!r}; {nearest(name, self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="rejoinder")
@click.pass_context
def program(ctx: click.Context) -> None:
    """Measure how good a chatbot's replies are. Start with: rejoinder score FILE"""
    from rejoinder.cli._notes import show_notes

    show_notes(ctx.invoked_subcommand not in ("score", "import"))  # these two say it in their summaries


def main() -> None:
    """Run the console script: a user error is one line and exit status 2; a traceback is our bug."""
    with escaped_streams():
        _run_program()


def _run_program() -> None:
    try:
        _check_streams()
        status = program.main(prog_name="rejoinder", standalone_mode=False)
        sys.stdout.flush()  # a full disk must show here, not when Python ends
        if isinstance(status, int) and status:  # click gives back the status of an Exit
            sys.exit(status)
    except RejoinderError as error:
        _fail(str(error))
    except click.UsageError as error:
        where = f" (see: {error.ctx.command_path} --help)" if error.ctx else ""
        _fail(error.format_message() + where)
    except click.ClickException as error:
        _fail(error.format_message())
    except (click.exceptions.Abort, KeyboardInterrupt):
        print("rejoinder: stopped" + "; run the same command again to continue" * _is_resumable(), file=sys.stderr)
        if "ray" in sys.modules:
            _exit_now(130)
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output went away (a pager, head): that is not an error.
        sys.stderr.close()
        sys.exit(141)
    except OSError as error:
        # A full disk, a name that is too long, no permission: lower layers could not say it better.
        if error.filename is None and error.errno not in _WRITE_ERRORS:
            raise
        subject = (
            f"{shorten_path(error.filename)}:" if error.filename is not None else "the output could not be written:"
        )
        _fail(f"{subject} {error.strerror}")


def _check_streams() -> None:
    """Refuse a closed output, replace a closed error stream, and escape names that are not UTF-8."""
    if sys.stderr is None:
        sys.stderr = io.TextIOWrapper(io.FileIO(os.devnull, "w"))  # else errors would go to the output
    if sys.stdout is None:
        raise RejoinderError("standard output is closed; redirect it to a file, or to /dev/null")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _exit_now(status: int) -> None:
    """Exit at once: Ray's own threads, interrupted anywhere, may crash a process during its normal exit."""
    atexit._run_exitfuncs()  # Ray stops what it started
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _is_resumable() -> bool:
    """Whether the command that was typed keeps its finished work."""
    name, *arguments = [*sys.argv[1:], ""]
    resumable = getattr(command_module(name), "RESUMABLE", None)
    has_output = any(argument.startswith(("-o", "--out")) for argument in arguments)
    return resumable == "always" or (resumable == "with output" and has_output)


def _fail(message: str) -> None:
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:  # it is full, and would complain again when Python ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    print("rejoinder: " + " ".join(hide_credentials(message).split()), file=sys.stderr)
    sys.exit(2)
