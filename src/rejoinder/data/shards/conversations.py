"""The conversations and items of a file as sorted 64-bit digests, to find files that share or contradict each other.

8 bytes per conversation and 24 per item, in files: a comparison holds only one range of digests in memory at a time.
Two different names have the same digest in about one of 2^65 / n^2 sets of n names: one in 37 at a billion.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import orjson
from numpy.typing import NDArray

Digests: TypeAlias = NDArray[np.uint64]
ENDING = ".npy"
_DIGESTS_AT_ONCE = 2**22  # compared together


class SharedDigest(NamedTuple):
    """Two files, by number, that share a conversation or contradict each other on an item, and its digest."""

    first: int
    second: int
    digest: int


def conversation_digest(*names: str) -> int:
    """Return the digest of a conversation, by its name, or by a system and its name."""
    raw = "\0".join(names).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(raw, digest_size=8).digest(), "little")


def sort_digests(names: Iterable[tuple[str, ...]]) -> Digests:
    """Return the digests of conversations, sorted and unique."""
    return np.unique(np.fromiter((conversation_digest(*name) for name in names), np.uint64))


def pack_digests(digests: Digests) -> str:
    """Return digests as text, for another machine."""
    return base64.b64encode(digests.astype("<u8").tobytes()).decode()


def unpack_digests(text: str) -> Digests:
    """Return digests from their text."""
    return np.frombuffer(base64.b64decode(text), "<u8").astype(np.uint64)


def save_digests(digests: Digests, path: Path) -> None:
    """Write sorted digests to a file."""
    with path.open("wb") as file:
        np.save(file, digests, allow_pickle=False)


def item_digests(items: Iterable[Mapping[str, Any]], without: frozenset[str], is_whole: bool) -> Digests:
    """Return three digests per item (in the form of ``objects.to_object``): of its id, of all, ``without`` some parts.

    The second is 0 if the item was not read completely. ``meta`` does not count.
    """
    triples: list[tuple[int, int, int]] = []
    for item in items:
        part = _content_digest({key: value for key, value in item.items() if key not in without and key != "meta"})
        whole = part
        if not is_whole:
            whole = 0
        elif not without.isdisjoint(item):
            whole = _content_digest({key: value for key, value in item.items() if key != "meta"})
        triples.append((conversation_digest(item["id"]), whole, part))
    rows = np.array(triples, np.uint64).reshape(-1, 3)
    return rows[np.argsort(rows[:, 0], kind="stable")]


def _content_digest(item: Mapping[str, Any]) -> int:
    raw = orjson.dumps(item)
    return int.from_bytes(hashlib.blake2b(raw, digest_size=8).digest(), "little") | 1  # 0 means unknown


def find_shared(paths: Sequence[Path], at_once: int = _DIGESTS_AT_ONCE) -> SharedDigest | None:
    """Return two files of digests that share one, or None."""
    return next(filter(None, map(_shared_digest, _split_ranges(paths, at_once))), None)


def find_contradiction(paths: Sequence[Path], at_once: int = _DIGESTS_AT_ONCE // 4) -> SharedDigest | None:
    """Return two files of ``item_digests`` that have one id for different items, or None."""
    return next(filter(None, map(_find_contradiction, _split_ranges(paths, at_once))), None)


def _split_ranges(paths: Sequence[Path], at_once: int) -> Iterator[list[Digests]]:
    """Split the digest space into equal ranges; yield the part of each file that falls into each."""
    columns = [np.load(path, mmap_mode="r", allow_pickle=False) for path in paths]
    total = sum(map(len, columns))
    n_ranges = max(1, -(-total // at_once))
    # Digests are uniform: equal ranges hold about the same number.
    bounds = [2**64 * n // n_ranges for n in range(1, n_ranges)]
    begins = [0] * len(columns)
    for bound in [*bounds, None]:
        keys = [k if k.ndim == 1 else k[:, 0] for k in columns]
        ends = [len(k) if bound is None else int(np.searchsorted(k, np.uint64(bound))) for k in keys]
        yield [np.asarray(k[begin:end]) for k, begin, end in zip(columns, begins, ends, strict=True)]
        begins = ends


def _shared_digest(parts: Sequence[Digests]) -> SharedDigest | None:
    if not parts:
        return None
    whole, owners = np.concatenate(parts), _file_numbers(parts)
    order = np.argsort(whole, kind="stable")
    repeats = np.flatnonzero(whole[order][1:] == whole[order][:-1])
    if not len(repeats):
        return None
    first, second = order[repeats[0]], order[repeats[0] + 1]
    return SharedDigest(int(owners[first]), int(owners[second]), int(whole[first]))


def _find_contradiction(parts: Sequence[Digests]) -> SharedDigest | None:
    if not parts:
        return None
    rows, owners = np.concatenate(parts), _file_numbers(parts)
    # By id, then by the full digest: items not read completely (0) come first, and are compared by their part.
    order = np.lexsort((rows[:, 1], rows[:, 0]))
    (ids, wholes, some), owners = rows[order].T, owners[order]
    other = (wholes[1:] != wholes[:-1]) & (wholes[:-1] != 0) | (some[1:] != some[:-1])
    conflicts = np.flatnonzero((ids[1:] == ids[:-1]) & other)
    if not len(conflicts):
        return None
    first, second = sorted((int(owners[conflicts[0]]), int(owners[conflicts[0] + 1])))
    return SharedDigest(first, second, int(ids[conflicts[0]]))


def _file_numbers(parts: Sequence[Digests]) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(parts)), [len(part) for part in parts])
