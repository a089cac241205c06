"""Data in many files, each complete in itself: a folder, a pattern, or the address of an object store.

``logs/``, ``logs/*.parquet``, ``s3://bucket/logs``; remote files are read through pyarrow's file systems
(``rejoinder[arrow]``), each copied to a temporary file while it is in use. If there is a catalogue beside the shards,
they must match it.
"""

from __future__ import annotations

import contextlib
import glob
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rejoinder.data import remote
from rejoinder.data.shards import manifest
from rejoinder.errors import InputError
from rejoinder.paths import printable

ENDINGS = (".jsonl", ".jsonl.gz", ".parquet")
_PATTERN = frozenset("*?[")


class Shard(NamedTuple):
    """One file of many: its name, its path or address, its size in bytes, and its catalogue entry."""

    name: str
    where: str
    size: int
    sha256: str | None = None
    responses: int | None = None


def is_sharded(name: str) -> bool:
    """Whether a name stands for many files."""
    if remote.is_remote(name):
        return True
    path = Path(name)
    return not name.startswith("dataset:") and not path.is_file() and (path.is_dir() or bool(_PATTERN & set(name)))


def shards_of(location: str, check: bool = True) -> list[Shard]:
    """Return the data files of a folder, a pattern or an address, sorted by name; raise if there are none.

    - ``location``: the folder, the pattern or the address.
    - ``check``: whether to check the files against the catalogue beside them, if there is one.

    >>> import rejoinder
    >>> len(rejoinder.data.shards_of("talks/"))
    2
    """
    shards = _list_remote(location, check) if remote.is_remote(location) else _list_local(location, check)
    if not shards:
        what = f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
        raise InputError(
            f"{remote.redact_address(location)}: holds no shards; shards are files that end in {what}, and tables "
            "are read too: rejoinder list importers"
        )
    return sorted(shards)


def list_data_files(name: str) -> list[Shard]:
    """Return the files that a name stands for, one or many."""
    if is_sharded(name):
        return shards_of(name)
    path = Path(name)
    if not path.is_file():
        what = (
            "cannot be read together with folders; save it as a file"
            if name == "-" or path.exists()
            else "no such file"
        )
        raise InputError(f"{printable(name)}: {what}")
    return [Shard(printable(path.name), str(path.resolve()), path.stat().st_size)]


@contextlib.contextmanager
def fetch_local(shard: Shard) -> Iterator[Path]:
    """Provide a shard as a local file."""
    if not remote.is_remote(shard.where):
        yield Path(shard.where)
        return
    where, name = remote.split_address(shard.where)
    with tempfile.TemporaryDirectory(prefix="rejoinder-shard-") as folder:
        target = Path(folder) / name
        remote.RemoteFolder(where).fetch(name, target)
        yield target


def check_shard(shard: Shard, sha256: str) -> None:
    """Raise if a shard is not the one its catalogue lists."""
    if shard.sha256 is not None and shard.sha256 != sha256:
        how = f"sha256 {shard.sha256[:12]}… is listed, {sha256[:12]}… was read"
        raise manifest.changed_shard_error(shard.name, how)


def is_shard(path: str) -> bool:
    """Whether a file is a shard, by its name."""
    name = path.rpartition("/")[2]
    return name.endswith(ENDINGS) and not name.startswith(".")


def _list_local(pattern: str, check: bool) -> list[Shard]:
    root = Path(pattern)
    whole = root.is_dir()
    paths = root.rglob("*") if whole else map(Path, glob.glob(pattern, recursive=True))
    shards = [
        Shard(
            printable(path.relative_to(root).as_posix() if whole else path.name),
            str(path.resolve()),
            path.stat().st_size,
        )
        for path in paths
        if path.is_file() and is_shard(path.as_posix())
    ]
    if not check:
        return shards
    if whole:
        return _apply_manifest(shards, _read_if_present(root / manifest.NAME), str(root / manifest.NAME), True)
    known: list[Shard] = []
    for folder in dict.fromkeys(Path(shard.where).parent for shard in shards):
        siblings = [shard for shard in shards if Path(shard.where).parent == folder]
        known += _apply_manifest(siblings, _read_if_present(folder / manifest.NAME), str(folder / manifest.NAME), False)
    return known


def _list_remote(address: str, check: bool) -> list[Shard]:
    files = remote.RemoteFolder(address).files()
    parent, name = remote.split_address(address)
    single = [file.name for file in files] == [name]
    folder = parent if single else address
    shards = [
        Shard(file.name, remote.join_address(folder, file.name), file.size) for file in files if is_shard(file.name)
    ]
    if not check or not (single or any(file.name == manifest.NAME for file in files)):
        return shards
    raw = remote.RemoteFolder(folder).content(manifest.NAME)
    return _apply_manifest(shards, raw, remote.redact_address(remote.join_address(folder, manifest.NAME)), not single)


def _read_if_present(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _apply_manifest(shards: Sequence[Shard], raw: bytes | None, where: str, whole: bool) -> list[Shard]:
    """Return the shards with what their catalogue says about them."""
    if raw is None:
        return list(shards)
    sizes: Mapping[str, int] = {shard.name: shard.size for shard in shards}
    entries = manifest.compare_manifest(manifest.decode_manifest(raw, where), sizes, where, whole)
    return [
        shard._replace(sha256=entry.sha256, responses=entry.records.get("response", 0))
        for shard in shards
        for entry in [entries[shard.name]]
    ]
