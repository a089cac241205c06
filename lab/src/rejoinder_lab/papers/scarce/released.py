"""The lists of references that the authors released, by their parts: what was retrieved, adapted and inferred.

The references of an item stand in this order: five turns by all three fields, the same five after adaptation, five
turns by the past alone, the same five after adaptation, then common sense.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rejoinder.augmentation.proposal import Proposal
from rejoinder.data.datasets import read_dataset
from rejoinder.types import Item

HITS = 5  # by each of the two searches


@dataclass(frozen=True)
class ReleasedList:
    """The references that the authors added to an item."""

    all_fields: tuple[str, ...]
    past_alone: tuple[str, ...]
    adapted: int  # texts that adaptation changed
    inferred: tuple[str, ...]


def read_released() -> dict[str, ReleasedList]:
    """Return the authors' references by item."""
    items = (record for record in read_dataset("gupta/scarce-single") if isinstance(record, Item))
    return {item.id: _split_list([one.text for one in item.references if one.source == "scarce"]) for item in items}


def _split_list(texts: Sequence[str]) -> ReleasedList:
    parts = [tuple(texts[begin : begin + HITS]) for begin in range(0, 4 * HITS, HITS)]
    pairs = [*zip(parts[0], parts[1], strict=True), *zip(parts[2], parts[3], strict=True)]
    changed = sum(before != after for before, after in pairs)
    return ReleasedList(parts[0], parts[2], changed, tuple(texts[4 * HITS :]))


def describe_released(lists: Sequence[ReleasedList]) -> str:
    """What the lists hold, counted."""
    retrieved = sum(len(one.all_fields) + len(one.past_alone) for one in lists)
    adapted = sum(one.adapted for one in lists)
    sizes = Counter(len(one.inferred) for one in lists)
    inferred = ", ".join(
        f"{size} for {count} item{'s' * (count != 1)}" for size, count in sorted(sizes.items(), reverse=True)
    )
    return (
        f"{retrieved:,} retrieved references, {adapted} of them changed by adaptation; common-sense references per "
        f"item: {inferred}"
    )


def share_of_hits(lists: Sequence[Sequence[str]], proposals: Sequence[Sequence[Proposal]]) -> float:
    """Return the share of the authors' hits, each text of an item once, that is among our first five."""
    ours = [{" ".join(one.text.split()) for one in of_item[:HITS]} for of_item in proposals]
    theirs = [{" ".join(text.split()) for text in of_item} for of_item in lists]
    both = sum(len(of_list & of_ours) for of_list, of_ours in zip(theirs, ours, strict=True))
    return both / sum(map(len, theirs))
