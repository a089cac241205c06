"""The CHOSEN paper (Sato et al. 2020): test sets with well-chosen false candidates against random ones.

The human ranking of the paper's ten systems was not released. Here chosen and random sets of the same questions are
compared by how well they order ladders of known order. What is missing on this machine is found out first; the rows
that need it have no value, and the page says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rejoinder.data.datasets import datasets_under
from rejoinder.models.catalog.entries import find_model
from rejoinder.models.catalog.manifest import is_model_available
from rejoinder.paths import data_home
from rejoinder.selection.overlap import measure_overlap
from rejoinder_lab.papers.base import Figure, Reproduction
from rejoinder_lab.papers.chosen import tables
from rejoinder_lab.papers.chosen.figures import draw_boxes
from rejoinder_lab.papers.chosen.ladders import (
    SNAPSHOTS,
    STEPS,
    KnownOrder,
    list_all_ladders,
)
from rejoinder_lab.papers.chosen.measures import LadderMeasures, Scoring, measure_ladder
from rejoinder_lab.papers.chosen.sets import CONTEXTS, SHARE, PairedSets, build_pair, read_material
from rejoinder_lab.papers.chosen.stored import STORED_FILE, CandidateKind, StoredLosses, read_stored_losses
from rejoinder_lab.papers.loader import load_notes

_NOTES = load_notes("chosen")
SUMMARY = "CHOSEN: well-chosen against random false candidates: agreement, TF-IDF, ladders of known order (Tables 1, 3)"
SCORES, DIALOGUES, VECTORS = "chosen", ("dailydialog", "corpus/dialogues"), "glove-6b-50d"


class LadderResults(NamedTuple):
    """The ladders that could be measured, and those whose losses are not stored."""

    measured: list[LadderMeasures]
    missing: list[KnownOrder]


def reproduce() -> Reproduction:
    """Measure what can be measured here."""
    missing = list_missing()
    pair = None if {*DIALOGUES, VECTORS} & set(missing) else build_pair(read_material(CONTEXTS))
    ladders = measure_ladders()
    by_loss = [ladder for ladder in ladders.measured if ladder.scoring is Scoring.LOSS]
    coefficients = {
        ladder.order.name: (ladder.coefficients(CandidateKind.RANDOM), ladder.coefficients(CandidateKind.CHOSEN))
        for ladder in by_loss
    }
    return Reproduction(
        "chosen",
        "CHOSEN: ranking systems by response selection",
        list_chosen_figures(pair, ladders, agreement=SCORES not in missing),
        list_chosen_notes(pair, ladders, missing),
        {"figure-2": draw_boxes("Spearman with the ladder's order, by loss", coefficients)},
    )


def list_missing() -> list[str]:
    """Return the published sets and models that are not on this machine."""
    names = [name for name in (SCORES, *DIALOGUES) if not _has_dataset(name)]
    return names if is_model_available(find_model(VECTORS)) else [*names, VECTORS]


def _has_dataset(name: str) -> bool:
    root = data_home()
    return all((root / file.path).is_file() for one in datasets_under(name) for file in one.files)


def measure_ladders(path: Path = STORED_FILE) -> LadderResults:
    """Measure every ladder whose losses are stored, in both ways of scoring."""
    results = LadderResults([], [])
    stored = read_stored_losses(path) if path.is_file() else StoredLosses("", {})
    for order in list_all_ladders():
        measured = [measure_ladder(stored, order, scoring) for scoring in Scoring]
        results.measured.extend(one for one in measured if one is not None)
        results.missing.extend([order] if None in measured else [])
    return results


def list_chosen_figures(pair: PairedSets | None, ladders: LadderResults, agreement: bool = True) -> list[Figure]:
    """Return all figures, in the order of the page."""
    return [
        *(tables.agreement_figures() if agreement else ()),
        *tables.tfidf_figures(pair),
        *tables.length_figures(pair),
        *tables.model_pass_figures(),
        *tables.human_ranking_figures(),
        *tables.ladder_figures(ladders.measured, ladders.missing),
        *tables.rung_figures(ladders.measured),
    ]


def list_chosen_notes(pair: PairedSets | None, ladders: LadderResults, missing: Sequence[str]) -> list[str]:
    """Sentences with figures, then those without."""
    return [
        *([_NOTES.text("missing", names=", ".join(missing))] if missing else ()),
        _NOTES.text("kappa"),
        _NOTES.text("p-values"),
        *([] if pair is None else [_describe_pair(pair)]),
        _NOTES.text("tfidf-earlier"),
        *_describe_ladders(ladders),
        *_NOTES.paragraphs("withdrawn"),
        _NOTES.text("people"),
        _NOTES.text("choice"),
        _NOTES.text("judges"),
    ]


def _describe_pair(pair: PairedSets) -> str:
    shared = measure_overlap(pair.chosen)
    return _NOTES.text(
        "sets",
        questions=len(pair.chosen),
        contexts=CONTEXTS,
        shared=shared.all.value,
        random_shared=measure_overlap(pair.random).all.value,
    )


def _describe_ladders(ladders: LadderResults) -> Iterator[str]:
    if ladders.measured:
        sets, questions = ladders.measured[0].right[CandidateKind.CHOSEN].shape[1:]
        yield _NOTES.text("ladders", sets=sets, questions=questions, share=SHARE)
        for scoring in Scoring:
            yield _NOTES.text("findings", **_summarise(ladders.measured, scoring))
    if ladders.missing:
        names = "; ".join(order.name for order in ladders.missing)
        steps = ", ".join(f"{step:,}" for step in SNAPSHOTS)
        yield _NOTES.text("not-measured", names=names, steps=f"{STEPS:,}", snapshots=steps)


def _summarise(measured: Sequence[LadderMeasures], scoring: Scoring) -> dict[str, object]:
    """How often chosen sets are at least as good, and steadier, over the ladders of one way of scoring."""
    summaries = [ladder.summaries() for ladder in measured if ladder.scoring is scoring]
    means = [summary["difference of means"] for summary in summaries]
    deviations = [summary["difference of standard deviations"] for summary in summaries]
    return {
        "scoring": scoring.value,
        "n": len(summaries),
        "at_least": sum(one.value >= 0 for one in means),
        "surely_worse": sum(one.high < 0 for one in means),
        "surely_better": sum(one.low > 0 for one in means),
        "steadier": sum(one.value < 0 for one in deviations),
        "surely_steadier": sum(one.high < 0 for one in deviations),
    }
