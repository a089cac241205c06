"""What the SSREM paper claims, each in a sentence with what was measured here: confirmed or refuted.

The criteria were set before ``test`` or a rated row was measured: the order of two scorers at the same places, whether
the interval of their difference excludes 0, and the minimum values for SSREM. Each claim is judged twice, for scorers
trained as the authors' program does and for ours. Scorers over the aptness encoder are shown but do not count.
"""

from __future__ import annotations

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


def claim_verdict(held: Sequence[bool]) -> str:
    """Return the verdict on a claim, from whether it holds in each cell."""
    if not held:
        return "not measured"
    return "confirmed" if all(held) else "confirmed in part" if any(held) else "refuted"


class ScorerLead(NamedTuple):
    """Whether a scorer is ahead of all others, and whether all intervals of the differences exclude 0."""

    order: bool
    apart: bool

    @property
    def mark(self) -> str:
        """The remark after a cell."""
        return "" if self.apart else " (ahead, interval includes 0)" if self.order else " (not ahead)"


def compare_leads(differences: Sequence[Interval]) -> ScorerLead:
    """Return the lead, from the differences to the other scorers."""
    return ScorerLead(all(one.value > 0 for one in differences), all(one.low > 0 for one in differences))


def judge_leads(cells: Sequence[ScorerLead]) -> str:
    """Return the verdict on a claim, from its comparisons."""
    if cells and all(cell.order for cell in cells) and not all(cell.apart for cell in cells):
        return "confirmed by order, but some intervals include 0"
    if any(cell.order for cell in cells) and not any(cell.apart for cell in cells):
        return "undecided, since no lead is beyond its interval"
    return claim_verdict([cell.order for cell in cells])


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
    return NOTES.text("separation", mode=name_mode(readings), verdict=judge_leads(holds), values="; ".join(parts))


def _describe_first_places(held: HeldOutScores, readings: Sequence[TurnReading]) -> str:
    parts, holds = [], []
    for reading, corpus in iterate_cells(readings):
        own, *others = list_three_scorers(held, reading, corpus)
        shares = ", ".join(f"{100 * one.first().value:.1f}" for one in (own, *others))
        ahead = compare_leads([own.more_often(other) for other in others])
        holds += [ahead] if reading.is_evidence else []
        parts.append(f"{CORPORA[corpus]}, {reading.label} {shares}{ahead.mark}")
    return NOTES.text("first of five", mode=name_mode(readings), verdict=judge_leads(holds), values="; ".join(parts))


def _describe_baseline_separation(held: HeldOutScores, readings: Sequence[TurnReading]) -> str:
    parts = []
    for reading, corpus in iterate_cells(readings):
        own = held[ComparedScorer("ssrem", reading), corpus]
        for name, floor in FLOORS.items():
            value = own.auc(name).value
            reached = "reaches" if value >= floor else "misses"
            parts.append(f"{CORPORA[corpus]}, {reading.label}, {SET_LABELS[name]} {value:.3f} ({reached} {floor:.2f})")
    return NOTES.text("floors", mode=name_mode(readings), values="; ".join(parts))


def _describe_random_negatives(held: HeldOutScores, readings: Sequence[TurnReading]) -> str:
    parts, holds = [], []
    for reading, corpus in iterate_cells(readings):
        scorers = list_three_scorers(held, reading, corpus)
        holds += [one.gap(RAND).low > 0 for one in scorers] if reading.is_evidence else []
        parts.append(f"{CORPORA[corpus]}, {reading.label} {', '.join(f'{one.gap(RAND).value:.2f}' for one in scorers)}")
    largest = [
        compare_leads([own.ahead(other, RAND) for other in others])
        for reading, corpus in iterate_cells(readings)
        if reading.is_evidence
        for own, *others in [list_three_scorers(held, reading, corpus)]
    ]
    return NOTES.text(
        "random",
        mode=name_mode(readings),
        verdict=claim_verdict(holds),
        largest=judge_leads(largest),
        values="; ".join(parts),
    )


def _describe_falling_scores(held: HeldOutScores, readings: Sequence[TurnReading]) -> str:
    parts, holds = [], []
    for reading, corpus in iterate_cells(readings):
        own = held[ComparedScorer("ssrem", reading), corpus]
        means = [own.mean(name).value for name in SET_LABELS]
        falling = all(a > b for a, b in pairwise(means))
        holds += [falling] if reading.is_evidence else []
        parts.append(f"{CORPORA[corpus]}, {reading.label} {', '.join(f'{mean:.3f}' for mean in means)}")
    return NOTES.text("order of sets", mode=name_mode(readings), verdict=claim_verdict(holds), values="; ".join(parts))


def _describe_other_scorers(held: HeldOutScores, readings: Sequence[TurnReading]) -> str:
    parts, holds = [], []
    for reading, corpus in iterate_cells(readings):
        _, rsrem, ruber = list_three_scorers(held, reading, corpus)
        if reading.is_evidence:
            holds += [rsrem.gap(SC).low <= 0, *(ruber.gap(name).low <= 0 for name in SETS[:3])]
        values = [rsrem.auc(SC).value, *(ruber.auc(name).value for name in SETS[:3])]
        parts.append(f"{CORPORA[corpus]}, {reading.label} {', '.join(f'{value:.3f}' for value in values)}")
    return NOTES.text("other scorers", mode=name_mode(readings), verdict=claim_verdict(holds), values="; ".join(parts))


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
        differences = ", ".join(f"{one.value:+.3f} [{one.low:.3f}, {one.high:.3f}]" for one in steps)
        values = _format_scorer_order([_mean_row_correlation(correlations, row) for row in rows])
        parts.append(f"{reading.label} {values} (differences {differences})")
    mode = name_mode(readings)
    return NOTES.text(heading, mode=mode, verdict=judge_leads(holds), n=len(correlations), values="; ".join(parts))


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
        verdict=judge_leads(holds),
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
            parts.append(f"{row} on {name} {interval.value:.3f} [{interval.low:.3f}, {interval.high:.3f}]")
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
