"""What the SSREM paper claims of another corpus (section 7) and of copying (section 8), and what was measured here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rejoinder.papers.ssrem.claims import (
    NOTES,
    RAND,
    SC,
    claim_verdict,
    compare_leads,
    iterate_cells,
    judge_leads,
    list_three_scorers,
)
from rejoinder.papers.ssrem.scorers import BOTH, CORPORA, ComparedScorer, TurnReading
from rejoinder.papers.ssrem.scores import ANY, LAST, HeldOutScores, PlaceScores
from rejoinder.papers.ssrem.tables import COPIED


def describe_transfer(held: HeldOutScores, readings: Sequence[TurnReading]) -> str:
    """Section 7.2: whether SSREM is ahead on the corpus that it was not trained on."""
    parts, holds = [], []
    for reading in (one for one in readings if not one.shipped):
        for on, test in ((on, test) for on in BOTH for test in BOTH if on != test):
            own, *others = list_three_scorers(held, reading, test, (on,))
            ahead = compare_leads([own.ahead(other, name) for other in others for name in (SC, RAND)])
            holds.append(ahead)
            same = held[ComparedScorer("ssrem", reading, (test,)), test]
            parts.append(
                f"{CORPORA[on]} to {CORPORA[test]}, {reading.label}: "
                f"SC {', '.join(f'{one.gap(SC).value:.2f}' for one in (own, *others))}, "
                f"Rand {', '.join(f'{one.gap(RAND).value:.2f}' for one in (own, *others))} "
                f"(SSREM trained on the same corpus {same.gap(SC).value:.2f}, {same.gap(RAND).value:.2f}){ahead.mark}"
            )
    return NOTES.text("transfer", verdict=judge_leads(holds), values="; ".join(parts))


def describe_copying(held: HeldOutScores, readings: Sequence[TurnReading]) -> Iterator[str]:
    """Section 8: whether copies fool SSREM less, and what training against them does."""
    yield _describe_fooling(held, readings)
    yield _describe_copy_training(held, readings)


def _describe_fooling(held: HeldOutScores, readings: Sequence[TurnReading]) -> str:
    parts, holds = [], []
    for reading, corpus in iterate_cells(readings):
        scorers = list_three_scorers(held, reading, corpus)
        own, _, ruber = (one.raised(ANY) for one in scorers)
        holds += [own.value < ruber.value] if not reading.shipped else []
        raised = ", ".join(f"{one.raised(ANY).value:+.3f}" for one in scorers)
        wins = ", ".join(f"{100 * one.won(ANY).value:.0f}" for one in scorers)
        parts.append(f"{CORPORA[corpus]}, {reading.label} {raised} (true reply wins {wins}%)")
    return NOTES.text("copying", **COPIED, verdict=claim_verdict(holds), values="; ".join(parts))


def _describe_copy_training(held: HeldOutScores, readings: Sequence[TurnReading]) -> str:
    parts, holds = [], []
    for reading, corpus in iterate_cells([one for one in readings if not one.shipped]):
        plain, against = (held[ComparedScorer("ssrem", reading, copies=copies), corpus] for copies in (False, True))
        holds.append(against.won(ANY).low > plain.won(ANY).high)
        parts.append(
            f"{CORPORA[corpus]}, {reading.label} {_change(plain, against, lambda one: one.won(ANY).value)} against any "
            f"utterance, {_change(plain, against, lambda one: one.won(LAST).value)} against the last; AUC against SC "
            f"{_change(plain, against, lambda one: one.auc(SC).value)}"
        )
    return NOTES.text("training against copies", verdict=claim_verdict(holds), values="; ".join(parts))


def _change(plain: PlaceScores, against: PlaceScores, figure: Callable[[PlaceScores], float]) -> str:
    return f"{figure(plain):.3f} to {figure(against):.3f}"
