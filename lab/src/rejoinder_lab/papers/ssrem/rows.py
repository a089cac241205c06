"""Scorers and reference metrics against people, without the replies that people wrote (the SSREM paper, section 5.1).

Whole metrics go where references are: Gupta's 500 replies, and USR's on Topical-Chat with the original reply as the
reference. f alone goes to all six relevance columns. f, g and EMB are stored, without texts; ratings are read from the
published sets, and BLEU and ROUGE are computed again. These rows are for the final measurement only: nothing is chosen
by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.data.collection import Collection
from rejoinder.data.inputs import read
from rejoinder.errors import InputError
from rejoinder.files import sha256_of_parts
from rejoinder.metric import parse
from rejoinder.models.speaker.model import F_BOUNDS, open_scorer
from rejoinder.stats.bootstrap import BootstrapPlan, resample_correlations
from rejoinder.stats.correlation import Method, correlate
from rejoinder.types import Reference
from rejoinder_lab.papers.own.relevance.measures import ColumnCorrelation, score_relevance_rows
from rejoinder_lab.papers.own.relevance.rows import COLUMNS, RelevanceColumn, RelevanceRows, read_relevance_rows
from rejoinder_lab.papers.ssrem.scorers import GLOVE, ComparedScorer, TrainedScorer
from rejoinder_lab.papers.ssrem.stored import pack_scores, unpack_scores

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


def score_set(rows: RelevanceRows, specs: Mapping[str, str]) -> tuple[RatedSet, list[str]]:
    """Score a set's replies that people did not write, and return their ids too; ``specs`` are by row name."""
    generated, n_left_out = drop_human_responses(rows)
    scored = score_relevance_rows(generated, list(specs.values()))
    evidence = scored.evidence
    scores = {row: evidence.scores[str(parse(spec))] for row, spec in specs.items()}
    units = [generated.units[name] for name in evidence.responses]
    rated = RatedSet(rows.column.name, evidence.mean, scores, units, rows.column.seed, n_left_out)
    return rated, list(evidence.responses)


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


def read_whole_rows() -> list[RelevanceRows]:
    """The sets that have references."""
    usr = attach_truth(read(f"dataset:{USR_SET.dataset}"))
    units = {name: response.item for name, response in usr.responses.items()}
    return [read_relevance_rows(GUPTA_SET), RelevanceRows(USR_SET, usr, units)]


def read_alone_rows() -> list[RelevanceRows]:
    """The six relevance columns."""
    return [read_relevance_rows(column) for column in COLUMNS]


def answer_ratings(scorers: Sequence[TrainedScorer]) -> dict[str, Any]:
    """What is stored: f, g and EMB of the rated replies, by set, and the bounds of f and g."""
    alone = {one.scorer.name: one.alone for one in scorers}
    references = {one.scorer.reference: one.scorer.reference for one in scorers}
    emb = {EMB: BASELINES[EMB]} if GLOVE.encoder in {one.scorer.reading.encoder for one in scorers} else {}
    sets = {}
    for rows in read_whole_rows():
        sets[rows.column.name] = _answer_set(rows, {**alone, **references, **emb})
    for rows in read_alone_rows():
        sets[rows.column.name] = _answer_set(rows, alone)
    bounds = {}
    for one in scorers:
        known = open_scorer(one.scorer.kind, one.folder).card.bounds
        by_spec = {str(parse(name)): pair for name, pair in known.items() if name != F_BOUNDS}
        bounds[one.scorer.name] = list(by_spec[one.scorer.reference])
    return {"sets": sets, "bounds": bounds}


def _answer_set(rows: RelevanceRows, specs: Mapping[str, str]) -> dict[str, Any]:
    rated, names = score_set(rows, specs)
    return {
        "replies": _digest_replies(rows, names),
        "scores": {row: pack_scores(values) for row, values in rated.scores.items()},
    }


def _digest_replies(rows: RelevanceRows, names: Sequence[str]) -> str:
    return sha256_of_parts((part for name in names for part in (name, rows.data.responses[name].text)), "\n")[:32]


def rebuild_whole(
    stored: Mapping[str, Any], scorers: Iterable[ComparedScorer], self_compared: bool = False
) -> list[RatedSet]:
    """The sets with references, under BLEU, ROUGE, EMB and h of each scorer; ``self_compared``: g's old upper bound."""
    rebuilt = []
    for rows in read_whole_rows():
        live, scores = _rebuild_set(rows, stored, {BLEU: BASELINES[BLEU], ROUGE: BASELINES[ROUGE]})
        columns = {**live.scores, EMB: scores[EMB]}
        for scorer in scorers:
            low, high = stored["bounds"][scorer.name]
            g = (scores[scorer.reference] - low) / ((1.0 if self_compared else high) - low)
            columns[scorer.row] = (scores[scorer.name] + np.clip(g, 0, 1)) / 2
        rebuilt.append(replace(live, scores=columns))
    return rebuilt


def rebuild_alone(stored: Mapping[str, Any], scorers: Sequence[ComparedScorer]) -> list[RatedSet]:
    """The six relevance columns under f of each scorer."""
    rebuilt = []
    for rows in read_alone_rows():
        live, scores = _rebuild_set(rows, stored, {"length": "length"})
        rebuilt.append(replace(live, scores={scorer.row: scores[scorer.name] for scorer in scorers}))
    return rebuilt


def _rebuild_set(
    rows: RelevanceRows, stored: Mapping[str, Any], specs: Mapping[str, str]
) -> tuple[RatedSet, dict[str, Values]]:
    live, names = score_set(rows, specs)
    one = stored["sets"][rows.column.name]
    if one["replies"] != _digest_replies(rows, names):
        raise InputError(
            f"the replies of {rows.column.dataset} are not those whose scores are stored; get the published set, or "
            "score them with: python -m rejoinder_lab.papers.ssrem.jobs"
        )
    return live, {name: unpack_scores(packed) for name, packed in one["scores"].items()}
