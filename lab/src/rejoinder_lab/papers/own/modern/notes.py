"""The sentences under the tables of ``reproduce modern``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rejoinder.stats.arrays import Floats
from rejoinder.stats.bootstrap import BootstrapPlan
from rejoinder.stats.paired_difference import difference_interval
from rejoinder_lab.papers.base import Figure
from rejoinder_lab.papers.loader import load_notes
from rejoinder_lab.papers.own.modern.measures import (
    ACCURACY,
    FOLDS,
    PAIRWISE,
    PEOPLE,
    RANKING,
    SAMPLE,
    WITHOUT_LENGTH,
    DuelSet,
    SetPreferences,
    score_decided,
)

_LENGTH = "length"
_NOTES = load_notes("own/modern")


def list_modern_notes(
    measured: Sequence[SetPreferences], figures: Sequence[Figure], plan: BootstrapPlan
) -> Iterator[str]:
    """How the figures were measured, and what they show."""
    yield _NOTES.text("method", resamples=plan.n_resamples)
    yield from (_describe_people(one.rows) for one in measured)
    sizes = " and ".join(f"{len(one.sample.duels)} of {len(one.rows.duels)} {one.rows.name} pairs" for one in measured)
    yield _NOTES.text("sample", sizes=sizes)
    yield _NOTES.text("ties")
    if any(f.row.endswith(WITHOUT_LENGTH) for f in figures):
        yield _NOTES.text("without length", folds=FOLDS)
    for one in measured:
        if one.orders is not None:
            orders = one.orders
            yield _NOTES.text(
                "position", row=PAIRWISE, name=one.rows.name, same=orders.same, n=orders.n, first=orders.first_position
            )
    for one in measured:
        yield compare_with_length(one)
    yield from _describe_rankings(figures)
    yield from _describe_transfer(figures)


def _describe_people(rows: DuelSet) -> str:
    majorities = [duel.majority for duel in rows.duels]
    n, tied, split = len(majorities), majorities.count("tie"), majorities.count(None)
    first = majorities.count("first")
    n_decided = n - tied - split
    share = first / max(n_decided, 1)
    return _NOTES.text("people", name=rows.name, n=n, decided=n_decided, first=share, tied=tied, split=split)


def compare_with_length(one: SetPreferences) -> str:
    """Every row that is clearly better or worse than choosing the longer reply, on the same pairs."""
    values_by_row = {f.row: score_decided(f, one.sample) for f in one.on_sample}
    values_by_row |= {f.row: score_decided(f, one.rows) for f in one.preferences}
    better, worse = [], []
    for row, values in values_by_row.items():
        rows = one.rows if len(values) == len(one.rows.duels) else one.sample
        length = _length_scores(one, rows)
        if row == _LENGTH or length is None:
            continue
        both = ~np.isnan(values + length)
        clusters = [duel.item.id for duel, known in zip(rows.duels, both, strict=True) if known]
        if len(set(clusters)) < 2:
            continue
        at = difference_interval(values[both], length[both], clusters)
        text = f"{row} ({at.value:+.3f} [{at.low:+.3f}, {at.high:+.3f}])"
        if at.low > 0:
            better.append(text)
        elif at.high < 0:
            worse.append(text)
    return _NOTES.text(
        "length", name=one.rows.name, better=", ".join(better) or "none", worse=", ".join(worse) or "none"
    )


def _length_scores(one: SetPreferences, rows: DuelSet) -> Floats | None:
    preferences = one.preferences if rows is one.rows else one.on_sample
    return next((score_decided(f, rows) for f in preferences if f.row == _LENGTH), None)


def _describe_transfer(figures: Sequence[Figure]) -> Iterator[str]:
    """Which rows cannot be told from chance, and what that means."""
    yield from describe_chance(figures, ACCURACY)
    yield from describe_chance(figures, SAMPLE, " (sample)")
    yield _NOTES.text("transfer")


def describe_chance(figures: Sequence[Figure], table: str, kind: str = "") -> Iterator[str]:
    """Which rows of a table cannot be told from chance, for each set; ``kind`` is written after the set's name."""
    for column in dict.fromkeys(f.column for f in figures if f.table == table):
        in_column = [f for f in figures if f.table == table and f.column == column and f.row != PEOPLE]
        chance = [f.row for f in in_column if f.low is not None and f.high is not None and f.low <= 0.5 <= f.high]
        if chance:
            yield _NOTES.text("chance", set=f"{column}{kind}", rows=", ".join(chance))


def _describe_rankings(figures: Sequence[Figure]) -> Iterator[str]:
    """The correlation of each row's order of systems with the annotators'."""
    correlations = [f for f in figures if f.table == RANKING and f.column.startswith("Spearman")]
    if correlations:
        text = ", ".join(f"{f.row} {f.measured:.1f}" for f in sorted(correlations, key=lambda f: -f.measured))
        yield _NOTES.text("rankings", n=correlations[0].n, rows=text)
