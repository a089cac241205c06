"""Where shards are put: a folder of this machine or one by its address, with a catalogue that comes last."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rejoinder.data import remote
from rejoinder.data.shards.files import is_shard
from rejoinder.data.shards.manifest import Catalogue
from rejoinder.data.shards.stats import write_catalogue
from rejoinder.errors import InputError


class Shelf:
    """A place for shards; what is there already is not written again."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._remote = remote.RemoteFolder(where) if remote.is_remote(where) else None
        self._folder = Path(where)
        self._new: list[Path] = []
        self._made = self._remote is None and not self._folder.exists()
        if self._remote is not None:
            self._remote.check()
            self._sizes = {one.name: one.size for one in self._remote.files(missing=True)}
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{where}: cannot be made a folder of shards ({error.strerror})") from None

    @contextlib.contextmanager
    def workplace(self) -> Iterator[Path]:
        """A folder to write in, beside the shards where that can be."""
        beside = None if self._remote is not None else self._folder
        with tempfile.TemporaryDirectory(prefix=".packing-", dir=beside) as folder:
            yield Path(folder)

    def put(self, source: Path, name: str) -> None:
        """Move a file there, unless it is there already."""
        if self._remote is None:
            os.chmod(source, 0o644)
            if not (self._folder / name).exists():
                self._new.append(self._folder / name)
            os.replace(source, self._folder / name)
        elif self._sizes.get(name) != source.stat().st_size:
            self._remote.send(source, name)

    def undo(self) -> None:
        """Take away what was put into a folder of this machine, and the folder where nothing else is in it."""
        for path in self._new:
            path.unlink(missing_ok=True)
        if self._made:
            with contextlib.suppress(OSError):
                self._folder.rmdir()

    def close(self, found: Catalogue) -> None:
        """Write the catalogue; raises where other shards are there, too."""
        strange = self._names() - {entry.name for entry in found.entries}
        if strange:
            raise InputError(
                f"{remote.shown(self._where)}: also holds other shards ({min(strange)}); choose another place with -o"
            )
        write_catalogue(found, self._where)

    def _names(self) -> set[str]:
        if self._remote is not None:
            return {one.name for one in self._remote.files() if is_shard(one.name)}
        return {path.name for path in self._folder.iterdir() if is_shard(path.name)}
