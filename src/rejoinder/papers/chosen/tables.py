"""The figures of ``reproduce chosen``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import orjson

from rejoinder.data.questions import find_right_candidates
from rejoinder.papers.base import Figure
from rejoinder.papers.chosen.measures import (
    CandidateKind,
    ChosenMeasures,
    measure_set_agreement,
    rank_correlation,
    summarise_spread,
)
from rejoinder.papers.chosen.sets import ChosenSets
from rejoinder.papers.loader import load_published
from rejoinder.paths import data_home
from rejoinder.selection.acceptability_file import load_acceptability
from rejoinder.selection.settings import JUDGE
from rejoinder.stats.agreement_interval import fleiss_interval
from rejoinder.stats.interval import Interval, mean_interval
from rejoinder.types import Question

SCORES = "judgements/eval_via_selection/human_scores.jsonl"
_PUBLISHED = load_published("chosen")


def list_chosen_figures(measures: ChosenMeasures, sets: ChosenSets) -> list[Figure]:
    """Return all figures, in the order of the page."""
    return [
        *agreement_figures(),
        *tfidf_figures(sets),
        *model_pass_figures(),
        *system_figures(measures),
        *ladder_figures(measures),
        *spread_figures(measures),
    ]


def agreement_figures(root: Path | None = None) -> Iterator[Figure]:
    """Table 1: how well five people agree on the released scores."""
    lines = ((root or data_home()) / SCORES).read_bytes().splitlines()
    scores = np.array([five for line in lines for five in orjson.loads(line)], np.float64)
    table = "Table 1: Fleiss' kappa of the released scores"
    for row, values in (("six classes", scores), ("two classes", scores > 3)):
        kappa = fleiss_interval(values.astype(np.float64))
        yield _to_figure(table, row, "kappa", kappa, _PUBLISHED["Table 1"][row])


def tfidf_figures(sets: ChosenSets) -> Iterator[Figure]:
    """Section 3.2: a system that compares content words only."""
    from rejoinder.systems import parse_system

    system = parse_system("tfidf")
    table = "TF-IDF, accuracy (section 3.2)"
    for kind, questions in ((CandidateKind.CHOSEN, sets.chosen[0].questions), (CandidateKind.RANDOM, sets.random[0])):
        hits = score_hits(system.score(questions), questions)
        yield _to_figure(table, kind.value, "accuracy", mean_interval(hits), _PUBLISHED["Section 3.2"][kind.value])


def score_hits(scores: Sequence[Sequence[float]], questions: Sequence[Question]) -> list[float]:
    """Return 1 if the true reply has the highest score, a fraction if others tie with it."""
    hits = []
    for row, question in zip(scores, questions, strict=True):
        top = [place for place, score in enumerate(row) if score == max(row)]
        hits.append(len(find_right_candidates(question) & set(top)) / len(top))
    return hits


def model_pass_figures() -> Iterator[Figure]:
    """How good the model pass is: positive vs. adversarial replies of DailyDialog++."""
    from rejoinder.metric import parse

    known = load_acceptability(parse(JUDGE))
    table = f"The model pass, {JUDGE}, on DailyDialog++ (threshold chosen on dev)"
    for split, rates in (("dev", known.chosen), ("test", known.measured)):
        yield _to_figure(table, split, "AUC, positive vs. adversarial", rates.auc)
        yield _to_figure(table, split, "acceptable candidates kept as false", rates.missed)
        yield _to_figure(table, split, "adversarial candidates removed", rates.passed["adversarial"])


def system_figures(measures: ChosenMeasures) -> Iterator[Figure]:
    """The ten systems by everything that ranks them."""
    table = "The ten systems of Table 6, trained here"
    for number, name in enumerate(measures.names):
        for kind in CandidateKind:
            of_sets = measures.right[kind][number]
            first = of_sets[0] if kind is CandidateKind.CHOSEN else np.nanmean(of_sets, axis=0)
            yield _to_figure(table, name, f"{kind.value} accuracy", mean_interval(first))
        for metric, values in measures.replies.items():
            yield _to_figure(table, name, metric, mean_interval(values[number]))


def ladder_figures(measures: ChosenMeasures) -> Iterator[Figure]:
    """Spearman with the known order, for each way to rank."""
    table = "Spearman with the order of a ladder (published: with people, ten systems, Table 3)"
    for row in ("CHOSEN", "RANDOM", *measures.replies):
        published = _PUBLISHED["Table 3"].get(row)
        if published is not None:
            yield Figure(table, row, "people (not measured here)", published, float("nan"))
        for ladder in measures.ladders:
            if row in ladder.replies:
                values = ladder.replies[row]
            else:
                values = ladder.right[CandidateKind(row)]
                values = values[:, 0] if row == "CHOSEN" else np.nanmean(values, axis=1)
            yield _to_figure(table, row, ladder.name, rank_correlation(values, list(ladder.places)))


def spread_figures(measures: ChosenMeasures) -> Iterator[Figure]:
    """How much a coefficient depends on which false candidates are sampled."""
    table = "Spearman with a ladder over sets of one kind: 20 chosen, 100 random"
    for ladder in measures.ladders:
        for kind in CandidateKind:
            spread = summarise_spread(ladder.coefficients(kind))
            for column, value in (
                ("mean", spread.mean),
                ("standard deviation", spread.deviation),
                ("minimum", spread.low),
            ):
                yield Figure(table, ladder.name, f"{kind.value} {column}", None, value, n=len(spread.all))
    table = "The ten systems: Spearman of one set's ranking with that of all others of its kind"
    for kind in CandidateKind:
        accuracies = np.nanmean(measures.right[kind], axis=2).T[1 if kind is CandidateKind.CHOSEN else 0 :]
        spread = measure_set_agreement(accuracies)
        for column, value in (("mean", spread.mean), ("standard deviation", spread.deviation), ("minimum", spread.low)):
            yield Figure(table, kind.value, column, None, value, n=len(spread.all))


def _to_figure(table: str, row: str, column: str, interval: Interval, published: float | None = None) -> Figure:
    return Figure(table, row, column, published, interval.value, interval.low, interval.high, interval.n)
