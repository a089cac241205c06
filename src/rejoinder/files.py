"""Files: written whole or not at all, and their digests."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import orjson

from rejoinder.errors import InputError, RejoinderError, shorten_path

_BLOCK = 2**20


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file's bytes."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    return digest.hexdigest()


def sha256_of_bytes(raw: bytes) -> str:
    """Return the sha256 of some bytes."""
    return hashlib.sha256(raw).hexdigest()


def sha256_of_parts(parts: Iterable[object], separator: str = " ") -> str:
    """Return the sha256 of some values, each as a string, with a separator between them."""
    return sha256_of_bytes(separator.join(map(str, parts)).encode())


@contextmanager
def atomic_write(path: str | Path, private: bool = False) -> Iterator[IO[bytes]]:
    """A file to write that gets its name only when the block has succeeded; a private one only its owner can read.

    A device or a pipe is written directly. A failure to write (a full disk) is an error that names the file.
    """
    if str(path) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(path)
    if _is_special(target):
        with io.BufferedWriter(_NamedFile(target, target)) as raw:
            yield raw
        return
    name = _make_part(target)
    try:
        with io.BufferedWriter(_NamedFile(name, target)) as raw:
            if target.suffix == ".gz":
                # No name and no time in the header: the same records give the same bytes.
                with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as file:
                    yield file  # type: ignore[misc]
            else:
                yield raw
            raw.flush()
            os.fsync(raw.fileno())  # else a power failure may leave the name without the content
        os.chmod(name, 0o600 if private else 0o666 & ~_umask())
        put_in_place(name, os.path.realpath(target))
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def put_in_place(part: str | Path, target: str | Path) -> None:
    """Give a finished file or folder its name in one step; it replaces a file, or an empty folder, of that name."""
    if os.path.isdir(part):
        with suppress(OSError):
            os.rmdir(target)
    os.replace(part, target)


def is_part(name: str, targets: Iterable[str]) -> bool:
    """Whether a name is that of an unfinished part of one of these files, left by a crash."""
    return any(re.fullmatch(rf"\.{re.escape(target)}\.[a-z0-9_]{{8}}", name) for target in targets)


class _NamedFile(io.FileIO):
    """A file whose errors name its target."""

    def __init__(self, path: str | Path, target: Path) -> None:
        self._target = target
        try:
            super().__init__(path, "wb")
        except OSError as error:
            raise InputError(f"{target}: cannot be written ({error.strerror}); choose another file") from None

    def write(self, raw: Any) -> int:
        """Write some bytes."""
        try:
            return super().write(raw)
        except BrokenPipeError:
            raise
        except OSError as error:
            # Not an InputError: results are kept, for a second try with more space.
            raise RejoinderError(f"{self._target}: cannot be written ({error.strerror}); free some space") from None


def _is_special(target: Path) -> bool:
    """Whether it is not an ordinary file: a name like /dev/stdout, a device, a pipe."""
    try:
        mode = target.stat().st_mode
    except OSError:
        return False
    if stat.S_ISDIR(mode):
        raise InputError(f"{target}: is a folder; name a file to write to")
    in_memory = target.is_relative_to("/dev/shm")  # ordinary files, though among the devices
    return not stat.S_ISREG(mode) or (target.is_relative_to("/dev") and not in_memory) or target.is_relative_to("/proc")


def _make_part(target: Path) -> str:
    """Create a hidden file beside the target (beside the file that it links to) and return its name."""
    beside = Path(os.path.realpath(target))
    try:
        beside.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=beside.parent, prefix=f".{beside.name}.")
    except OSError as error:
        raise InputError(f"{shorten_path(target)}: cannot be written ({error.strerror}); choose another file") from None
    os.close(handle)
    return name


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file that appears whole or not at all."""
    with atomic_write(path) as file:
        file.write(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def size_on_disk(path: Path) -> int:
    """Return the size of a file, or of all files in a folder, in bytes."""
    return sum(file.stat().st_size for file in (path.rglob("*") if path.is_dir() else [path]) if file.is_file())


def sha256_of_files(paths: Sequence[Path]) -> str:
    """Return one sha256 of several files, in order."""
    return sha256_of_parts([sha256_of(path) for path in paths])
