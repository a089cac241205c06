"""The adaptation of what was proposed: in a fixed order, so that adapting only so many is the same everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rejoinder.augmentation.acceptance import Outcome
from rejoinder.augmentation.adaptation import adapt
from rejoinder.augmentation.proposal import Proposal
from rejoinder.papers.scarce.proposals import Place, Proposals, to_adapt
from rejoinder.papers.scarce.sets import Augmented, assemble
from rejoinder.types import Item, Turn


def adapted(items: Sequence[Item], found: Mapping[str, Proposals], most: int | None = None) -> Augmented:
    """The proposals, the first ``most`` of them adapted (all, where no number is given).

    The number counts what is known already, too: so a result does not hang on what a cache happens to hold.
    """
    places = to_adapt(found)
    outcomes: list[Outcome] = []
    if wanted := places[:most]:
        outcomes = adapt([_pair(items, found, place) for place in wanted])
    return assemble([item.id for item in items], found, places, outcomes)


def count_known(items: Sequence[Item], found: Mapping[str, Proposals]) -> tuple[int, int]:
    """How many of the first texts the cache has, up to the first that it lacks; and how many there are."""
    places = to_adapt(found)
    outcomes = adapt([_pair(items, found, place) for place in places], most=0) if places else []
    lacking = (number for number, outcome in enumerate(outcomes) if outcome.verdict == "not tried")
    return next(lacking, len(places)), len(places)


def _pair(items: Sequence[Item], found: Mapping[str, Proposals], place: Place) -> tuple[Sequence[Turn], Proposal]:
    return items[place.item].context, found[place.source][place.item][place.rank]
