"""Standard input and pipes, which can be read only once, copied to files."""

from __future__ import annotations

import atexit
import codecs
import contextlib
import gzip
import os
import shutil
import signal
import stat
import sys
import tempfile
import threading
import time
import zlib
from pathlib import Path
from types import FrameType
from typing import IO

from rejoinder.errors import InputError
from rejoinder.paths import printable

_WAIT = 10.0  # seconds to wait for a process to open the other end of a named pipe
_SPOOLS: set[Path] = set()


def is_pipe(path: str | Path) -> bool:
    """Whether a path is a pipe: a named one, or that of a shell's ``<(command)``."""
    return stat.S_ISFIFO(_file_mode(path))


def is_device(path: str | Path) -> bool:
    """Whether a path is a device other than the null device."""
    mode = _file_mode(path)
    return str(path) != os.devnull and (stat.S_ISCHR(mode) or stat.S_ISBLK(mode))


def has_pipe_name(path: str | Path) -> bool:
    """Whether a pipe has a name in a folder; that of ``<(command)`` is a number that differs each time."""
    return os.path.exists(os.path.realpath(path))


def standard_input() -> IO[bytes]:
    """Return standard input as a stream of bytes."""
    if sys.stdin is None or sys.stdin.closed:
        raise InputError("<stdin>: is closed; name a file, or pipe something into the command")
    return sys.stdin.buffer


def spool_input(path: str | Path) -> Path:
    """Copy standard input ("-") or a pipe to a file, which is deleted when the process ends, however it ends."""
    _remove_at_the_end()
    with tempfile.NamedTemporaryFile(prefix="rejoinder-stdin-", delete=False) as file:
        _SPOOLS.add(Path(file.name))
        try:
            _copy_input(path, file)
        except BaseException:
            remove_spool(Path(file.name))
            raise
    return Path(file.name)


def spool_as_utf8(path: Path, encoding: str) -> Path:
    """Copy a text, compressed or not, to a file in UTF-8, which is deleted when the process ends."""
    with tempfile.NamedTemporaryFile(prefix="rejoinder-text-", delete=False) as file:
        register_spool(Path(file.name))
        try:
            with path.open("rb") as raw:
                is_gzip = raw.read(2) == b"\x1f\x8b"
                raw.seek(0)
                source: IO[bytes] | gzip.GzipFile = gzip.GzipFile(fileobj=raw) if is_gzip else raw
                decoder = codecs.getincrementaldecoder(encoding)()
                while block := source.read(2**20):
                    file.write(decoder.decode(block).encode())
                file.write(decoder.decode(b"", final=True).encode())
        except (UnicodeError, EOFError, OSError, zlib.error) as error:
            remove_spool(Path(file.name))
            raise InputError(f"{printable(path)}: is not valid {encoding} ({error}); save it as UTF-8") from None
    return Path(file.name)


def register_spool(path: Path) -> None:
    """Have a temporary file deleted when the process ends, however it ends."""
    _remove_at_the_end()
    _SPOOLS.add(path)


def copy_pipe(path: str | Path) -> IO[bytes]:
    """Copy a pipe to an open file without a name."""
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(tempfile.TemporaryFile())
        _copy_input(path, file)
        file.seek(0)
        stack.pop_all()
    return file


def remove_spool(path: Path) -> None:
    """Delete a file that ``spool`` made."""
    path.unlink(missing_ok=True)
    _SPOOLS.discard(path)


def _copy_input(path: str | Path, target: IO[bytes]) -> None:
    """Copy standard input or a pipe to an open file."""
    try:
        if str(path) == "-":
            shutil.copyfileobj(standard_input(), target)
        else:
            _copy_pipe(path, target)
    except OSError as error:
        name = "<stdin>" if str(path) == "-" else printable(path)
        raise InputError(f"{name}: could not be copied to a temporary file ({error.strerror})") from None


def _copy_pipe(path: str | Path, target: IO[bytes]) -> None:
    if not hasattr(os, "O_NONBLOCK"):  # Windows, where a named pipe has no path in a folder
        with open(path, "rb") as file:
            shutil.copyfileobj(file, target)
        return
    # Opened without waiting: a named pipe to which nobody ever writes would never open.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with open(descriptor, "rb", buffering=0) as pipe:
        until = time.monotonic() + _WAIT
        while not (block := pipe.read(2**16)):
            if block is None:  # a process has it open, but has not written yet
                os.set_blocking(descriptor, True)
            elif not has_pipe_name(path):
                return
            elif time.monotonic() > until:
                raise InputError(
                    f"{printable(path)}: is a named pipe to which nothing was written for {_WAIT:.0f} seconds; start "
                    "the command that writes to it first, or name a file"
                )
            else:
                time.sleep(0.05)
        target.write(block)
        os.set_blocking(descriptor, True)
        shutil.copyfileobj(pipe, target)


def _file_mode(path: str | Path) -> int:
    try:
        return os.stat(path).st_mode
    except (OSError, ValueError):  # opening it will raise the error
        return 0


def _remove_at_the_end() -> None:
    """Make sure that a process that exits or is terminated leaves no copy behind."""
    atexit.unregister(_remove_all)
    atexit.register(_remove_all)
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])):
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _end_process)


def _remove_all() -> None:
    for path in list(_SPOOLS):
        remove_spool(path)


def _end_process(number: int, frame: FrameType | None) -> None:
    _remove_all()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
