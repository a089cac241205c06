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

from rejoinder.data.dialogue_places import turns_after
from rejoinder.data.objects import to_object
from rejoinder.data.parts import READERS, read_part
from rejoinder.keyed_store import FileStore
from rejoinder.types import Pair

_SORTED_KEYS = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS
EVERYTHING = frozenset({"everything"})  # what a metric of the user's may read
DIALOGUE = "dialogue"  # among the parts: the turns of a whole dialogue, and whether this reply is its last


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


def pairs_digest(pairs: Sequence[Pair], needs: Iterable[str], reads: Iterable[str] = ()) -> str:
    """Return the digest of all that a metric with these needs reads of the pairs.

    Parts that it reads only where they are there count only there: without them the digest is that of ``needs``.
    """
    parts, optional = sorted(needs), sorted(reads)
    content = hashlib.blake2b(digest_size=20)
    if needs == EVERYTHING:
        for pair in pairs:
            content.update(
                _frame_bytes(orjson.dumps([to_object(pair.item), to_object(pair.response)], option=_SORTED_KEYS))
            )
            content.update(_optional_bytes(pair, optional))
        return content.hexdigest()
    item, prefix, varies = None, b"", not READERS.keys().isdisjoint(parts)  # the response's meta may have them
    for pair in pairs:
        if pair.item is not item or varies:
            item, prefix = pair.item, _item_bytes(pair, parts)
        content.update(prefix)
        content.update(_optional_bytes(pair, optional))
        content.update(_frame_bytes(pair.response.text.encode()))
    return content.hexdigest()


def _item_bytes(pair: Pair, parts: Sequence[str]) -> bytes:
    """What the item contributes to the address; dataclasses are serialised field by field."""
    return _frame_bytes(orjson.dumps([read_part(pair, part) for part in parts]))


def _optional_bytes(pair: Pair, parts: Sequence[str]) -> bytes:
    """What the pair contributes in parts that it need not have; nothing where it has none of them."""
    known: dict[str, Any] = {part: read_part(pair, part) for part in parts if part != DIALOGUE}
    if DIALOGUE in parts:
        known |= {"not last": not pair.is_last, "future": turns_after(pair)}
    known = {part: value for part, value in known.items() if value}
    return _frame_bytes(orjson.dumps(known, option=_SORTED_KEYS)) if known else b""


def _frame_bytes(raw: bytes) -> bytes:
    return len(raw).to_bytes(8, "little") + raw
