"""What the SSREM paper claims, each in a sentence with what was measured here: confirmed, refuted or undecided.

The criteria were set before ``test`` or a rated row was measured: the order of two scorers at the same places, whether
the interval of their difference excludes 0, and the minimum values for SSREM. Each claim is judged twice, for scorers
trained with most settings of the authors' program and for ours. Scorers over the aptness encoder are shown but do not
count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from rejoinder.indexes.speakers import SETS
from rejoinder.stats.interval import Interval
from rejoinder_lab.papers.base import Figure
from rejoinder_lab.papers.loader import load_notes
from rejoinder_lab.papers.ssrem.rows import BASELINES
from rejoinder_lab.papers.ssrem.scorers import CORPORA, KIND_LABELS, KINDS, ComparedScorer, TurnReading
from rejoinder_lab.papers.ssrem.scores import SET_LABELS, HeldOutScores, PlaceScores
from rejoinder_lab.papers.ssrem.tables import CorrelationsBySet, mean_correlation, mean_difference

FLOORS = {"random": 0.80, "same_conversation": 0.58}  # of SSREM's AUC
SC, RAND = "same_conversation", "random"
NOTES = load_notes("ssrem")


AHEAD, BEHIND, OPEN = "ahead", "behind", "cannot be decided"
UNFINISHED = f"{OPEN} before the networks are trained to the end"


def claim_verdict(held: Sequence[bool], readings: Sequence[TurnReading] = ()) -> str:
    """Return the verdict on a claim, from whether it holds in each cell."""
    if not held:
        return "not measured"
    return "confirmed" if all(held) else "confirmed in part" if any(held) else _refute(readings)


def _refute(readings: Sequence[TurnReading]) -> str:
    """The verdict where nothing speaks for a claim: networks whose loss was still falling refute none."""
    return UNFINISHED if any(reading.paper for reading in readings) else "refuted"


class ScorerLead(NamedTuple):
    """The differences of a scorer to all others."""

    differences: tuple[Interval, ...]

    @property
    def state(self) -> str:
        """Ahead of all others, behind one of them, or neither, each beyond the interval."""
        if any(one.high < 0 for one in self.differences):
            return BEHIND
        return AHEAD if all(one.low > 0 for one in self.differences) else OPEN

    @property
    def mark(self) -> str:
        """The remark after a cell, with the differences that it rests on."""
        return f" ({self.state}: {', '.join(format_interval(one, '+.3f') for one in self.differences)})"


def compare_leads(differences: Sequence[Interval]) -> ScorerLead:
    """Return the lead, from the differences to the other scorers."""
    return ScorerLead(tuple(differences))


def judge_leads(cells: Sequence[ScorerLead], readings: Sequence[TurnReading] = ()) -> str:
    """Return the verdict on a claim, from its comparisons, and in how many of them the scorer is ahead or behind."""
    if not cells:
        return "not measured"
    counts = Counter(cell.state for cell in cells)
    if counts[AHEAD]:
        verdict = "confirmed" if counts[AHEAD] == len(cells) else "confirmed in part"
    else:
        verdict = _refute(readings) if counts[BEHIND] else OPEN
    said = ", ".join(f"{state} in {counts[state]}" for state in (AHEAD, BEHIND, OPEN))
    return f"{verdict} ({said})"


def format_interval(one: Interval, form: str = ".3f") -> str:
    """A value with its interval."""
    return f"{one.value:{form}} [{one.low:.3f}, {one.high:.3f}]"


def describe_similarity(figures: Sequence[Figure]) -> Iterator[str]:
    """Table 2: on which corpora the similarity falls from set to set."""
    parts, held = [], []
    for table in dict.fromkeys(figure.table for figure in figures):
        rows: dict[str, list[float]] = {}
        for figure in figures:
            if figure.table == table and figure.measured == figure.measured:
                rows.setdefault(figure.row, []).append(figure.measured)
        falling = [row for row, values in rows.items() if all(a > b for a, b in pairwise(values))]
        held += [row in falling for row in rows]
        parts.append(f"{table.removeprefix('Table 2: ')}: {', '.join(falling) or 'none'} of {len(rows)} corpora")
    yield NOTES.text("similarity", verdict=claim_verdict(held), corpora="; ".join(parts))


def split_modes(readings: Sequence[TurnReading]) -> Iterator[list[TurnReading]]:
    """The readings of the paper's recipe, and those of ours."""
    for paper in (True, False):
        if group := [reading for reading in readings if reading.paper == paper]:
            yield group


