"""The score cache: what was computed for a chunk of pairs, under the digest of everything that decided it.

A value stands at ``<signature's digest>/<content's digest>``, written once and whole, with a checksum: a file that was
torn or tampered with is computed anew. Nothing in it depends on ids, so renaming a response keeps its scores, except
those of a metric of the user's, which may read them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import orjson

from rejoinder.data.objects import to_object
from rejoinder.errors import RunError
from rejoinder.types import Pair

_DIGEST_SIZE = 16
_SORTED_KEYS = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS
EVERYTHING = frozenset({"everything"})  # what somebody may read of whom nothing is known


class ScoreStore:
    """A folder of values by content address."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def get(self, address: str) -> list[Any] | None:
        """What stands at an address, or None."""
        try:
            raw = (self._root / address).read_bytes()
        except OSError:
            return None
        check, payload = raw[:_DIGEST_SIZE], raw[_DIGEST_SIZE:]
        if _digest(payload, _DIGEST_SIZE) != check:
            return None
        value = orjson.loads(payload)
        return value if isinstance(value, list) else None

    def put(self, address: str, values: Sequence[Any]) -> None:
        """Write values to an address; the file appears whole or not at all."""
        payload = orjson.dumps(values, option=orjson.OPT_SERIALIZE_NUMPY)
        target = self._root / address
        part = target.with_name(f".{target.name}.{uuid.uuid4().hex[:12]}")  # process ids repeat on other nodes
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            part.write_bytes(_digest(payload, _DIGEST_SIZE) + payload)
            os.replace(part, target)
        except OSError as error:
            with contextlib.suppress(OSError):
                part.unlink()
            raise RunError(
                f"{self._root}: scores cannot be kept there ({error.strerror}); "
                "free some space, or move the cache with REJOINDER_CACHE"
            ) from None


def address(signature: str, content: str) -> str:
    """Where the values of a signature over some content belong."""
    return f"{_digest(signature.encode(), 10).hex()}/{content}"


def content_digest(pairs: Sequence[Pair], needs: Iterable[str]) -> str:
    """The digest of all that somebody with such needs reads of these pairs."""
    parts = sorted(needs)
    content = hashlib.blake2b(digest_size=20)
    if needs == EVERYTHING:
        for pair in pairs:
            content.update(_frame(orjson.dumps([to_object(pair.item), to_object(pair.response)], option=_SORTED_KEYS)))
        return content.hexdigest()
    item, prefix = None, b""
    for pair in pairs:
        if pair.item is not item:
            item, prefix = pair.item, _item_bytes(pair, parts)
        content.update(prefix)
        content.update(_frame(pair.response.text.encode()))
    return content.hexdigest()


def _item_bytes(pair: Pair, parts: Sequence[str]) -> bytes:
    """What the item contributes to the address; dataclasses serialise field by field."""
    item = pair.item
    return _frame(orjson.dumps([getattr(item, part) for part in parts]))


def _frame(raw: bytes) -> bytes:
    return len(raw).to_bytes(8, "little") + raw


def _digest(raw: bytes, size: int) -> bytes:
    return hashlib.blake2b(raw, digest_size=size).digest()
