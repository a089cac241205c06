"""The adapter's files: the thin matrices of a LoRA as int8 with a scale per row, and the head in float32.

Rounded in this way, the weights of a matrix differ by about half a per cent, and a file has a quarter of the size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import InputError
from rejoinder.files import sha256_of
from rejoinder.models.card import check_card_files, write_model_card
from rejoinder.models.large.card import (
    CARD_FILE,
    LargeBase,
    LargeCalibration,
    LargeCard,
    LargeLimits,
)
from rejoinder.models.tensors import read_tensors, write_tensors

Arrays = dict[str, NDArray[Any]]
FILE_NAME = "adapter-{}.safetensors"
MOST_BYTES = 16 * 2**20  # of one file: hosts of code and package registries refuse or slow down larger ones
HEAD, BIAS, SCALE = "head", "bias", ".scale"


class Adapter(NamedTuple):
    """The additions to matrices, as ``merge_lora`` takes them, and the head that reads the last token's vector."""

    parts: Arrays  # NAME.a (rank, inputs) and NAME.b (outputs, rank), whose product is added to the matrix NAME
    head: NDArray[np.float32]
    bias: float


def write_large_adapter(
    folder: Path,
    adapter: Adapter,
    base: LargeBase,
    *,
    calibration: LargeCalibration | None = None,
    limits: LargeLimits | None = None,
    about: Mapping[str, Any] | None = None,
) -> LargeCard:
    """Write an adapter, in files of at most 16 MiB, then its card; the same adapter gives the same bytes.

    Its parts are what ``extract_lora`` returns of a trained network, as numpy arrays.
    """
    folder.mkdir(parents=True, exist_ok=True)
    arrays: Arrays = {HEAD: adapter.head.astype(np.float32), BIAS: np.array([adapter.bias], np.float32)}
    for name, values in adapter.parts.items():
        arrays[name], arrays[name + SCALE] = _round_rows(values)
    files = {}
    for number, group in enumerate(_split_by_size(arrays), start=1):
        path = folder / FILE_NAME.format(number)
        write_tensors(path, group)
        files[path.name] = sha256_of(path)
    card = LargeCard(files, base, calibration or LargeCalibration(), limits or LargeLimits(), dict(about or {}))
    write_model_card(folder / CARD_FILE, card)
    return card


def read_large_adapter(folder: Path, card: LargeCard) -> Adapter:
    """Return the adapter of a folder, whose files must match the card."""
    check_card_files(folder, card.files, "get the adapter again")
    arrays: Arrays = {}
    for name in sorted(card.files):
        arrays |= read_tensors(folder / name)
    try:
        head, bias = arrays.pop(HEAD), float(arrays.pop(BIAS)[0])
        names = [name for name in arrays if not name.endswith(SCALE)]
        parts = {name: arrays[name].astype(np.float32) * arrays[name + SCALE][:, None] for name in names}
    except (KeyError, IndexError, ValueError):
        raise InputError(f"{folder}: is not an adapter (a matrix is missing); get it again") from None
    return Adapter(parts, head, bias)


def _round_rows(values: NDArray[Any]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return a matrix as int8 and the scale of each row, whose largest weight becomes 127."""
    scales = np.abs(values).max(axis=1).astype(np.float32) / np.float32(127)
    scales[scales == 0] = 1
    return np.rint(values / scales[:, None]).astype(np.int8), scales


def _split_by_size(arrays: Arrays) -> Iterator[Arrays]:
    """Yield the arrays in groups of limited size, in the order of their names; a matrix stays with its scale."""
    group: Arrays = {}
    size = 0
    for name in sorted(name for name in arrays if not name.endswith(SCALE)):
        members = {key: arrays[key] for key in (name, name + SCALE) if key in arrays}
        # A name, its shape and its place take about 200 bytes in the file's header.
        added = sum(array.nbytes + 200 for array in members.values())
        if group and size + added > MOST_BYTES:
            yield group
            group, size = {}, 0
        group |= members
        size += added
    yield group
