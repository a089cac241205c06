"""What a published set is: a name, its published files, and how they become records.

A module of this folder is one publication; its ``DATASETS`` are the sets it offers, each named after the module,
``module`` or ``module/part``. Nothing else has to be edited for a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rejoinder.errors import InputError
from rejoinder.files import sha256_of
from rejoinder.types import Record

NO_LICENCE = "none stated"


@dataclass(frozen=True)
class DatasetFile:
    """One published file: its path under the data folder, its size and digest, and where to get it.

    ``repository`` ("owner/name" on GitHub), ``commit`` and ``remote_path`` are None if it cannot be downloaded on
    its own; ``reason`` then says why, and what to do.
    """

    path: str
    sha256: str
    size: int
    repository: str | None = None
    commit: str | None = None
    remote_path: str | None = None
    reason: str = ""

    @property
    def downloadable(self) -> bool:
        """Whether ``rejoinder data get`` can fetch it."""
        return self.repository is not None


@dataclass(frozen=True)
class Dataset:
    """A published set. ``read`` takes the data folder and gives the records; it reads nothing before it is iterated."""

    name: str
    summary: str
    files: tuple[DatasetFile, ...]
    licence: str
    citation: str
    counts: Mapping[str, int] = field(hash=False)
    notes: str
    read: Callable[[Path], Iterator[Record]]


def check_dataset(dataset: Dataset, root: Path, verify: bool) -> None:
    """Raise if a file of the set is missing or differs; digests are compared only with ``verify``."""
    for file in dataset.files:
        path = root / file.path
        remedy = f"get it again with: rejoinder data get {dataset.name}"
        if not file.downloadable:
            remedy = "to read it as it is, skip the check (rejoinder data write --no-verify)"
        try:
            size = path.stat().st_size
        except OSError:
            raise InputError(f"{path}: no such file; {missing_file_hint(dataset, file)}") from None
        # A file that is not fetched from a pinned commit may differ in its bytes: only `verify` insists.
        if file.downloadable and size != file.size:
            raise InputError(
                f"{path}: differs from the published file: {size:,} bytes instead of {file.size:,}; {remedy}"
            )
        if verify and (digest := sha256_of(path)) != file.sha256:
            raise InputError(
                f"{path}: differs from the published file: sha256 {digest} instead of {file.sha256}; {remedy}"
            )


def missing_file_hint(dataset: Dataset, file: DatasetFile) -> str:
    """Return the end of an error message: what to do about a missing file."""
    if file.downloadable:
        return f"get it with: rejoinder data get {dataset.name} (or set REJOINDER_DATA to the folder that has it)"
    return file.reason


def is_intact(file: DatasetFile, path: Path) -> bool:
    """Whether the file is there, complete and unchanged."""
    try:
        return path.stat().st_size == file.size and sha256_of(path) == file.sha256
    except (OSError, InputError):
        return False
