"""The score cache: the values of a chunk of pairs, under the digest of everything that decides them.

The values are at ``<signature's digest>/<content's digest>``, written once and whole, with a checksum: a damaged file
is computed again. Nothing in it depends on ids, so renaming a response keeps its scores, except those of a metric of
the user's, which may read ids.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import orjson

from rejoinder.data.objects import to_object
from rejoinder.keyed_store import FileStore
from rejoinder.types import Pair

_SORTED_KEYS = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS
EVERYTHING = frozenset({"everything"})  # what a metric of the user's may read


class ScoreStore:
    """A folder of lists of values by content address."""

    def __init__(self, root: Path) -> None:
        self._files = FileStore(root, "scores")

    def get(self, address: str) -> list[Any] | None:
        """Return the values at an address, or None."""
        payload = self._files.get(address)
        values = None if payload is None else orjson.loads(payload)
        return values if isinstance(values, list) else None

    def put(self, address: str, values: Sequence[Any]) -> None:
        """Write values to an address; the file appears whole or not at all."""
        self._files.put(address, orjson.dumps(values, option=orjson.OPT_SERIALIZE_NUMPY))


def score_address(signature: str, content: str) -> str:
    """Return the address of the values of a signature over some content."""
    return f"{hashlib.blake2b(signature.encode(), digest_size=10).hexdigest()}/{content}"


def pairs_digest(pairs: Sequence[Pair], needs: Iterable[str]) -> str:
    """Return the digest of all that a metric with these needs reads of the pairs."""
    parts = sorted(needs)
    content = hashlib.blake2b(digest_size=20)
    if needs == EVERYTHING:
        for pair in pairs:
            content.update(
                _frame_bytes(orjson.dumps([to_object(pair.item), to_object(pair.response)], option=_SORTED_KEYS))
            )
        return content.hexdigest()
    item, prefix = None, b""
    for pair in pairs:
        if pair.item is not item:
            item, prefix = pair.item, _item_bytes(pair, parts)
        content.update(prefix)
        content.update(_frame_bytes(pair.response.text.encode()))
    return content.hexdigest()


def _item_bytes(pair: Pair, parts: Sequence[str]) -> bytes:
    """What the item contributes to the address; dataclasses are serialised field by field."""
    item = pair.item
    return _frame_bytes(orjson.dumps([getattr(item, part) for part in parts]))


def _frame_bytes(raw: bytes) -> bytes:
    return len(raw).to_bytes(8, "little") + raw
