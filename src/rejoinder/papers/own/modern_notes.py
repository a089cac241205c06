"""The sentences under the tables of language models' replies: how it was measured, and what does not carry over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rejoinder.papers.base import Figure
from rejoinder.papers.own.modern_measures import (
    ACCURACY,
    PAIRWISE,
    PEOPLE,
    RANKING,
    SAMPLE,
    SetPreferences,
    score_decided,
)
from rejoinder.papers.own.modern_rows import DuelSet
from rejoinder.stats.arrays import Floats
from rejoinder.stats.bootstrap import BootstrapPlan
from rejoinder.stats.paired_difference import difference_interval

_LENGTH = "length"


def list_notes(measured: Sequence[SetPreferences], figures: Sequence[Figure], plan: BootstrapPlan) -> Iterator[str]:
    """How the figures came about, and what they say."""
    yield (
        f"Intervals: 95% bootstrap, {plan.n_resamples:,} resamples of items with all their pairs. People decided: more "
        "than half of them prefer the same reply. A metric prefers the reply with the higher score; equal scores are "
        "half right; a pair with an empty reply has no score and is left out. length prefers the longer reply."
    )
    yield from (_describe_people(one.rows) for one in measured)
    sizes = " and ".join(f"{len(one.sample.duels)} of {len(one.rows.duels)} {one.rows.name} pairs" for one in measured)
    yield f"The sample, for metrics that need a language model: {sizes}, drawn with a fixed seed."
    yield (
        "With ties: people's ties count as a third answer. A metric says tie only where two scores are equal, which "
        "few do, so this table cannot reach 1. A metric that scores each reply by itself has no position bias."
    )
    for one in measured:
        if one.orders is not None:
            yield (
                f"{PAIRWISE}, {one.rows.name}: the same choice in both orders in {one.orders.same:.0%} of "
                f"{one.orders.n} pairs, the reply shown first taken in {one.orders.first_position:.0%} of the answers "
                "(50% where the order means nothing)."
            )
    for one in measured:
        yield from _compare_with_length(one)
    yield from _describe_rankings(figures)
    yield from _describe_transfer(figures)


def _describe_people(rows: DuelSet) -> str:
    majorities = [duel.majority for duel in rows.duels]
    n, tied, split = len(majorities), majorities.count("tie"), majorities.count(None)
    first = majorities.count("first")
    n_decided = n - tied - split
    return (
        f"{rows.name}: {n:,} pairs, of which people decided {n_decided:,} ({first / max(n_decided, 1):.0%} for the "
        f"reply listed first), called {tied:,} a tie and did not agree on {split:,}."
    )


def _compare_with_length(one: SetPreferences) -> Iterator[str]:
    """Every row that is surely better or worse than taking the longer reply, on the same pairs."""
    found = {f.row: score_decided(f, one.sample) for f in one.on_sample}
    found |= {f.row: score_decided(f, one.rows) for f in one.found}
    better, worse = [], []
    for row, values in found.items():
        rows = one.rows if len(values) == len(one.rows.duels) else one.sample
        length = _length_scores(one, rows)
        if row == _LENGTH or length is None:
            continue
        both = ~np.isnan(values + length)
        clusters = [duel.item.id for duel, known in zip(rows.duels, both, strict=True) if known]
        if len(set(clusters)) < 2:
            continue
        at = difference_interval(values[both], length[both], clusters)
        shown = f"{row} ({at.value:+.3f} [{at.low:+.3f}, {at.high:+.3f}])"
        if at.low > 0:
            better.append(shown)
        elif at.high < 0:
            worse.append(shown)
    yield (
        f"Against taking the longer reply on {one.rows.name}, in accuracy on the same pairs: surely better "
        f"{', '.join(better) or 'none'}; surely worse {', '.join(worse) or 'none'}; for the others it cannot be told."
    )


def _length_scores(one: SetPreferences, rows: DuelSet) -> Floats | None:
    found = one.found if rows is one.rows else one.on_sample
    return next((score_decided(f, rows) for f in found if f.row == _LENGTH), None)


def _describe_transfer(figures: Sequence[Figure]) -> Iterator[str]:
    """Which rows tell the better reply from the worse at all."""
    for table in (ACCURACY, SAMPLE):
        for column in dict.fromkeys(f.column for f in figures if f.table == table):
            mine = [f for f in figures if f.table == table and f.column == column and f.row != PEOPLE]
            chance = [f.row for f in mine if f.low is not None and f.high is not None and f.low <= 0.5 <= f.high]
            if chance:
                where = column if table == ACCURACY else f"{column} (sample)"
                yield f"On {where} these cannot be told from a coin: {', '.join(chance)}."
    yield (
        "The scorers here were trained on chat: short turns, where the wrong reply belongs to another conversation. "
        "Both replies of a pair here are on the subject, and what tells them apart is whether a long answer does what "
        "was asked, is correct and is complete. Nothing in their training asks for that, and it does not carry over: "
        "do not use them to choose between two answers to an instruction, and read a score on such an answer as 'on "
        "the subject' at most. The embedded judge is too small to follow a rubric; a large model at an endpoint is "
        "what judges are for."
    )


def _describe_rankings(figures: Sequence[Figure]) -> Iterator[str]:
    """The systems' order under each row, by its correlation with the annotators'."""
    found = [f for f in figures if f.table == RANKING and f.column.startswith("Spearman")]
    if found:
        shown = ", ".join(f"{f.row} {f.measured:.1f}" for f in sorted(found, key=lambda f: -f.measured))
        yield (
            f"Spearman of the {found[0].n} systems' strengths with the annotators': {shown}. So few systems have few "
            "orders: a row may come near the annotators' by chance, and the length of replies alone comes near it. "
            "Rows of the sample rest on its few pairs."
        )
