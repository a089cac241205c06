"""Which conversations a file touches, as sorted 64-bit digests, and whether two files share one.

8 bytes a conversation, kept in files: comparing many of them takes no more memory than a stretch of digests at a time.
Two different names have the same digest once in about 2^64 / n^2 sets of n: one in 200 at a thousand million.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Digests: TypeAlias = NDArray[np.uint64]
ENDING = ".npy"
_AT_ONCE = 2**22  # digests that are compared together


class Shared(NamedTuple):
    """Two files, by number, that share a conversation, and its digest."""

    first: int
    second: int
    digest: int


def digest(*names: str) -> int:
    """The digest of a conversation, by its name, or by its name and whose replies are meant."""
    raw = "\0".join(names).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(raw, digest_size=8).digest(), "little")


def digests(names: Iterable[tuple[str, ...]]) -> Digests:
    """The digests of conversations, sorted, each once."""
    return np.unique(np.fromiter((digest(*name) for name in names), np.uint64))


def packed(found: Digests) -> str:
    """Digests as text, for another machine."""
    return base64.b64encode(found.astype("<u8").tobytes()).decode()


def unpacked(text: str) -> Digests:
    """Digests from their text."""
    return np.frombuffer(base64.b64decode(text), "<u8").astype(np.uint64)


def save(found: Digests, path: Path) -> None:
    """Keep sorted digests."""
    with path.open("wb") as file:
        np.save(file, found, allow_pickle=False)


def first_shared(paths: Sequence[Path], at_once: int = _AT_ONCE) -> Shared | None:
    """Two files of digests that share one, if there are any."""
    kept = [np.load(path, mmap_mode="r", allow_pickle=False) for path in paths]
    total = sum(map(len, kept))
    stretches = max(1, -(-total // at_once))
    # Digests are spread evenly: equal stretches of their range hold about equally many.
    bounds = [2**64 * n // stretches for n in range(1, stretches)]
    begins = [0] * len(kept)
    for bound in [*bounds, None]:
        ends = [len(k) if bound is None else int(np.searchsorted(k, np.uint64(bound))) for k in kept]
        parts = [np.asarray(k[begin:end]) for k, begin, end in zip(kept, begins, ends, strict=True)]
        found = _shared(parts)
        if found is not None:
            return found
        begins = ends
    return None


def _shared(parts: Sequence[Digests]) -> Shared | None:
    if not parts:
        return None
    whole = np.concatenate(parts)
    owners = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    order = np.argsort(whole, kind="stable")
    twice = np.flatnonzero(whole[order][1:] == whole[order][:-1])
    if not len(twice):
        return None
    first, second = order[twice[0]], order[twice[0] + 1]
    return Shared(int(owners[first]), int(owners[second]), int(whole[first]))
