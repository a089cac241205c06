"""Where did it change? What changed from one run to another, per slice of the items: by topic, by any key.

An item's slice is that of its reply in the new run, else in the old one. Within each slice, differences are computed as
over all items. Many slices give many chances of a false alarm, so p-values are corrected by Holm's method over all
slices and systems under one metric. A slice with fewer than 8 conversations is not tested.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from rejoinder.comparison.run_pair import NO_ITEMS, PairedScores, RunPair, SystemPair
from rejoinder.comparison.slices import (
    ALPHA,
    MIN_CONVERSATIONS,
    Slicing,
    cut_slices,
    describe_size,
    describe_verdict,
    note_small_slices,
)
from rejoinder.errors import InputError
from rejoinder.scoring.fields import META, PLAIN, ReplyFields
from rejoinder.stats.holm import holm
from rejoinder.table import Cell, Estimate, Probability, Table, format_count, format_decimal, join_names

_NAMED = 3  # slices in a sentence


class SystemChange(NamedTuple):
    """One system under one metric: its means on the common items, and the difference, new minus old."""

    metric: str
    system: SystemPair
    n: int
    n_unscored: int
    old: float
    new: float
    difference: Estimate
    p: float
    corrected: float
    n_worse: int
    n_same: int
    n_better: int
    reason: str | None

    @property
    def survives(self) -> bool:
        """Whether the difference is significant after correction."""
        return self.corrected < ALPHA


CompareScores: TypeAlias = Callable[[str, SystemPair, PairedScores], SystemChange]


class SliceChange(NamedTuple):
    """What changed for one system in one slice, corrected over all slices and systems."""

    slice: str
    change: SystemChange
    corrected: float
    reason: str | None

    @property
    def survives(self) -> bool:
        """Whether the difference is significant after correction."""
        return self.corrected < ALPHA


@dataclass(frozen=True)
class SlicedChanges:
    """One metric by slice: the difference, new minus old, of each system in each slice."""

    metric: str
    higher_is_better: bool | None
    slicing: Slicing
    changes: Sequence[SliceChange]
    n_moved: int = 0

    def table(self) -> Table:
        """One line per slice (and system): both means, and whether the difference survives correction."""
        several = len({one.change.system for one in self.changes}) > 1
        rows: list[list[Cell]] = []
        for one in self.changes:
            change = one.change
            names: list[Cell] = [one.slice, *([change.system.name] if several else [])]
            values: list[Cell] = [change.n, change.old, change.new, change.difference]
            p = None if math.isnan(one.corrected) else Probability(one.corrected)
            rows.append([*names, *values, p, describe_verdict(one.reason, one.survives)])
        heads = [self.slicing.by, *(["system"] if several else []), "items", "old", "new", "difference"]
        tested = sum(not math.isnan(one.corrected) for one in self.changes)
        notes = [
            f"difference: new minus old, paired on items, with its 95% interval over {self.slicing.cluster}s; p "
            f"(Holm): corrected over {format_count(tested, 'test')}; differ? at {ALPHA:g}.",
            *note_small_slices([(one.slice, one.reason) for one in self.changes], self.slicing.cluster),
            *self.slicing.notes(),
        ]
        if self.n_moved:
            moved = format_count(self.n_moved, "reply", "replies")
            notes.append(f"{moved} had another {self.slicing.by} in the old run; that of the new run counts.")
        return Table(
            f"{self.metric}: old and new by {self.slicing.by}",
            [*heads, "p (Holm)", "differ?"],
            rows,
            notes,
        )

    def sentence(self) -> str:
        """The slices that surely changed, in one sentence."""
        subject = f"{self.metric} by {self.slicing.by}"
        known = [one for one in self.changes if not math.isnan(one.corrected)]
        if not known:
            return f"{subject}: there is nothing to test in any slice."
        sure = sorted((one for one in known if one.survives), key=lambda one: one.corrected)
        if not sure:
            return f"{subject}: no difference in a slice survives correction."
        if self.higher_is_better is None:
            return f"{subject}: changed in {self._name_slices(sure)}."
        up = [one for one in sure if (one.change.difference.value > 0) == self.higher_is_better]
        down = [one for one in sure if one not in up]
        parts = [f"{word} in {self._name_slices(ones)}" for word, ones in (("worse", down), ("better", up)) if ones]
        rest = "; other differences may be chance" if len(sure) < len(known) else ""
        return f"{subject}: surely {' and '.join(parts)}{rest}."

    def _name_slices(self, changes: Sequence[SliceChange]) -> str:
        several = len({one.change.system for one in self.changes}) > 1
        names = []
        for one in changes[:_NAMED]:
            size = format_decimal(abs(one.change.difference.value), 3)
            names.append(f"{one.slice} ({one.change.system.name + ', ' if several else ''}by {size})")
        if len(changes) > _NAMED:
            names.append(format_count(len(changes) - _NAMED, "other slice"))
        return join_names(names)


def compare_slices(pair: RunPair, by: str, compare_scores: CompareScores) -> list[SlicedChanges]:
    """Return what changed per slice under every metric; ``compare_scores`` compares the runs on some items."""
    members = _cut_items(pair, by)
    return [
        SlicedChanges(
            spec,
            pair.higher_is_better(spec),
            members.slicing,
            _correct([*_compare_metric(pair, spec, members, compare_scores)]),
            members.n_moved,
        )
        for spec in pair.metrics
    ]


class _SliceMembers(NamedTuple):
    """The slices, and the items of the old run whose reply by a system is in each of them."""

    slicing: Slicing
    items: Mapping[tuple[str, SystemPair], Sequence[str]]
    n_moved: int


def _cut_items(pair: RunPair, by: str) -> _SliceMembers:
    """The slices by the new run's value of each reply, or by the old run's where the new one has none."""
    before, after = _list_values(pair, by)
    rows, values, n_moved = list[tuple[SystemPair, str]](), list[Any](), 0
    for system in pair.systems:
        for item, other in pair.pairing.new_of_old.items():
            old, new = before.get((item, system.old)), after.get((other, system.new)) or []
            if old is None:
                continue
            rows.append((system, item))
            value = new or old
            values.append(value[0] if len(value) == 1 else value)
            n_moved += bool(old and new and old != new)
    slicing = replace(cut_slices(np.fromiter(values, dtype=object, count=len(values)), by), cluster=pair.cluster)
    items: dict[tuple[str, SystemPair], list[str]] = {}
    for name, mask in slicing.masks.items():
        for row in np.flatnonzero(mask).tolist():
            system, item = rows[row]
            items.setdefault((name, system), []).append(item)
    return _SliceMembers(slicing, items, n_moved)


def _list_values(pair: RunPair, by: str) -> list[dict[tuple[str, str], list[Any]]]:
    """The different values of the replies by item and system, in the old run and in the new one."""
    fields = [ReplyFields(scores) for scores in (pair.old.scores, pair.new.scores)]
    if by not in PLAIN and any(by in one.meta_keys for one in fields):
        by = META + by
    if by not in ("turns", "item", "dialogue") and not by.startswith(META):
        raise InputError(
            f"the items of two runs cannot be cut by {by!r}, which belongs to the replies; choose turns or meta.KEY"
        )
    runs, problems = [], []
    for values_of in fields:
        scores = values_of.scores
        column: list[Any] = [None] * len(scores)
        try:
            column = values_of.column(by).tolist()
        except InputError as error:
            problems.append(error)
        values: dict[tuple[str, str], list[Any]] = {}
        for item, code, value in zip(scores.items, scores.system_codes.tolist(), column, strict=True):
            known = values.setdefault((item, scores.systems[code]), [])
            known += [one for one in (value if isinstance(value, list) else [value]) if one not in (None, "", *known)]
        runs.append(values)
    if len(problems) == len(runs):
        raise problems[-1]
    return runs


def _compare_metric(
    pair: RunPair, spec: str, members: _SliceMembers, compare_scores: CompareScores
) -> Iterator[SliceChange]:
    """What changed under one metric in each slice, not yet corrected."""
    scores = {system: pair.scores(spec, system) for system in pair.systems}
    places = {system: {item: i for i, item in enumerate(one.items)} for system, one in scores.items()}
    for name in members.slicing.masks:
        for system in pair.systems:
            inside = members.items.get((name, system), ())
            part = scores[system].take([places[system][item] for item in inside if item in places[system]])
            if not part.items:
                continue
            change = compare_scores(spec, system, part)
            n = part.n_conversations
            reason = change.reason if change.reason == NO_ITEMS else describe_size(n) or change.reason
            if n < MIN_CONVERSATIONS:
                change = change._replace(difference=Estimate(change.difference.value, math.nan, math.nan))
            yield SliceChange(name, change, math.nan, reason)


def _correct(changes: Sequence[SliceChange]) -> list[SliceChange]:
    """Holm's correction over the slices and systems that are tested."""
    p_values = [math.nan if one.reason else one.change.p for one in changes]
    corrected = holm(p_values).tolist() if p_values else []
    return [one._replace(corrected=p) for one, p in zip(changes, corrected, strict=True)]
