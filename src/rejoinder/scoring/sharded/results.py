"""Where a run over shards keeps what it computed: a folder of this machine, or one by its address.

A shard's scores are made in a folder of this machine and appear under their address; ``shard.json``, which comes last,
says that they are whole.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from rejoinder.data.remote import RemoteFolder, is_remote
from rejoinder.errors import RunError, shorten_path
from rejoinder.files import atomic_write

ABOUT, SHARDS, SUMS = "sharded.json", "shards", "shard.json"


class Results(Protocol):
    """A place for results."""

    def read(self, name: str) -> bytes | None:
        """What a small file holds; None where there is none."""
        ...

    def write(self, name: str, raw: bytes) -> None:
        """Write a small file, whole."""
        ...

    def making(self, address: str) -> contextlib.AbstractContextManager[Path]:
        """A folder for the scores of one shard, kept when the block has ended well."""
        ...

    def files(self, names: Sequence[str]) -> contextlib.AbstractContextManager[list[Path]]:
        """Some files, as files of this machine."""
        ...


def open_results(where: str) -> Results:
    """The results at a path or an address."""
    return RemoteResults(where) if is_remote(where) else LocalResults(Path(where))


class LocalResults:
    """A folder of this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(
                f"{shorten_path(folder)}: cannot be written ({error.strerror}); choose another folder with -o"
            ) from None

    def read(self, name: str) -> bytes | None:
        """What a small file holds; None where there is none."""
        path = self._folder / name
        return path.read_bytes() if path.is_file() else None

    def write(self, name: str, raw: bytes) -> None:
        """Write a small file, whole."""
        with atomic_write(self._folder / name) as file:
            file.write(raw)

    @contextlib.contextmanager
    def making(self, address: str) -> Iterator[Path]:
        """The folder of a shard's scores: an unfinished one goes on where it was."""
        yield self._folder / SHARDS / address

    @contextlib.contextmanager
    def files(self, names: Sequence[str]) -> Iterator[list[Path]]:
        """The files themselves."""
        yield [self._folder / name for name in names]


class RemoteResults:
    """A folder by its address."""

    def __init__(self, where: str) -> None:
        self._folder = RemoteFolder(where)
        self._folder.check()

    def read(self, name: str) -> bytes | None:
        """What a small file holds; None where there is none."""
        return self._folder.content(name)

    def write(self, name: str, raw: bytes) -> None:
        """Write a small file: an object appears whole or not at all."""
        self._folder.put(name, raw)

    @contextlib.contextmanager
    def making(self, address: str) -> Iterator[Path]:
        """A temporary folder, copied there file by file."""
        with tempfile.TemporaryDirectory(prefix="rejoinder-scores-") as name:
            folder = Path(name) / address
            yield folder
            files = sorted((path for path in folder.rglob("*") if path.is_file()), key=lambda path: path.name == SUMS)
            for path in files:
                self._folder.send(path, f"{SHARDS}/{address}/{path.relative_to(folder).as_posix()}")

    @contextlib.contextmanager
    def files(self, names: Sequence[str]) -> Iterator[list[Path]]:
        """Copies of the files."""
        with tempfile.TemporaryDirectory(prefix="rejoinder-results-") as folder:
            found = []
            for number, name in enumerate(names):
                found.append(Path(folder) / f"{number}-{Path(name).name}")
                self._folder.fetch(name, found[-1])
            yield found