def name_mode(readings: Sequence[TurnReading]) -> str:
    """The mode that some readings share."""
    return "Paper mode" if readings[0].paper else "Our mode"


def describe_separation(held: HeldOutScores, readings: Sequence[TurnReading]) -> Iterator[str]:
    """Section 6: the sentences on held-out dialogues."""
    yield _describe_separating(held, readings)
    yield _describe_first_places(held, readings)
    yield _describe_baseline_separation(held, readings)
    yield _describe_random_negatives(held, readings)
    yield _describe_falling_scores(held, readings)
    yield _describe_other_scorers(held, readings)


def _describe_separating(held: HeldOutScores, readings: Sequence[TurnReading]) -> str:
    parts, holds = [], []
    for reading, corpus in iterate_cells(readings):
        own, *others = list_three_scorers(held, reading, corpus)
        gaps = ", ".join(f"{one.gap(SC).value:.2f}" for one in (own, *others))
        ahead = compare_leads([own.ahead(other, SC) for other in others])
        holds += [ahead] if reading.is_evidence else []
        parts.append(f"{CORPORA[corpus]}, {reading.label} {gaps}{ahead.mark}")
    return NOTES.text(
        "separation", mode=name_mode(readings), verdict=judge_leads(holds, readings), values="; ".join(parts)
    )


def _describe_first_places(held: HeldOutScores, readings: Sequence[TurnReading]) -> str:
    parts, holds = [], []
    for reading, corpus in iterate_cells(readings):
        own, *others = list_three_scorers(held, reading, corpus)
        shares = ", ".join(f"{100 * one.first().value:.1f}" for one in (own, *others))
        ahead = compare_leads([own.more_often(other) for other in others])
        holds += [ahead] if reading.is_evidence else []
        parts.append(f"{CORPORA[corpus]}, {reading.label} {shares}{ahead.mark}")
    return NOTES.text(
        "first of five", mode=name_mode(readings), verdict=judge_leads(holds, readings), values="; ".join(parts)
    )


def _describe_baseline_separation(held: HeldOutScores, readings: Sequence[TurnReading]) -> str:
    parts = []
    for reading, corpus in iterate_cells(readings):
        own = held[ComparedScorer("ssrem", reading), corpus]
        for name, floor in FLOORS.items():
            auc = own.auc(name)
            reached = f"{'reaches' if auc.value >= floor else 'misses'} {floor:.2f}"
            value = format_interval(auc)
            parts.append(f"{CORPORA[corpus]}, {reading.label}, {SET_LABELS[name]} {value} ({reached})")
    return NOTES.text("floors", mode=name_mode(readings), values="; ".join(parts))


def _describe_random_negatives(held: HeldOutScores, readings: Sequence[TurnReading]) -> str:
    parts, holds, largest = [], [], []
    for reading, corpus in iterate_cells(readings):
        own, *others = scorers = list_three_scorers(held, reading, corpus)
        ahead = compare_leads([own.ahead(other, RAND) for other in others])
        if reading.is_evidence:
            holds += [one.gap(RAND).low > 0 for one in scorers]
            largest.append(ahead)
        gaps = ", ".join(format_interval(one.gap(RAND), ".2f") for one in scorers)
        parts.append(f"{CORPORA[corpus]}, {reading.label} {gaps}{ahead.mark}")
    return NOTES.text(
        "random",
        mode=name_mode(readings),
        verdict=claim_verdict(holds, readings),
        largest=judge_leads(largest, readings),
        values="; ".join(parts),
    )


def _describe_falling_scores(held: HeldOutScores, readings: Sequence[TurnReading]) -> str:
    parts, holds = [], []
    for reading, corpus in iterate_cells(readings):
        own = held[ComparedScorer("ssrem", reading), corpus]
        means = [own.mean(name) for name in SET_LABELS]
        falling = all(a.value > b.value for a, b in pairwise(means))
        holds += [falling] if reading.is_evidence else []
        parts.append(f"{CORPORA[corpus]}, {reading.label} {', '.join(map(format_interval, means))}")
    return NOTES.text(
        "order of sets", mode=name_mode(readings), verdict=claim_verdict(holds, readings), values="; ".join(parts)
    )


