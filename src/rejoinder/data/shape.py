"""The shape of JSON that rejoinder wrote, checked when it is read back: the file may have been edited."""

from __future__ import annotations

import math
from typing import Any


def fits_shape(value: Any, shape: Any) -> bool:
    """Whether a JSON value has a shape.

    A shape is a type, or a tuple of types; ``float`` also allows whole numbers, ``object`` anything. ``[shape]`` is a
    list of that shape, ``{"key": shape}`` an object with at least these keys (a key that ends in ``?`` is optional),
    and ``{str: shape}`` an object with any keys. Numbers must be finite.

    >>> fits({"n": 3, "of": ["a"]}, {"n": int, "of": [str], "more?": str})
    True
    """
    if isinstance(shape, list):
        return isinstance(value, list) and all(fits_shape(one, shape[0]) for one in value)
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return False
        if str in shape:
            return all(fits_shape(one, shape[str]) for one in value.values())
        return all(
            fits_shape(value[key.rstrip("?")], part) if key.rstrip("?") in value else key.endswith("?")
            for key, part in shape.items()
        )
    if shape is object:
        return True
    kinds = shape if isinstance(shape, tuple) else (shape,)
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return type(value) in kinds or (type(value) is int and float in kinds)
