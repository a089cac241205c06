"""Whether a published file is here and is the one that was published."""

from __future__ import annotations

from pathlib import Path

from rejoinder.data.datasets._contract import Dataset, File
from rejoinder.errors import InputError
from rejoinder.files import sha256_of


def check(dataset: Dataset, root: Path, verify: bool) -> None:
    """Raise where a file of the set is missing or is another one; its digest is taken only to ``verify``."""
    for file in dataset.files:
        path = root / file.path
        cure = f"get it again with: rejoinder data get {dataset.name}"
        if not file.downloadable:
            cure = "it can be read as it stands without the check (rejoinder data write --no-verify)"
        try:
            size = path.stat().st_size
        except OSError:
            raise InputError(f"{path}: no such file; {missing(dataset, file)}") from None
        # A file that is not fetched from a pinned commit may come in other bytes: only `verify` insists.
        if file.downloadable and size != file.size:
            raise InputError(
                f"{path}: differs from the published file: {size:,} bytes instead of {file.size:,}; {cure}"
            )
        if verify and (found := sha256_of(path)) != file.sha256:
            raise InputError(
                f"{path}: differs from the published file: sha256 {found} instead of {file.sha256}; {cure}"
            )


def missing(dataset: Dataset, file: File) -> str:
    """The end of an error sentence: what to do about a file that is not here."""
    if file.downloadable:
        return f"get it with: rejoinder data get {dataset.name} (or set REJOINDER_DATA to the folder that has it)"
    return file.reason


def is_right(file: File, path: Path) -> bool:
    """Whether the file is here, whole and unchanged."""
    try:
        return path.stat().st_size == file.size and sha256_of(path) == file.sha256
    except (OSError, InputError):
        return False