def _describe_other_scorers(held: HeldOutScores, readings: Sequence[TurnReading]) -> str:
    parts, holds = [], []
    for reading, corpus in iterate_cells(readings):
        _, rsrem, ruber = list_three_scorers(held, reading, corpus)
        if reading.is_evidence:
            holds += [rsrem.gap(SC).low <= 0, *(ruber.gap(name).low <= 0 for name in SETS[:3])]
        values = [rsrem.auc(SC), *(ruber.auc(name) for name in SETS[:3])]
        parts.append(f"{CORPORA[corpus]}, {reading.label} {', '.join(map(format_interval, values))}")
    return NOTES.text(
        "other scorers", mode=name_mode(readings), verdict=claim_verdict(holds, readings), values="; ".join(parts)
    )


def iterate_cells(readings: Sequence[TurnReading]) -> Iterator[tuple[TurnReading, str]]:
    """Every corpus with every reading that is trained on it."""
    for corpus in CORPORA:
        for reading in readings:
            if corpus in reading.on:
                yield reading, corpus


def list_three_scorers(
    held: HeldOutScores, reading: TurnReading, corpus: str, on: tuple[str, ...] = ()
) -> list[PlaceScores]:
    """Return the scores of SSREM, RSREM and RUBER, in this order."""
    return [held[ComparedScorer(kind, reading, on), corpus] for kind in reversed(KINDS)]


def describe_agreement(
    whole: CorrelationsBySet, alone: CorrelationsBySet, readings: Sequence[TurnReading]
) -> Iterator[str]:
    """The sentences on agreement with people, by Spearman's correlation."""
    yield _describe_scorer_order("order of scorers", whole, readings)
    yield _describe_scorer_order("order of scorers, f alone", alone, readings)
    yield _describe_above_metrics(whole, readings)


def _describe_scorer_order(heading: str, correlations: CorrelationsBySet, readings: Sequence[TurnReading]) -> str:
    parts, holds = [], []
    for reading in readings:
        rows = [ComparedScorer(kind, reading).row for kind in reversed(KINDS)]
        steps = [mean_difference(correlations, a, b, "spearman") for a, b in pairwise(rows)]
        lead = compare_leads(steps)
        holds += [lead] if reading.is_evidence else []
        values = _format_scorer_order([_mean_row_correlation(correlations, row) for row in rows])
        parts.append(f"{reading.label} {values}{lead.mark}")
    mode = name_mode(readings)
    return NOTES.text(
        heading, mode=mode, verdict=judge_leads(holds, readings), n=len(correlations), values="; ".join(parts)
    )


def _describe_above_metrics(correlations: CorrelationsBySet, readings: Sequence[TurnReading]) -> str:
    best = max(BASELINES, key=lambda row: _mean_row_correlation(correlations, row))
    parts, holds = [], []
    for reading in readings:
        own = ComparedScorer("ssrem", reading).row
        ahead = compare_leads([mean_difference(correlations, own, best, "spearman")])
        holds += [ahead] if reading.is_evidence else []
        parts.append(f"{reading.label} {_mean_row_correlation(correlations, own):.3f}{ahead.mark}")
    return NOTES.text(
        "baselines",
        mode=name_mode(readings),
        verdict=judge_leads(holds, readings),
        values=", ".join(parts),
        best=_mean_row_correlation(correlations, best),
        row=best,
    )


def describe_baseline_agreement(correlations: CorrelationsBySet) -> str:
    """Section 5.2: whether BLEU, ROUGE and EMB correlate with people."""
    parts, holds = [], []
    for row in BASELINES:
        for name, rows in correlations.items():
            interval = rows[row].interval
            holds.append(not (interval.low > 0 or interval.high < 0))
            parts.append(f"{row} on {name} {format_interval(interval)}")
    return NOTES.text("baselines and people", verdict=claim_verdict(holds), values="; ".join(parts))


def _mean_row_correlation(correlations: CorrelationsBySet, row: str) -> float:
    return mean_correlation(correlations, row, "spearman").value


def _format_scorer_order(values: Sequence[float]) -> str:
    """SSREM, RSREM, RUBER with their values and the sign between each two."""
    names = [KIND_LABELS[kind] for kind in reversed(KINDS)]
    text = f"{names[0]} {values[0]:.3f}"
    for before, value, name in zip(values, values[1:], names[1:], strict=False):
        text += f" {'>' if before > value else '<' if before < value else '='} {name} {value:.3f}"
    return text
