"""Pairs of replies by language models, and which of the two people preferred."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rejoinder.data.datasets import read_dataset
from rejoinder.types import Choice, Item, Pair, Preference, Record, Response


@dataclass(frozen=True)
class RatedDuel:
    """Two replies to one item and what each person said of them."""

    item: Item
    first: Response
    second: Response
    choices: tuple[Choice, ...]

    @property
    def majority(self) -> Choice | None:
        """What more than half of the people said; None where there is no such answer."""
        choice, votes = Counter(self.choices).most_common(1)[0]
        return choice if 2 * votes > len(self.choices) else None


@dataclass(frozen=True)
class DuelSet:
    """The duels of one set; ``has_systems`` says whether its systems mean anything."""

    name: str
    duels: tuple[RatedDuel, ...]
    has_systems: bool

    def drawn(self, n: int, seed: int) -> list[int]:
        """The places of so many duels, drawn without looking at them."""
        return sorted(random.Random(seed).sample(range(len(self.duels)), min(n, len(self.duels))))

    def only(self, places: Sequence[int]) -> DuelSet:
        """The duels at these places."""
        return replace(self, duels=tuple(self.duels[i] for i in places))

    def pairs(self) -> list[Pair]:
        """Every reply once, whatever the number of duels it is in."""
        found = {r.id: Pair(d.item, r) for d in self.duels for r in (d.first, d.second)}
        return list(found.values())


@dataclass(frozen=True)
class PublishedSet:
    """A published set, its name in the tables, and how many of its duels the slow metrics see."""

    dataset: str
    name: str
    has_systems: bool
    sample: int


SETS = (PublishedSet("pandalm", "PandaLM", True, 70), PublishedSet("llmbar/natural", "LLMBar", False, 30))


def read_duels(one: PublishedSet) -> DuelSet:
    """The duels of a published set."""
    return collect_duels(one.name, read_dataset(one.dataset), one.has_systems)


def collect_duels(name: str, records: Iterable[Record], has_systems: bool) -> DuelSet:
    """The duels among records: the preferences of all people about the same two replies make one."""
    items: dict[str, Item] = {}
    responses: dict[str, Response] = {}
    choices: dict[tuple[str, str, str], list[Choice]] = {}
    for record in records:
        match record:
            case Item():
                items[record.id] = record
            case Response():
                responses[record.id] = record
            case Preference():
                choices.setdefault((record.item, record.first, record.second), []).append(record.choice)
    duels = (
        RatedDuel(items[item], responses[first], responses[second], tuple(said))
        for (item, first, second), said in choices.items()
    )
    return DuelSet(name, tuple(duels), has_systems)
