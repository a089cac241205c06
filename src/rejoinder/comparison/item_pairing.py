"""Which items of two runs are the same, and what changed under the same id.

Items are paired by id. Where no id means the same in both runs (each file was numbered by itself, or its ids begin with
its name), items with the same context are paired. A pair counts only if both runs have the same context: white space
aside, the same texts by the same speakers in the same situation; and, for metrics that read references, the same
references.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from rejoinder.data.collection import Collection
from rejoinder.errors import RunError
from rejoinder.types import Item


@dataclass(frozen=True)
class ItemPairing:
    """The items of two runs: old ids with the new ones, and what could not be paired."""

    new_of_old: Mapping[str, str]
    changed: Sequence[str] = ()  # in both runs, but with another context
    changed_references: frozenset[str] = frozenset()  # with the same context, but with other references
    only_old: Sequence[str] = ()
    only_new: Sequence[str] = ()
    by_context: bool = False
    unknown: str | None = None  # why contexts could not be compared


def pair_items(
    before: Sequence[str], after: Sequence[str], old: Collection | None, new: Collection | None
) -> ItemPairing:
    """Return the pairs among the item ids of an old run and of a new one, whose data hold the items themselves."""
    contexts, unknown = _known_contexts(old, new)
    there = set(after)
    pairs = {item: item for item in before if item in there}
    changed = _changed_contexts(pairs, *contexts) if contexts else []
    by_context = False
    if contexts and len(changed) == len(pairs):  # no id means the same in both runs
        matches = _pair_by_context(before, after, *contexts)
        if matches:
            pairs, changed, by_context = matches, [], True
    if not pairs:
        raise RunError(
            "the two runs have no item in common, neither by id nor by context; compare replies to the same contexts"
        )
    dropped, partners = set(changed), set(pairs.values())
    paired = {one: other for one, other in pairs.items() if one not in dropped}
    references = [
        one
        for one, other in (paired if contexts else {}).items()
        if contexts and _reference_texts(contexts[0][one]) != _reference_texts(contexts[1][other])
    ]
    return ItemPairing(
        paired,
        changed,
        frozenset(references),
        [item for item in before if item not in pairs],
        [item for item in after if item not in partners],
        by_context,
        unknown,
    )


def _changed_contexts(pairs: Mapping[str, str], old: Mapping[str, Item], new: Mapping[str, Item]) -> list[str]:
    return [one for one, other in pairs.items() if not _same_context(old[one], new[other])]


def _known_contexts(
    old: Collection | None, new: Collection | None
) -> tuple[tuple[Mapping[str, Item], Mapping[str, Item]] | None, str | None]:
    """The items of both runs by id, or the reason why their contexts cannot be compared."""
    if old is None or new is None:
        return None, "the scores came without their texts, so contexts were not compared"
    before, after = (any(item.context for item in data.items.values()) for data in (old, new))
    if before != after:
        return None, f"the {'new' if before else 'old'} run holds no contexts, so contexts were not compared"
    return (old.items, new.items), None


def _pair_by_context(
    before: Sequence[str], after: Sequence[str], old: Mapping[str, Item], new: Mapping[str, Item]
) -> dict[str, str]:
    """Items with the same context; of several with the same one, the first with the first, and so on."""
    places: dict[Hashable, list[str]] = {}
    for item in after:
        if new[item].context:
            places.setdefault(_context_texts(new[item]), []).append(item)
    pairs = {}
    for item in before:
        same = places.get(_context_texts(old[item]), [])
        match = next((one for one in same if _same_context(old[item], new[one])), None)
        if match is not None:
            same.remove(match)
            pairs[item] = match
    return pairs


def _same_context(old: Item, new: Item) -> bool:
    if _context_texts(old) != _context_texts(new):
        return False
    speakers = [[turn.speaker for turn in item.context] for item in (old, new)]
    if None in speakers[0] or None in speakers[1]:
        return True
    first, second = ([names.index(name) for name in names] for names in speakers)  # a name may change, not who spoke
    return first == second


def _context_texts(item: Item) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The texts of the context and of the situation, white space aside."""
    return tuple(map(_squeeze, (turn.text for turn in item.context))), tuple(
        sorted(_squeeze(statement.text) for statement in item.situation)
    )


def _reference_texts(item: Item) -> list[str]:
    return sorted(_squeeze(reference.text) for reference in item.references)


def _squeeze(text: str) -> str:
    return " ".join(text.split())
