"""pyarrow, an optional library: imported with an error that says how to install it, and read batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from rejoinder.errors import InputError, MissingExtraError
from rejoinder.paths import printable


def import_arrow(purpose: str) -> Any:
    """Return the pyarrow module, or raise an error that says how to install it."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("pyarrow", "arrow", purpose) from None
    return pyarrow


def arrow_path(path: str | Path) -> str:
    """Return a path for pyarrow, which only accepts UTF-8 names."""
    if printable(path) != str(path):
        raise InputError(
            f"{printable(path)}: its name is not valid UTF-8, as names of Parquet and Arrow files must be; rename it"
        )
    return str(path)


def read_valid_batches(
    batches: Iterable[Any], read: Callable[[Any], Any], make_error: Callable[[Exception], InputError]
) -> Iterator[Any]:
    """Yield what ``read`` returns for each batch; Arrow's errors are raised as ``make_error`` words them."""
    iterator = iter(batches)
    while True:
        try:
            batch = next(iterator, None)
            if batch is None:
                return
            # Arrow trusts the offsets in a file; a damaged one would end in a crash, not in an error.
            batch.validate(full=True)
            value = read(batch)
        except Exception as error:
            raise make_error(error) from None
        yield value
