"""Published sets, one file each: human judgements of responses, and dialogues.

>>> from rejoinder.data.datasets import read_dataset
>>> records = read_dataset("gupta/multi")  # nothing is read before the first record is requested
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rejoinder.data.dataset import Dataset, DatasetFile, check_dataset
from rejoinder.errors import SpecError, nearest
from rejoinder.paths import data_home
from rejoinder.registry import Registry
from rejoinder.types import Record

__all__ = ["Dataset", "DatasetFile", "dataset", "datasets_under", "list_datasets", "read_dataset"]


_REGISTRY: Registry[tuple[Dataset, ...]] = Registry(__name__, "dataset", lambda module: module.DATASETS)


def list_datasets() -> list[Dataset]:
    """Return all published sets, sorted by name."""
    return sorted((d for module in _REGISTRY.names() for d in _REGISTRY.load(module)), key=lambda d: d.name)


def dataset(name: str) -> Dataset:
    """Return the published set of that name."""
    module = name.partition("/")[0]
    offered = _REGISTRY.load(module) if module in _REGISTRY else ()
    for candidate in offered:
        if candidate.name == name:
            return candidate
    known = [d.name for d in offered] or [d.name for d in list_datasets()]
    raise SpecError(f"no dataset is called {name!r}; {nearest(name, known)}")


def datasets_under(name: str) -> list[Dataset]:
    """Return the set of that name, or all sets below it: ``gupta`` means ``gupta/single``, ``gupta/multi``, ..."""
    below = [d for d in list_datasets() if d.name == name or d.name.startswith(f"{name.rstrip('/')}/")]
    return below or [dataset(name)]


def read_dataset(name: str, root: str | Path | None = None, verify: bool = False) -> Iterator[Record]:
    """Yield the records of a published set, one at a time.

    - ``name``: one of ``list_("datasets")``.
    - ``root``: where the files are; by default ``$REJOINDER_DATA``, else the user's data folder.
    - ``verify``: compare the sha256 of the files too, not only their sizes.

    >>> import rejoinder
    >>> record = next(rejoinder.data.read_dataset("gupta/multi"))
    """
    return _read_checked(dataset(name), Path(root) if root is not None else data_home(), verify)


def _read_checked(published: Dataset, root: Path, verify: bool) -> Iterator[Record]:
    check_dataset(published, root, verify)
    yield from published.read(root)
