"""Where a run over shards stores its results: a folder on this machine, or a remote one.

A shard's scores are written to a folder on this machine and appear at their address; ``shard.json``, which is written
last, says that they are complete.
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
from rejoinder.scoring.run_parts import SHARDS

SUMS = "shard.json"


class ShardedResults(Protocol):
    """A folder of results."""

    def read(self, name: str) -> bytes | None:
        """Return the content of a small file; None where there is none."""
        ...

    def write(self, name: str, raw: bytes) -> None:
        """Write a small file, whole."""
        ...

    def making(self, address: str) -> contextlib.AbstractContextManager[Path]:
        """A folder for the scores of one shard, stored when the block has succeeded."""
        ...

    def files(self, names: Sequence[str]) -> contextlib.AbstractContextManager[list[Path]]:
        """Some files, as files on this machine."""
        ...


def open_sharded_results(where: str) -> ShardedResults:
    """Return the results at a path or an address."""
    return RemoteResults(where) if is_remote(where) else LocalResults(Path(where))


class LocalResults:
    """A folder on this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(
                f"{shorten_path(folder)}: cannot be written ({error.strerror}); choose another folder"
            ) from None

    def read(self, name: str) -> bytes | None:
        """Return the content of a small file; None where there is none."""
        path = self._folder / name
        return path.read_bytes() if path.is_file() else None

    def write(self, name: str, raw: bytes) -> None:
        """Write a small file, whole."""
        with atomic_write(self._folder / name) as file:
            file.write(raw)

    @contextlib.contextmanager
    def making(self, address: str) -> Iterator[Path]:
        """The folder of a shard's scores; an unfinished run in it continues where it stopped."""
        yield self._folder / SHARDS / address

    @contextlib.contextmanager
    def files(self, names: Sequence[str]) -> Iterator[list[Path]]:
        """The files themselves."""
        yield [self._folder / name for name in names]


class RemoteResults:
    """A remote folder."""

    def __init__(self, where: str) -> None:
        self._folder = RemoteFolder(where)
        self._folder.check()

    def read(self, name: str) -> bytes | None:
        """Return the content of a small file; None where there is none."""
        return self._folder.content(name)

    def write(self, name: str, raw: bytes) -> None:
        """Write a small file: an object appears whole or not at all."""
        self._folder.put(name, raw)

    @contextlib.contextmanager
    def making(self, address: str) -> Iterator[Path]:
        """A temporary folder that is copied to the remote one, file by file."""
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
            copies = []
            for number, name in enumerate(names):
                copies.append(Path(folder) / f"{number}-{Path(name).name}")
                self._folder.fetch(name, copies[-1])
            yield copies
