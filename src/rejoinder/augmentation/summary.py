"""The summary of an augmentation: references by source, items that got fewer than requested and why, adaptations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rejoinder.augmentation.filter import FilteredProposals
from rejoinder.augmentation.plan import AugmentationPlan
from rejoinder.augmentation.proposal import Proposal
from rejoinder.table import Cell, Table
from rejoinder.text.language import looks_english
from rejoinder.types import Item

_COUNTERS = ("references", "reached", "adapted", "short", "dropped")


@dataclass
class AugmentationTally:
    """Running counts over items."""

    items: int = 0
    references: Counter[str] = field(default_factory=Counter)  # by source
    reached: Counter[str] = field(default_factory=Counter)  # items that got references from a source
    adapted: Counter[str] = field(default_factory=Counter)  # by verdict
    short: Counter[str] = field(default_factory=Counter)  # items with fewer than requested, by reason
    dropped: Counter[str] = field(default_factory=Counter)  # proposals that were not apt enough, by the floor
    notes: list[str] = field(default_factory=list)  # notes about the sources

    def add(self, item: Item, filtered: FilteredProposals, chosen: Sequence[Proposal], plan: AugmentationPlan) -> None:
        """Count the references of an item."""
        self.items += 1
        sources = Counter(proposal.source for proposal in chosen)
        self.references += sources
        self.reached.update(sources.keys())
        if filtered.unapt:
            self.dropped[f"{plan.least_aptness:g}"] += filtered.unapt
        if len(chosen) < plan.k:
            self.short[_explain_shortage(item, filtered, plan)] += 1

    def plain(self) -> dict[str, Any]:
        """Return the counts as plain values."""
        return {"items": self.items, **{name: dict(getattr(self, name)) for name in _COUNTERS}}

    def add_counts(self, counts: Mapping[str, Any]) -> None:
        """Add the counts of another tally."""
        self.items += counts["items"]
        for name in _COUNTERS:
            getattr(self, name).update(counts.get(name, {}))  # one may be missing in a result of an older version

    def table(self, k: int) -> Table:
        """Return a table of references by source, with notes."""
        rows: list[list[Cell]] = [
            [source, n, self.reached[source], n / self.items] for source, n in sorted(self.references.items())
        ]
        total = sum(self.references.values())
        rows.append(["all", total, self.items, total / self.items if self.items else None])
        notes = [f"{self.items - sum(self.short.values()):,} of {self.items:,} items got {k:,} references."]
        notes += [f"{n:,} got fewer: {reason}." for reason, n in self.short.most_common()]
        notes += [
            f"{n:,} proposals were dropped, since their aptness is below {floor}; --least-aptness 0 keeps all."
            for floor, n in self.dropped.items()
        ]
        if self.adapted:
            verdicts = ", ".join(f"{verdict} ({n:,})" for verdict, n in self.adapted.most_common())
            notes.append(f"Adaptation to the context: {verdicts}.")
        heads = ["source", "references added", "items", "per item"]
        return Table("References by source", heads, rows, notes, decimals=1)


def _explain_shortage(item: Item, filtered: FilteredProposals, plan: AugmentationPlan) -> str:
    """Return why an item got fewer references than requested: the first reason that explains it."""
    new = len(filtered.remaining) + filtered.unapt
    if filtered.unapt and new >= plan.k:
        return f"too few of their proposals have an aptness of at least {plan.least_aptness:g}"
    if not (item.context or item.references or item.future):
        return "they have no context, no reference and no future"
    if filtered.known and new + filtered.known >= plan.k:
        return "too many of their proposals repeat known texts"
    if item.context and not looks_english(item.context[-1].text):
        return "they do not look like English, so common sense has no proposals for them"
    return "the sources have no more proposals for them"
