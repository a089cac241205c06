"""What the SSREM paper claims of another corpus (section 7), of copying and of a ranking loss (section 8); seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rejoinder_lab.papers.ssrem.claims import (
    NOTES,
    RAND,
    SC,
    claim_verdict,
    compare_leads,
    format_interval,
    iterate_cells,
    judge_leads,
    list_three_scorers,
    name_mode,
)
from rejoinder_lab.papers.ssrem.scorers import CORPORA, GLOVE, KINDS, SEEDS, ComparedScorer, TurnReading
from rejoinder_lab.papers.ssrem.scores import COPY, HeldOutScores
from rejoinder_lab.papers.ssrem.tables import COPIED, TRANSFERS, list_transferred


def describe_transfer(held: HeldOutScores, readings: Sequence[TurnReading]) -> Iterator[str]:
    """Section 7.2: whether SSREM is ahead on the corpus that it was not trained on."""
    parts, holds = [], []
    for on, test in TRANSFERS:
        for reading in dict.fromkeys(one.reading for one in list_transferred(held, readings, on, test)):
            only = () if reading.on == (on,) else (on,)
            own, *others = list_three_scorers(held, reading, test, only)
            ahead = compare_leads([own.ahead(other, name) for other in others for name in (SC, RAND)])
            holds += [ahead] if reading.is_evidence else []
            parts.append(
                f"{CORPORA[on]} to {CORPORA[test]}, {reading.label}: "
                f"SC {', '.join(f'{one.gap(SC).value:.2f}' for one in (own, *others))}, "
                f"Rand {', '.join(f'{one.gap(RAND).value:.2f}' for one in (own, *others))}{ahead.mark}"
            )
    if parts:
        yield NOTES.text(
            "transfer", mode=name_mode(readings), verdict=judge_leads(holds, readings), values="; ".join(parts)
        )


def describe_copying(held: HeldOutScores, readings: Sequence[TurnReading]) -> Iterator[str]:
    """Section 8: whether copies fool SSREM less, and what training against them does."""
    yield _describe_fooling(held, readings)
    yield from _describe_copy_training(held, readings)


def _describe_fooling(held: HeldOutScores, readings: Sequence[TurnReading]) -> str:
    parts, holds = [], []
    for reading, corpus in iterate_cells(readings):
        scorers = list_three_scorers(held, reading, corpus)
        own, _, ruber = (one.raised(COPY) for one in scorers)
        holds += [own.value < ruber.value] if reading.is_evidence else []
        raised = ", ".join(format_interval(one.raised(COPY), "+.3f") for one in scorers)
        wins = ", ".join(f"{100 * one.won(COPY).value:.0f}" for one in scorers)
        parts.append(f"{CORPORA[corpus]}, {reading.label} {raised} (true reply wins {wins}%)")
    mode = name_mode(readings)
    return NOTES.text("copying", **COPIED, mode=mode, verdict=claim_verdict(holds, readings), values="; ".join(parts))


def _describe_copy_training(held: HeldOutScores, readings: Sequence[TurnReading]) -> Iterator[str]:
    parts, holds = [], []
    for reading, corpus in iterate_cells(readings):
        plain, against = (ComparedScorer("ssrem", reading, copies=copies) for copies in (False, True))
        if (against, corpus) in held:
            before, after = held[plain, corpus], held[against, corpus]
            holds.append(after.won(COPY).low > before.won(COPY).high)
            parts.append(
                f"{CORPORA[corpus]}, {reading.label} {format_interval(before.won(COPY))} to "
                f"{format_interval(after.won(COPY))}; "
                f"AUC against SC {format_interval(before.auc(SC))} to {format_interval(after.auc(SC))}"
            )
    if parts:
        mode = name_mode(readings)
        yield NOTES.text(
            "training against copies", mode=mode, verdict=claim_verdict(holds, readings), values="; ".join(parts)
        )


def describe_ranking(held: HeldOutScores, readings: Sequence[TurnReading]) -> str:
    """Section 8: whether a ranking loss separates better than the classification."""
    parts, holds = [], []
    for reading, corpus in iterate_cells([one for one in readings if not one.shipped]):
        plain, ranked = (held.get((ComparedScorer("ssrem", reading, ranking=one), corpus)) for one in (False, True))
        if plain and ranked:
            ahead = compare_leads([ranked.ahead(plain, name) for name in (SC, RAND)])
            holds += [ahead] if reading.is_evidence else []
            gaps = ", ".join(f"{one.gap(name).value:.2f}" for name in (SC, RAND) for one in (ranked, plain))
            parts.append(f"{CORPORA[corpus]}, {reading.label} {gaps}{ahead.mark}")
    return NOTES.text(
        "ranking", mode=name_mode(readings), verdict=judge_leads(holds, readings), values="; ".join(parts)
    )


def describe_seeds(held: HeldOutScores) -> Iterator[str]:
    """Whether the order of the three scorers over word averages is the same whatever M begins with."""
    for corpus, label in CORPORA.items():
        if (ComparedScorer("ssrem", GLOVE, seed=SEEDS[-1]), corpus) in held:
            rows = {
                kind: [held[ComparedScorer(kind, GLOVE, seed=seed), corpus].gap(SC).value for seed in SEEDS]
                for kind in reversed(KINDS)
            }
            values = "; ".join(
                f"{ComparedScorer(kind, GLOVE).label} {', '.join(f'{value:.2f}' for value in gaps)}"
                for kind, gaps in rows.items()
            )
            yield NOTES.text("seeds", corpus=label, n=len(SEEDS), values=values)
