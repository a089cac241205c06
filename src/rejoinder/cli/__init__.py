"""The command line: one file per command, each a thin shell over one library function."""

from __future__ import annotations

import atexit
import errno
import io
import os
import sys
from typing import TYPE_CHECKING, Any

from rejoinder.cli._help import command_module, first_screen
from rejoinder.cli._terminal import escaped_streams
from rejoinder.errors import RejoinderError, shorten_path
from rejoinder.escape import hide_credentials

if TYPE_CHECKING:
    from rejoinder.cli._program import program as program

_WRITE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF, errno.EIO)  # these errors do not name a file


def __getattr__(name: str) -> Any:
    """Import the program only where it is asked for: click alone takes twice as long to import as Python to start."""
    if name != "program":
        raise AttributeError(f"module 'rejoinder.cli' has no attribute {name!r}")
    from rejoinder.cli._program import program

    return program


def main() -> None:
    """Run the console script: a user error is one line and exit status 2; a traceback is our bug."""
    with escaped_streams():
        _run_program()


def _run_program() -> None:
    try:
        _check_streams()
        if sys.argv[1:] in (["-h"], ["--help"]):
            sys.stdout.write(first_screen())
            status = 0
        else:
            from rejoinder.cli._program import run_command

            status = run_command()
        sys.stdout.flush()  # a full disk must show here, not when Python ends
        if status:
            sys.exit(status)
    except RejoinderError as error:
        _print_error_and_exit(str(error))
    except KeyboardInterrupt:
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
        _print_error_and_exit(f"{subject} {error.strerror}")


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
    has_output = any(argument.startswith(("-o", "--output")) for argument in arguments)
    return resumable == "always" or (resumable == "with output" and has_output)


def _print_error_and_exit(message: str) -> None:
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:  # it is full, and would complain again when Python ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    print("rejoinder: " + " ".join(hide_credentials(message).split()), file=sys.stderr)
    sys.exit(2)
