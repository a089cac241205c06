"""The command line: one file per command, each a thin shell over one library function."""

from __future__ import annotations

import atexit
import errno
import io
import os
import sys
from importlib import import_module
from typing import Any

import click

from rejoinder import __version__
from rejoinder.cli._terminal import escaped_streams
from rejoinder.errors import RejoinderError, nearest, shorten_path
from rejoinder.escape import hide_credentials
from rejoinder.registry import list_modules

_RESUMABLE = ("build", "embed", "index", "score", "select")  # commands that keep what they did
_WRITE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF, errno.EIO)  # these come without a name
_RESUMABLE_BESIDE = ("attack", "augment")  # commands that keep it beside the file that they write


class Commands(click.Group):
    """The folder is the registry: ``rejoinder/cli/NAME.py`` holds the click command ``command``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command by name."""
        return sorted(name.rstrip("_").replace("_", "-") for name in list_modules("rejoinder.cli"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One command, whose module is loaded only now."""
        for module in list_modules("rejoinder.cli"):
            if module.rstrip("_").replace("_", "-") == cmd_name:
                found = import_module(f"rejoinder.cli.{module}").command
                return found if isinstance(found, click.Command) else None
        return None

    def main(self, *args: Any, **settings: Any) -> Any:
        """Run a command; nothing that it prints can steer a terminal."""
        with escaped_streams():
            return super().main(*args, **settings)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that was typed, or the nearest one's name in the error."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            raise click.UsageError(f"no command is called {name!r}; {nearest(name, self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="rejoinder")
def program() -> None:
    """Tell how good a chatbot's reply is: offline, with intervals and honest baselines.

    Start with: rejoinder score FILE
    """


def main() -> None:
    """The console script: errors of the user's are one line and exit status 2; a traceback means our bug."""
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
        print("rejoinder: stopped" + "; the same command goes on where it was" * _is_resumable(), file=sys.stderr)
        if "ray" in sys.modules:
            _exit_now(130)
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output went away (a pager, head): that is no error of anybody's.
        sys.stderr.close()
        sys.exit(141)
    except OSError as error:
        # What a room deeper down could not say better: a disk that is full, a name that is too long, no permission.
        if error.filename is None and error.errno not in _WRITE_ERRORS:
            raise
        what = f"{shorten_path(error.filename)}:" if error.filename is not None else "the output cannot be written:"
        _fail(f"{what} {error.strerror}")


def _check_streams() -> None:
    """Refuse to print into nothing; say nothing where errors are not wanted; print names that are not UTF-8."""
    if sys.stderr is None:
        sys.stderr = io.TextIOWrapper(io.FileIO(os.devnull, "w"))  # else errors would go to the output
    if sys.stdout is None:
        raise RejoinderError("standard output is closed; direct it to a file, or to /dev/null")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _exit_now(status: int) -> None:
    """End here: Ray's own threads, interrupted anywhere, may crash a process that takes itself apart."""
    atexit._run_exitfuncs()  # Ray stops what it started
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _is_resumable() -> bool:
    """Whether the command that was typed keeps what it has done."""
    command, *rest = [*sys.argv[1:], ""]
    return command in _RESUMABLE or (
        command in _RESUMABLE_BESIDE and any(one.startswith(("-o", "--out")) for one in rest)
    )


def _fail(message: str) -> None:
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:  # it is full, and would complain again when Python ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    print("rejoinder: " + " ".join(hide_credentials(message).split()), file=sys.stderr)
    sys.exit(2)
