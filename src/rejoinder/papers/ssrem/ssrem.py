"""The SSREM paper (Bak and Oh 2020) on the available corpora: Tables 2, 4 and 5, Figures 2 to 5, sections 6, 7.1 and 8.

Three scorers, RUBER, RSREM and SSREM, are trained over word averages and over MiniLM; the package's own are shown
beside them. Nothing is chosen by the rated rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rejoinder.data.datasets import read_dataset
from rejoinder.errors import InputError
from rejoinder.papers.base import Figure, Reproduction
from rejoinder.papers.loader import load_notes
from rejoinder.papers.ssrem import claims as findings
from rejoinder.papers.ssrem import figures as drawings
from rejoinder.papers.ssrem import speakers, tables
from rejoinder.papers.ssrem.claims import describe_agreement
from rejoinder.papers.ssrem.rows import BASELINES, RatedSet, score_f_alone, score_whole_metrics
from rejoinder.papers.ssrem.scorers import (
    BOTH,
    CORPORA,
    GLOVE,
    KIND_LABELS,
    KINDS,
    READINGS,
    ComparedScorer,
    TrainedScorer,
    TurnReading,
    list_scorers,
    split_available,
    train_or_load,
)
from rejoinder.papers.ssrem.scores import SET_LABELS, HeldOutScores, score_held_out
from rejoinder.papers.ssrem.transfer import describe_copying, describe_transfer
from rejoinder.stats.interval import Interval
from rejoinder.types import Dialogue

SUMMARY = "SSREM, RSREM and RUBER (Tables 2, 4 and 5, Figures 2 to 5, sections 6 to 8), trained on films and Friends"
# Of the ways to measure Table 2: the paper's, and the two that compare sets of the same size.
TABLE_2_METHODS = tuple(speakers.SIMILARITY_METHODS[i] for i in (0, 3, 1))
_RESAMPLES = 1000
_NOTES = load_notes("ssrem")


@dataclass(frozen=True)
class SsremMeasures:
    """Everything that the tables are made from."""

    readings: Sequence[TurnReading]
    similarity: Sequence[Figure]
    held: HeldOutScores
    whole: Sequence[RatedSet]
    alone: Sequence[RatedSet]


def reproduce() -> Reproduction:
    """Train what is not yet trained, score held-out dialogues and rated replies, and compare."""
    readings, absent = split_available(READINGS)
    if GLOVE not in readings:  # the paper's reading; EMB needs it too
        raise InputError(" ".join(absent))
    dialogues = [r for r in read_dataset("corpus/dialogues") if isinstance(r, Dialogue) and r.corpus in CORPORA]
    scorers = [train_or_load(scorer, dialogues) for scorer in list_scorers(readings)]
    held = score_held_out(scorers, dialogues)
    usual = filter_usual(scorers)
    similarity = list(tables.similarity_figures(speakers.reproduce(TABLE_2_METHODS).figures))
    return assemble_ssrem(
        SsremMeasures(readings, similarity, held, score_whole_metrics(usual), score_f_alone(usual)), absent
    )


def filter_usual(scorers: Sequence[TrainedScorer]) -> list[TrainedScorer]:
    """Return the scorers that are compared with people: trained on both corpora, without copies."""
    return [one for one in scorers if one.scorer.on == BOTH and not one.scorer.copies]


def assemble_ssrem(measures: SsremMeasures, absent: Sequence[str] = (), n_resamples: int = _RESAMPLES) -> Reproduction:
    """The figures, sentences and drawings of what was measured."""
    held, readings = measures.held, measures.readings
    whole, alone = (tables.correlate_all_sets(one, n_resamples) for one in (measures.whole, measures.alone))
    figures = [
        *measures.similarity,
        *tables.separation_figures(held, readings),
        *tables.lead_figures(held, readings),
        *tables.correlation_figures(whole, measures.whole),
        *tables.alone_figures(alone, measures.alone),
        *tables.transfer_figures(held, readings),
        *tables.copying_figures(held, readings),
    ]
    sentences = [
        *findings.describe_similarity(measures.similarity),
        *findings.describe_separation(held, readings),
        *describe_agreement(whole["spearman"], alone["spearman"], readings),
        describe_transfer(held, readings),
        *describe_copying(held, readings),
        *_NOTES.paragraphs("method"),
        *describe_left_out([*measures.whole, *measures.alone]),
        *absent,
    ]
    return Reproduction("ssrem", "SSREM: speaker-sensitive scoring", figures, sentences, _draw_figures(measures))


def describe_left_out(judged: Sequence[RatedSet]) -> Iterator[str]:
    """How many replies each set has, how many were left out, and how many have no score."""
    sizes = ", ".join(f"{one.name} {len(one.ratings)} ({one.n_left_out})" for one in judged)
    yield _NOTES.text("ratings", sets=sizes)
    for one in judged:
        missing = {row: int((values != values).sum()) for row, values in one.scores.items()}
        if any(missing.values()):
            counts = ", ".join(f"{row} {n}" for row, n in missing.items() if n)
            yield _NOTES.text("missing scores", name=one.name, rows=counts)


def _draw_figures(measures: SsremMeasures) -> dict[str, str]:
    """Figures 2 to 5, by the suffix of their file name."""
    figures = {}
    for reading in measures.readings:
        # The paper's own reading has the paper's name; the others have theirs behind it.
        ending = "" if reading == GLOVE else f"-{reading.encoder}"
        for number, one in zip((2, 4), measures.whole, strict=True):
            title = f"Figure {number}: scores by people's rating, {one.name}, {reading.label}"
            figures[f"figure-{number}{ending}"] = drawings.draw_scatters(title, _make_clouds(one, reading))
    for corpus, label in CORPORA.items():
        panels = {
            reading.label: {
                KIND_LABELS[kind]: {
                    s: measures.held[ComparedScorer(kind, reading), corpus].mean(name) for name, s in SET_LABELS.items()
                }
                for kind in KINDS
            }
            for reading in measures.readings
        }
        figures[f"figure-3-{corpus}"] = drawings.draw_points(f"Figure 3: mean score, {label} test", panels)
    figures["figure-5"] = drawings.draw_points(
        "Figure 5: mean score, trained on the other corpus", _transfer_panels(measures)
    )
    return figures


def _make_clouds(one: RatedSet, reading: TurnReading) -> dict[str, drawings.ScatterCloud]:
    rows = {
        **{row: row for row in BASELINES},
        **{KIND_LABELS[kind]: ComparedScorer(kind, reading).row for kind in KINDS},
    }
    return {name: drawings.ScatterCloud(one.ratings, one.scores[row], one.slope(row)) for name, row in rows.items()}


def _transfer_panels(measures: SsremMeasures) -> dict[str, dict[str, dict[str, Interval]]]:
    return {
        f"{CORPORA[on]} to {CORPORA[test]}, {reading.label}": {
            KIND_LABELS[kind]: {
                SET_LABELS[name]: measures.held[ComparedScorer(kind, reading, (on,)), test].mean(name)
                for name in ("true", "same_conversation", "random")
            }
            for kind in KINDS
        }
        for reading in measures.readings
        if not reading.shipped
        for on in BOTH
        for test in BOTH
        if on != test
    }
