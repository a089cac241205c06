"""What a published set is: a name, the files it is published in, and how they become records.

A module of this folder is one publication; its ``DATASETS`` are the sets that it offers, each named after the module,
``module`` or ``module/part``. Nothing else has to be edited for a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rejoinder.types import Record

NO_LICENCE = "none stated"


@dataclass(frozen=True)
class File:
    """One published file: where it lies under the data folder, what it must be, and where it can be had.

    ``repository`` ("owner/name" on GitHub), ``commit`` and ``remote_path`` are None where it cannot be downloaded by
    itself; ``reason`` then says why, and what to do.
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
    files: tuple[File, ...]
    licence: str
    citation: str
    counts: Mapping[str, int] = field(hash=False)
    notes: str
    read: Callable[[Path], Iterator[Record]]
