"""Data in many files, each complete in itself: a folder, a pattern, or an address of an object store.

``logs/``, ``logs/*.jsonl.gz``, ``s3://bucket/logs``; what lies beyond this machine is read through pyarrow's file
systems (``rejoinder[arrow]``), each shard into a temporary file while it is worked on.
"""

from __future__ import annotations

import contextlib
import glob
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rejoinder.errors import InputError, MissingExtraError

ENDINGS = (".jsonl", ".jsonl.gz")
_REMOTE = "://"
_PATTERN = frozenset("*?[")


class Shard(NamedTuple):
    """One file of many: what it is called, where it is, and its bytes."""

    name: str
    where: str
    size: int


def is_sharded(given: str) -> bool:
    """Whether a name means many files."""
    if _REMOTE in given:
        return True
    path = Path(given)
    return not given.startswith("dataset:") and not path.is_file() and (path.is_dir() or bool(_PATTERN & set(given)))


def shards_of(given: str) -> list[Shard]:
    """The files that a name means, by name; an error where there are none."""
    found = _remote(given) if _REMOTE in given else _local(given)
    if not found:
        raise InputError(f"{given}: holds no shards; they are files that end in {' or '.join(ENDINGS)}")
    return sorted(found)


@contextlib.contextmanager
def local(shard: Shard) -> Iterator[Path]:
    """A shard as a file of this machine."""
    if _REMOTE not in shard.where:
        yield Path(shard.where)
        return
    system, path = _file_system(shard.where)
    with tempfile.TemporaryDirectory(prefix="rejoinder-shard-") as folder:
        target = Path(folder) / Path(path).name
        try:
            with system.open_input_stream(path, compression=None) as source, target.open("wb") as file:
                shutil.copyfileobj(source, file, 2**20)
        except OSError as error:
            raise InputError(f"{shard.where}: cannot be read ({_reason(error)})") from None
        yield target


def _local(given: str) -> list[Shard]:
    root = Path(given)
    paths = root.rglob("*") if root.is_dir() else map(Path, glob.glob(given, recursive=True))
    base = root if root.is_dir() else None
    return [
        Shard(str(path.relative_to(base)) if base else path.name, str(path.resolve()), path.stat().st_size)
        for path in paths
        if path.is_file() and path.name.endswith(ENDINGS) and not path.name.startswith(".")
    ]


def _remote(given: str) -> list[Shard]:
    from pyarrow import fs

    system, path = _file_system(given)
    begin, _, query = given.partition("?")
    address = begin[: begin.index(_REMOTE) + len(_REMOTE)]
    try:
        info = system.get_file_info(path)
        files = [info] if info.is_file else system.get_file_info(fs.FileSelector(path, recursive=True))
    except OSError as error:
        raise InputError(f"{given}: cannot be listed ({_reason(error)})") from None
    tail = f"?{query}" if query else ""
    return [
        Shard(Path(one.path).name if one.path == path else one.path.removeprefix(path).lstrip("/"),
              f"{address}{one.path}{tail}", int(one.size))
        for one in files
        if one.is_file and one.base_name.endswith(ENDINGS)
    ]  # fmt: skip


def _file_system(where: str) -> tuple[Any, str]:
    try:
        from pyarrow import fs
    except ImportError:
        raise MissingExtraError("pyarrow", "arrow", "reading from an object store") from None
    try:
        system, path = fs.FileSystem.from_uri(where)
    except (OSError, ValueError) as error:
        raise InputError(f"{where}: is no address of a file or folder ({_reason(error)})") from None
    return system, path


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
