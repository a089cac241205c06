"""The SSREM paper (Bak and Oh 2020) on the available corpora: Tables 1, 2, 4 and 5, Figures 2 to 5, sections 6 to 8.

Three scorers, RUBER, RSREM and SSREM, are trained with most settings of the authors' program and with ours (``jobs``);
what they answered is stored, and the tables are made from it, so no model is needed here. Nothing is chosen by the
rated rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rejoinder.errors import InputError, RejoinderError
from rejoinder.stats.interval import Interval
from rejoinder_lab.papers.base import Figure, Reproduction
from rejoinder_lab.papers.loader import load_notes
from rejoinder_lab.papers.ssrem import claims, stored, tables, transfer
from rejoinder_lab.papers.ssrem import figures as drawings
from rejoinder_lab.papers.ssrem.example import example_figures
from rejoinder_lab.papers.ssrem.rows import BASELINES, RatedSet, rebuild_alone, rebuild_whole
from rejoinder_lab.papers.ssrem.scorers import (
    CORPORA,
    GLOVE,
    KIND_LABELS,
    KINDS,
    READINGS,
    ComparedScorer,
    TurnReading,
    list_compared,
    list_scorers,
)
from rejoinder_lab.papers.ssrem.scores import SET_LABELS, HeldOutScores

SUMMARY = "SSREM, RSREM and RUBER (Tables 1, 2, 4 and 5, Figures 2 to 5, sections 6 to 8), in the paper's mode and ours"
_RESAMPLES = 1000
_NOTES = load_notes("ssrem")


@dataclass(frozen=True)
class SsremMeasures:
    """Everything that the tables are made from."""

    readings: Sequence[TurnReading]
    held: HeldOutScores
    whole: Sequence[RatedSet] = ()
    before: Sequence[RatedSet] = ()  # the same with g's old upper bound
    alone: Sequence[RatedSet] = ()
    bounds: dict[str, Any] | None = None  # of g, by scorer


def reproduce() -> Reproduction:
    """Make the tables from the stored scores; what is missing is checked first and stands on the page."""
    held = stored.read_places(list_scorers())
    readings = [reading for reading in READINGS if _is_measured(held, reading)]
    if not readings:
        raise InputError("no scores are stored; make them with: python -m rejoinder_lab.papers.ssrem.jobs score")
    ratings = stored.read_all(stored.RATINGS)
    measures = SsremMeasures(readings, held, bounds=ratings.get("bounds"))
    absent = list(_describe_absent(measures))
    try:
        scorers = _list_rated(measures) if ratings else []
        if scorers:
            whole, before = (rebuild_whole(ratings, scorers, old) for old in (False, True))
            measures = SsremMeasures(readings, held, whole, before, rebuild_alone(ratings, scorers), ratings["bounds"])
    except RejoinderError as error:
        absent.append(_NOTES.text("no ratings", error=error))
    return assemble_ssrem(measures, absent)


def _describe_absent(measures: SsremMeasures) -> Iterator[str]:
    """What is not stored."""
    rated = {scorer.reading for scorer in _list_rated(measures)}
    for reading in READINGS:
        if reading not in measures.readings:
            yield _NOTES.text("not measured", name=reading.label)
        elif reading not in rated:
            yield _NOTES.text("not rated", name=reading.label)
    names = {scorer.name for scorer, _ in measures.held}
    missing = [one.name for one in list_scorers() if one.reading in measures.readings and one.name not in names]
    if missing:
        yield _NOTES.text("not trained", names=" / ".join(missing))


def _is_measured(held: HeldOutScores, reading: TurnReading) -> bool:
    return all((ComparedScorer(kind, reading), corpus) in held for kind in KINDS for corpus in CORPORA)


def _list_rated(measures: SsremMeasures) -> list[ComparedScorer]:
    """The scorers that are compared with people."""
    scorers = [scorer for reading in measures.readings for scorer in list_compared(reading)]
    return [scorer for scorer in scorers if scorer.name in (measures.bounds or {})]


def assemble_ssrem(measures: SsremMeasures, absent: Sequence[str] = (), n_resamples: int = _RESAMPLES) -> Reproduction:
    """The figures, sentences and drawings of what was measured."""
    held, readings = measures.held, measures.readings
    similarity = stored.read_similarity()
    figures = [
        *example_figures(stored.read_all(stored.EXAMPLE), measures.bounds or {}, _list_rated(measures)),
        *similarity,
        *tables.separation_figures(held, readings),
        *tables.order_figures(held, readings),
        *tables.seed_figures(held),
    ]
    sentences = [*claims.describe_similarity(similarity)]
    for group in claims.split_modes(readings):
        sentences += claims.describe_separation(held, group)
        sentences.append(transfer.describe_ranking(held, group))
    sentences += transfer.describe_seeds(held)
    if measures.whole:
        rated_figures, rated_sentences = _assemble_ratings(measures, n_resamples)
        figures += rated_figures
        sentences += rated_sentences
    figures += [*tables.transfer_figures(held, readings), *tables.copying_figures(held, readings)]
    for group in claims.split_modes(readings):
        sentences += [*transfer.describe_transfer(held, group), *transfer.describe_copying(held, group)]
    sentences += [*_NOTES.paragraphs("changes"), *_NOTES.paragraphs("method")]
    sentences += [*describe_left_out([*measures.whole, *measures.alone]), *absent]
    return Reproduction("ssrem", "SSREM: speaker-sensitive scoring", figures, sentences, _draw_figures(measures))


def _assemble_ratings(measures: SsremMeasures, n_resamples: int) -> tuple[list[Figure], list[str]]:
    """The figures and sentences on agreement with people."""
    whole, alone = (tables.correlate_all_sets(one, n_resamples) for one in (measures.whole, measures.alone))
    before = {one.name: one.correlations("spearman", n_resamples) for one in measures.before}
    spearman = whole["spearman"]
    rated = {scorer.reading for scorer in _list_rated(measures)}
    readings = [reading for reading in measures.readings if reading in rated]
    figures = [
        *tables.correlation_figures(whole, measures.whole),
        *tables.people_order_figures("Tables 4 and 5: differences of Spearman, whole metrics", spearman, readings),
        *tables.range_figures(measures.bounds or {}, spearman, before, _list_rated(measures)),
        *tables.alone_figures(alone, measures.alone),
        *tables.people_order_figures("f alone: differences of Spearman", alone["spearman"], readings),
    ]
    sentences = [
        sentence
        for group in claims.split_modes(readings)
        for sentence in claims.describe_agreement(spearman, alone["spearman"], group)
    ]
    return figures, [*sentences, claims.describe_baseline_agreement(spearman)]


def describe_left_out(judged: Sequence[RatedSet]) -> Iterator[str]:
    """How many replies each set has, how many were left out, and how many have no score."""
    if judged:
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
    for number, one in zip((2, 4), measures.whole, strict=False):
        title = f"Figure {number}: scores by people's rating, {one.name}, {GLOVE.label}"
        figures[f"figure-{number}"] = drawings.draw_scatters(title, _make_clouds(one, GLOVE))
    for corpus, label in CORPORA.items():
        panels = {
            reading.label: _mean_points(measures.held, reading, corpus, tuple(SET_LABELS))
            for reading in measures.readings
            if corpus in reading.on
        }
        figures[f"figure-3-{corpus}"] = drawings.draw_points(f"Figure 3: mean score, {label} test", panels)
    panels = _transfer_panels(measures)
    if panels:
        figures["figure-5"] = drawings.draw_points("Figure 5: mean score, trained on another corpus", panels)
    return figures


def _mean_points(
    held: HeldOutScores, reading: TurnReading, corpus: str, names: Sequence[str], on: tuple[str, ...] = ()
) -> dict[str, dict[str, Interval]]:
    return {
        KIND_LABELS[kind]: {SET_LABELS[n]: held[ComparedScorer(kind, reading, on), corpus].mean(n) for n in names}
        for kind in KINDS
    }


def _make_clouds(one: RatedSet, reading: TurnReading) -> dict[str, drawings.ScatterCloud]:
    rows = {
        **{row: row for row in BASELINES},
        **{KIND_LABELS[kind]: ComparedScorer(kind, reading).row for kind in KINDS},
    }
    return {
        name: drawings.ScatterCloud(one.ratings, one.scores[row], one.slope(row))
        for name, row in rows.items()
        if row in one.scores
    }


def _transfer_panels(measures: SsremMeasures) -> dict[str, dict[str, dict[str, Interval]]]:
    panels = {}
    for on, test in tables.TRANSFERS:
        scorers = tables.list_transferred(measures.held, measures.readings, on, test)
        for scorer in {one.reading: one for one in scorers}.values():
            name = f"{CORPORA[on]} to {CORPORA[test]}, {scorer.reading.label}"
            columns = ("true", "same_conversation", "random")
            panels[name] = _mean_points(measures.held, scorer.reading, test, columns, scorer.on)
    return panels
