"""Named arrays in a safetensors file, written and read with numpy only; such a file cannot contain code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from rejoinder.errors import InputError

_DTYPES = {"I8": "<i1", "F16": "<f2", "F32": "<f4", "F64": "<f8"}
_NAMES = {np.dtype(kind): name for name, kind in _DTYPES.items()}


def write_tensors(path: Path, tensors: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays; the same arrays give the same bytes."""
    header: dict[str, Any] = {}
    end = 0
    parts = []
    for name in sorted(tensors):
        array = np.ascontiguousarray(tensors[name])
        data = array.astype(array.dtype.newbyteorder("<")).tobytes()
        header[name] = {
            "dtype": _NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [end, end + len(data)],
        }
        end += len(data)
        parts.append(data)
    header_bytes = orjson.dumps(header, option=orjson.OPT_SORT_KEYS)
    header_bytes += b" " * (-len(header_bytes) % 8)
    path.write_bytes(len(header_bytes).to_bytes(8, "little") + header_bytes + b"".join(parts))


def read_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file, in memory."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    try:
        size = int.from_bytes(raw[:8], "little")
        header = orjson.loads(raw[8 : 8 + size])
        body = memoryview(raw)[8 + size :]
        return {name: _read_array(body, entry) for name, entry in header.items() if name != "__metadata__"}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{path}: is not a valid safetensors file") from None


def _read_array(body: memoryview, entry: Mapping[str, Any]) -> NDArray[Any]:
    begin, end = entry["data_offsets"]
    array: NDArray[Any] = np.frombuffer(body[begin:end], _DTYPES[entry["dtype"]]).reshape(entry["shape"]).copy()
    return array
