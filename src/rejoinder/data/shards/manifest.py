"""The catalogue of shards: the name, size, sha256 and record counts of each.

``catalogue.json`` is in the same folder as the shards. Where there is one, the shards must match it: a shard that is
missing, changed or not listed is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import orjson

from rejoinder.data.shape import fits_shape
from rejoinder.errors import InputError, brief

NAME = "catalogue.json"
_FORMAT = 1
_SHARD = {"name": str, "bytes": int, "sha256": str, "records": {str: int}, "conversations": int}
_SHAPE = {"shards": [_SHARD]}
_REBUILD_HINT = "rebuild the catalogue with: rejoinder shards catalogue"


class ShardEntry(NamedTuple):
    """One shard: its file, its records by kind, and the number of conversations in it."""

    name: str
    bytes: int
    sha256: str
    records: Mapping[str, int]
    conversations: int


class ShardManifest(NamedTuple):
    """All shards, by name."""

    entries: Sequence[ShardEntry]

    def records(self) -> dict[str, int]:
        """Return the number of records of each kind."""
        totals: dict[str, int] = {}
        for entry in self.entries:
            for kind, n in entry.records.items():
                totals[kind] = totals.get(kind, 0) + n
        return totals

    def summary(self) -> str:
        """Return a summary in one line."""
        counts = ", ".join(_count_noun(n, kind) for kind, n in self.records().items())
        conversations = _count_noun(sum(e.conversations for e in self.entries), "conversation")
        size = _count_noun(sum(e.bytes for e in self.entries), "byte")
        return f"{_count_noun(len(self.entries), 'shard')}: {counts or 'no records'} of {conversations} in {size}"


def _count_noun(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def encode_manifest(catalogue: ShardManifest) -> bytes:
    """Return the content of the catalogue file."""
    whole = {"format": _FORMAT, "records": catalogue.records(), "shards": [e._asdict() for e in catalogue.entries]}
    return orjson.dumps(whole, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def decode_manifest(raw: bytes, where: str) -> ShardManifest:
    """Return the catalogue from the content of its file; errors call the file ``where``."""
    try:
        content = orjson.loads(raw)
        if content["format"] != _FORMAT:
            raise InputError(f"{where}: was written by another version of rejoinder; {_REBUILD_HINT}")
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise InputError(
            f"{where}: is not a catalogue of shards ({type(error).__name__}: {error}); {_REBUILD_HINT}"
        ) from None
    if not fits_shape(content, _SHAPE):
        raise InputError(f"{where}: was changed after it was written; {_REBUILD_HINT}")
    entries = [ShardEntry(**{key: one[key] for key in ShardEntry._fields}) for one in content["shards"]]
    seen: dict[str, int] = {}
    for number, entry in enumerate(entries):
        for identity in (entry.name, entry.sha256):
            if (other := seen.setdefault(identity, number)) != number:
                raise InputError(
                    f"{where}: lists {brief(entries[other].name)} twice (as {brief(entry.name)}); {_REBUILD_HINT}"
                )
    return ShardManifest(sorted(entries))


def compare_manifest(
    catalogue: ShardManifest, sizes: Mapping[str, int], where: str, whole: bool = True
) -> dict[str, ShardEntry]:
    """Return the entries by name; raise if the files there (names and sizes) differ from them.

    With ``whole``, all entries must be there.
    """
    entries = {entry.name: entry for entry in catalogue.entries}
    missing = sorted(entries.keys() - sizes.keys()) if whole else []
    if missing:
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise InputError(
            f"{where}: the shard {brief(missing[0])}{more} is listed but not there; get it, or {_REBUILD_HINT}"
        )
    for name, size in sizes.items():
        if name not in entries:
            raise InputError(f"{where}: does not list the shard {brief(name)}; remove it, or {_REBUILD_HINT}")
        if size != entries[name].bytes:
            raise changed_shard_error(name, f"{entries[name].bytes:,} bytes are listed, {size:,} are there")
    return entries


def changed_shard_error(name: str, how: str) -> InputError:
    """Return the error for a shard that differs from its catalogue entry."""
    return InputError(f"{name}: is not the shard that its catalogue lists ({how}); get it again, or {_REBUILD_HINT}")
