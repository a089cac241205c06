"""What changed from one run to another: differences item by item, and the replies that got worse and better.

Differences are new minus old, on the items that both runs answered in the same context. Whole conversations are
swapped, which gives p-values and intervals; p-values are corrected by Holm's method over the systems under one metric.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rejoinder.comparison.change_slices import SlicedChanges, SystemChange, compare_slices
from rejoinder.comparison.rating_column import is_rating, make_rating_column
from rejoinder.comparison.run_pair import NO_ITEMS, PairedScores, RunPair, SystemPair, describe_pairing
from rejoinder.errors import RunError
from rejoinder.stats.holm import holm
from rejoinder.stats.paired_difference import paired_difference
from rejoinder.table import Cell, Estimate, Probability, Table, format_count, format_decimal, list_names

ALPHA = 0.05
FLIPS = 4999  # at least: p-values near .05 are exact to .003
UNCHANGED = "no reply changed"
_NAMED = 5  # ids in a note


class ReplyChange(NamedTuple):
    """One item's replies in both runs; several replies of a system are averaged, and the first is shown."""

    metric: str
    system: SystemPair
    item: str
    context: str
    old_reply: str
    new_reply: str
    old: float
    new: float


@dataclass(frozen=True)
class RunComparison:
    """An old run and a new one under every metric that both computed in the same way."""

    pair: RunPair
    changes: Sequence[SystemChange]
    slices: Sequence[SlicedChanges] = ()

    def table(self) -> Table:
        """One line per metric and system: both means, the difference, how many replies got worse and better."""
        rows: list[list[Cell]] = []
        for one in self.changes:
            differ = one.reason or ("yes" if one.survives else "no")
            worse, better = (one.n_worse, one.n_better) if self._has_direction(one.metric) else (None, None)
            values = one.n, one.old, one.new, one.difference, worse, better, Probability(one.corrected)
            rows.append([one.metric, one.system.name, *values, differ])
        heads = ["metric", "system", "items", "old", "new", "difference", "worse", "better", "p (Holm)", "differ?"]
        clusters = f"{self.pair.cluster}s"
        notes = [
            f"difference: new minus old, paired on items, with its 95% interval over {clusters}; p: approximate "
            f"randomisation over {clusters} with a correction for skewness, corrected over the systems under each "
            f"metric; differ? at {ALPHA:g}."
        ]
        return Table("Old and new", heads, rows, [*notes, *self.notes()])

    def _has_direction(self, metric: str) -> bool:
        return self.pair.higher_is_better(metric) is not None

    def items_table(self) -> Table:
        """How many items were compared, and why others were not."""
        pairing = self.pair.pairing
        rows: list[list[Cell]] = [["compared", len(pairing.new_of_old), ""]]
        for label, items in (
            ("left out: the context changed", pairing.changed),
            ("only in the old run", pairing.only_old),
            ("only in the new run", pairing.only_new),
            ("references changed: left out where a metric reads them", sorted(pairing.changed_references)),
        ):
            if items:
                rows.append([label, len(items), list_names(items, _NAMED)])
        return Table("Items", ["group", "items", "ids"], rows)

    def notes(self) -> list[str]:
        """Return what a reader must know: how items were paired, what was left out, who rated."""
        notes = describe_pairing(self.pair)
        for one in self.changes:
            if one.n_unscored:
                lost = format_count(one.n_unscored, "item")
                notes.append(f"{one.metric} of {one.system.name}: {lost} without a score in one run, left out.")
        for spec in self.pair.metrics:
            if is_rating(spec):
                for when, run in (("old", self.pair.old), ("new", self.pair.new)):
                    notes += [f"{when} {note}" for note in make_rating_column(run.scores, run.data, spec).notes]
        return notes

    def sentences(self) -> list[str]:
        """Return the comparison in one sentence per metric and system, and one per metric about its slices."""
        return [*map(self._sentence, self.changes), *(one.sentence() for one in self.slices)]

    def _sentence(self, one: SystemChange) -> str:
        subject = f"{one.metric}: {one.system.name}"
        if not one.n:
            return f"{subject} has no scored item in both runs, so there is nothing to compare."
        if one.reason == UNCHANGED:
            return f"{subject} did not change: its replies to {format_count(one.n, 'item')} are the same."
        better = self.pair.higher_is_better(one.metric)
        by = f"by {format_decimal(one.difference.value, 3, sign='+')} on {format_count(one.n, 'item')}"
        if better is None:
            return f"{subject} changed {by}{'' if one.survives else ', which may be chance'}."
        replies = f"{one.n_worse:,} got worse, {one.n_better:,} better, {one.n_same:,} stayed the same"
        if not one.survives:
            return f"{subject} changed {by}, which may be chance ({replies})."
        is_up = one.difference.value > 0
        size = f"by {format_decimal(abs(one.difference.value), 3)} on {format_count(one.n, 'item')}"
        return f"{subject} got {'better' if is_up == better else 'worse'} {size} ({replies})."

    def worse(self, metric: str, n: int = 5) -> list[ReplyChange]:
        """Return the n replies that lost most under a metric, the greatest loss first."""
        return self._extremes(metric, n, -1.0)

    def better(self, metric: str, n: int = 5) -> list[ReplyChange]:
        """Return the n replies that gained most under a metric, the greatest gain first."""
        return self._extremes(metric, n, 1.0)

    def replies_table(self, metric: str, n: int = 5, *, worse: bool = True) -> Table | None:
        """Return the replies that got worse (or better) most, old beside new; None where there are none."""
        replies = self.worse(metric, n) if worse else self.better(metric, n)
        if not replies:
            return None
        several = len(self.pair.systems) > 1
        rows: list[list[Cell]] = []
        for one in replies:
            texts = one.context, one.old_reply, one.new_reply
            names = [one.item, one.system.name] if several else [one.item]
            rows.append([*names, *texts, one.old, one.new, one.new - one.old])
        heads = ["item", *(["system"] if several else []), "last turn", "old reply", "new reply"]
        title = f"{metric}: replies that got {'worse' if worse else 'better'}"
        return Table(title, [*heads, "old", "new", "change"], rows)

    def _extremes(self, metric: str, n: int, sign: float) -> list[ReplyChange]:
        spec = self.pair.new.scores.spec(metric)
        better = self.pair.higher_is_better(spec)
        if better is None or n < 1 or self.pair.is_of_dialogues(spec):  # a whole dialogue is too long for a table
            return []
        gains: list[tuple[float, SystemPair, str, float, float]] = []
        for system in self.pair.systems:
            scores = self.pair.scores(spec, system)
            for item, old, new in zip(scores.items, scores.old.tolist(), scores.new.tolist(), strict=True):
                gain = sign * (new - old) * (1.0 if better else -1.0)
                if gain > 0:
                    gains.append((gain, system, item, old, new))
        gains.sort(key=lambda one: -one[0])
        return [
            ReplyChange(spec, system, item, *self._texts(system, item), *ends) for _, system, item, *ends in gains[:n]
        ]

    def _texts(self, system: SystemPair, item: str) -> tuple[str, str, str]:
        """The last turn before a reply, the old reply and the new one."""
        context = self.pair.old.data.items[item].context if self.pair.old.data else ()
        return context[-1].text if context else "", *self.pair.reply_texts(system, item)

    def __str__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def compare_runs(pair: RunPair, resamples: int = 2000, seed: int = 0, by: str | None = None) -> RunComparison:
    """Return what changed from the old run to the new one, under every metric of the pair, and by slices."""
    if not pair.pairing.new_of_old:
        raise RunError(
            f"the contexts of all {len(pair.pairing.changed):,} common items changed, so no reply can be compared; "
            "compare replies to the same contexts"
        )

    def compare_scores(spec: str, system: SystemPair, scores: PairedScores) -> SystemChange:
        return _compare_scores(pair, spec, system, scores, resamples, seed)

    changes: list[SystemChange] = []
    for spec in pair.metrics:
        of_metric = [compare_scores(spec, system, pair.scores(spec, system)) for system in pair.systems]
        corrected = holm([one.p for one in of_metric])
        changes += [one._replace(corrected=float(c)) for one, c in zip(of_metric, corrected, strict=True)]
    return RunComparison(pair, changes, () if by is None else compare_slices(pair, by, compare_scores))


def _compare_scores(
    pair: RunPair, spec: str, system: SystemPair, scores: PairedScores, resamples: int, seed: int
) -> SystemChange:
    """What changed for one system on some items."""
    items, old, new, clusters = scores.known()
    paired = paired_difference(new, old, clusters, n_permutations=max(FLIPS, resamples), seed=seed)
    reason = paired.reason if len(old) else NO_ITEMS
    replies_of = None if pair.is_of_dialogues(spec) else scores.items  # None: of all items
    if len(old) and np.array_equal(old, new) and pair.is_unchanged(system, replies_of):
        paired, reason = paired._replace(p=math.nan), UNCHANGED  # nothing to test, so nothing to correct for
    change = (new - old) * (-1.0 if pair.higher_is_better(spec) is False else 1.0)
    return SystemChange(
        spec,
        system,
        len(old),
        len(scores.items) - len(items),
        float(old.mean()) if len(old) else math.nan,
        float(new.mean()) if len(new) else math.nan,
        Estimate(paired.value, paired.low, paired.high),
        paired.p,
        math.nan,
        int((change < 0).sum()),
        int((change == 0).sum()),
        int((change > 0).sum()),
        reason,
    )
