"""What every statistic takes: arrays of numbers where NaN means missing, and labels that group rows."""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Sequence
from typing import Any, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from rejoinder.errors import InputError, SpecError, brief

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Numbers: TypeAlias = npt.ArrayLike
Labels: TypeAlias = Sequence[Hashable] | npt.NDArray[Any]

NAN = math.nan
LARGEST = 1e150


def as_floats(values: Numbers, name: str, ndim: int = 1) -> Floats:
    """The values as an array of float64; None and masked entries become NaN."""
    if "numpy.ma" in sys.modules and isinstance(values, np.ma.MaskedArray):  # else np.ma would be imported for nothing
        values = np.where(np.ma.getmaskarray(values), NAN, np.ma.getdata(values))
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO":
            raise TypeError
        numbers = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"{name} must be numbers, with NaN or None where one is missing; found {brief(values)}"
        ) from None
    if numbers.size == 0 and numbers.ndim < ndim:
        numbers = numbers.reshape((0,) * ndim)
    if numbers.ndim != ndim:
        raise InputError(f"{name} must have {ndim} dimension{'s' * (ndim > 1)}, not {numbers.ndim}; reshape it")
    return numbers


def as_paired_floats(**named: Numbers) -> tuple[Floats, ...]:
    """Arrays of numbers that match row by row."""
    arrays = {name: as_floats(values, name) for name, values in named.items()}
    check_same_length(**arrays)
    return tuple(arrays.values())


def check_same_length(**named: Sequence[Any] | npt.NDArray[Any]) -> None:
    """Raise an error where arrays that should match row by row have different lengths."""
    lengths = {name: len(values) for name, values in named.items()}
    if len(set(lengths.values())) > 1:
        listing = ", ".join(f"{name} {n}" for name, n in lengths.items())
        raise InputError(f"arrays have different lengths ({listing}); give each of them one value per row")


def encode_labels(labels: Labels, name: str) -> tuple[Ints, list[Any]]:
    """Labels as the numbers 0, 1, ... in the order in which they first appear, and the labels themselves."""
    values = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    seen: dict[Any, int] = {}
    try:
        codes = [seen.setdefault(label, len(seen)) for label in values]
    except TypeError:
        raise InputError(f"{name} must be strings or numbers, one per row; found {brief(values)}") from None
    for label in seen:
        if label is None or label != label:
            raise InputError(f"row {values.index(label) + 1} of {name} has no label; give every row one")
    return np.array(codes, dtype=np.int64), list(seen)


def as_finite(values: Numbers, name: str) -> Floats:
    """Like ``as_floats``, but values without a finite square are missing too: no mean or variance could hold them."""
    numbers = as_floats(values, name)
    return np.where(np.abs(numbers) <= LARGEST, numbers, NAN)


def check_one_of(value: str, choices: Any, what: str) -> None:
    """Raise an error unless the value is one of those that a Literal type allows."""
    if value not in get_args(choices):
        raise SpecError(f"no {what} is called {value!r}; known: {', '.join(get_args(choices))}")


def check_probability(value: float, name: str) -> float:
    """Return the value; raise an error unless it lies strictly between 0 and 1."""
    if not 0 < value < 1:
        raise InputError(f"{name} must lie between 0 and 1, not {value}; write 0.95 for 95 percent")
    return value


def check_at_least(value: int, least: int, name: str) -> int:
    """Return the value; raise an error unless it is a whole number and not too small."""
    if not (isinstance(value, (int, float, np.integer)) and value >= least and float(value).is_integer()):
        raise InputError(f"{name} must be a whole number of at least {least}, not {value}")
    return int(value)


def make_generator(seed: int, *stream: int) -> np.random.Generator:
    """The random generator of a seed; streams of one seed are independent of each other."""
    return np.random.default_rng([check_at_least(seed, 0, "seed"), *stream])


def sum_by_code(codes: Ints, values: Floats, size: int) -> Floats:
    """The sum of the values under each of the codes 0, 1, ... size - 1."""
    return np.bincount(codes, weights=values, minlength=size).astype(np.float64, copy=False)


def is_constant(values: Floats) -> bool:
    """Whether all values are the same (or there are none)."""
    return bool(values.size == 0 or (values == values[0]).all())


def largest_known(values: Floats) -> float:
    """Return the largest number that is not NaN; NaN if there is none."""
    known = values[~np.isnan(values)]
    return float(known.max()) if known.size else NAN


def scale_to_unit_length(vectors: npt.NDArray[Any]) -> Floats:
    """Return vectors scaled to length 1, in double precision; a zero vector has no direction and becomes NaN."""
    double = np.asarray(vectors, np.float64)
    lengths = np.linalg.norm(double, axis=-1, keepdims=True)
    return double / np.where(lengths > 0, lengths, NAN)
