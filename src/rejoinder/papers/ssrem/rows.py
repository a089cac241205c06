"""Scorers and reference metrics against people, without the replies that people wrote (the SSREM paper, section 5.1).

Whole metrics go where references are: Gupta's 500 replies, and USR's on Topical-Chat with the original reply as the
reference. f alone goes to all six relevance columns. These rows are for the final measurement only: nothing is chosen
by them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rejoinder.data.collection import Collection
from rejoinder.data.inputs import read
from rejoinder.metric import parse
from rejoinder.papers.own.relevance.measures import ColumnCorrelation, score_relevance_rows
from rejoinder.papers.own.relevance.rows import COLUMNS, RelevanceColumn, RelevanceRows, read_relevance_rows
from rejoinder.papers.ssrem.scorers import TrainedScorer
from rejoinder.stats.bootstrap import BootstrapPlan, resample_correlations
from rejoinder.stats.correlation import Method, correlate
from rejoinder.types import Reference

Values = NDArray[np.float64]
BLEU, ROUGE, EMB = "BLEU", "ROUGE", "EMB"
BASELINES = {
    BLEU: "bleu(smoothing='method7')",
    ROUGE: "rouge_l(aggregate='best')",
    EMB: "embedding_average",
}
METHODS: tuple[Method, ...] = ("spearman", "pearson")
TRUTH = "Original Ground Truth"
PEOPLE = frozenset({"human", "Human", TRUTH, "New Human Generated"})
GUPTA_SET = RelevanceColumn("Gupta", "gupta/single", "appropriate", None, 4)
USR_SET = RelevanceColumn("USR-TC, overall", "usr/topical_chat", "overall", None, 1)


@dataclass(frozen=True)
class RatedSet:
    """The rated replies of one set: mean ratings, and scores by the row of the table."""

    name: str
    ratings: Values
    scores: Mapping[str, Values]
    units: Sequence[str]  # the dialogue or context of each reply: what is resampled
    seed: int
    n_left_out: int  # replies that people wrote

    def correlations(self, method: Method, n_resamples: int) -> dict[str, ColumnCorrelation]:
        """The correlation of every row with the ratings."""
        plan = BootstrapPlan(method=method, seed=self.seed, n_resamples=n_resamples)
        done = resample_correlations(self.scores, self.ratings, plan, items=list(self.units))
        counts = zip(done.n.tolist(), done.n_missing.tolist(), done.n_units.tolist(), strict=True)
        return {
            row: ColumnCorrelation(plan.interval(float(value), samples, *of_row), samples)
            for row, value, samples, of_row in zip(done.names, done.values, done.samples.T, counts, strict=True)
        }

    def p(self, row: str, method: Method) -> float:
        """The p-value of no correlation, with all replies treated as independent, as in the paper."""
        return correlate(self.scores[row], self.ratings, method).p

    def slope(self, row: str) -> float:
        """How much a score rises with one point of the rating, by least squares."""
        known = ~(np.isnan(self.ratings) | np.isnan(self.scores[row]))
        x, y = self.ratings[known], self.scores[row][known]
        off = x - x.mean()
        return float(off @ (y - y.mean()) / (off @ off)) if off.any() else float("nan")


def score_set(rows: RelevanceRows, specs: Mapping[str, str]) -> RatedSet:
    """Score a set's replies that people did not write; ``specs`` are by row name."""
    generated, n_left_out = drop_human_responses(rows)
    scored = score_relevance_rows(generated, list(specs.values()))
    evidence = scored.evidence
    scores = {row: evidence.scores[str(parse(spec))] for row, spec in specs.items()}
    units = [generated.units[name] for name in evidence.responses]
    return RatedSet(rows.column.name, evidence.mean, scores, units, rows.column.seed, n_left_out)


def drop_human_responses(rows: RelevanceRows) -> tuple[RelevanceRows, int]:
    """Return the rows without those that people wrote, as far as that is known, and the number left out."""
    data = rows.data
    responses = {name: response for name, response in data.responses.items() if response.system not in PEOPLE}
    ratings = [rating for rating in data.ratings if rating.response in responses]
    return replace(rows, data=replace(data, responses=responses, ratings=ratings)), len(data.responses) - len(responses)


def attach_truth(data: Collection) -> Collection:
    """Return the set with each item's original reply, which is among the responses, as its reference."""
    truth = {response.item: response.text for response in data.responses.values() if response.system == TRUTH}
    items = {
        name: replace(item, references=(Reference(truth[name]),)) if name in truth else item
        for name, item in data.items.items()
    }
    return replace(data, items=items)


def score_whole_metrics(scorers: Sequence[TrainedScorer]) -> list[RatedSet]:
    """Score the sets that have references, with reference metrics and whole scorers."""
    specs = {**BASELINES, **{one.scorer.row: one.whole for one in scorers}}
    usr = attach_truth(read(f"dataset:{USR_SET.dataset}"))
    units = {name: response.item for name, response in usr.responses.items()}
    return [score_set(read_relevance_rows(GUPTA_SET), specs), score_set(RelevanceRows(USR_SET, usr, units), specs)]


def score_f_alone(scorers: Sequence[TrainedScorer]) -> list[RatedSet]:
    """Score the six relevance columns with f alone."""
    specs = {one.scorer.row: one.alone for one in scorers}
    return [score_set(read_relevance_rows(column), specs) for column in COLUMNS]
