"""Gupta's 500 replies measured with sets of references, by the metrics of Table 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from rejoinder.data.collection import Collection
from rejoinder.data.inputs import read
from rejoinder.metric import parse
from rejoinder.scoring.api import score
from rejoinder.stats.arrays import Floats
from rejoinder.stats.bootstrap import BootstrapPlan, correlation_intervals
from rejoinder.stats.correlation import Method
from rejoinder_lab.papers.base import Figure
from rejoinder_lab.papers.scarce.sets import References

COSINE = "sentence cosine (paper: Skip-Thought)"
CASES = ("case as published", "lower-cased")
_AS_IS = "tokenizer='whitespace', lowercase={lower}"  # with the smoothing, the authors' settings
OVERLAP = {
    **{f"BLEU-{n}": f"bleu(n={n}, smoothing='epsilon', {_AS_IS})" for n in (4, 3, 2, 1)},
    "ROUGE-L": f"rouge_l(aggregate='coco', {_AS_IS})",
}
# BLEU in which a match counts by the aptness of its reference (Galley et al. 2015).
WEIGHTED = f"delta_bleu(weight='probability', other=1.0, smoothing='epsilon', {_AS_IS})"
ENCODERS = {"MiniLM": "minilm", "aptness": "aptness"}
# What reads everything in lower case by itself.
CASELESS = {
    "METEOR": "meteor",
    "embedding average": "embedding_average",
    **{f"{COSINE}, {label}": f"sentence_cosine(encoder='{name}')" for label, name in ENCODERS.items()},
    **{
        f"BERT {part}, {label}": f"bertscore(part='{part}', encoder='{name}')"
        for part in ("precision", "recall")
        for label, name in ENCODERS.items()
    },
}

SETS = {"SINGLE": "single", "MULTI": "multi", "SCARCE-SINGLE": "scarce-single", "SCARCE-MULTI": "scarce-multi"}
METHODS: Sequence[Method] = ("spearman", "pearson", "kendall")
WITHIN_TABLE = "spearman within systems"
PublishedRows = Mapping[str, Mapping[str, Mapping[str, float]]]  # row -> reference set -> method -> correlation


def published_row(row: str) -> str:
    """The paper's name of a row, which says nothing about our encoder."""
    return next((row.removesuffix(f", {label}") for label in ENCODERS if row.endswith(f", {label}")), row)


class TableOneMeasure(NamedTuple):
    """A row of Table 1 in one case."""

    case: str
    row: str


@dataclass(frozen=True)
class RatedResponses:
    """The rated replies: mean rating, system and item of each."""

    data: Collection
    ratings: Sequence[float]
    systems: Sequence[str]
    items: Sequence[str]


class MeasureScores(NamedTuple):
    """The scores per reply for each measure, and the metrics' signatures."""

    scores: Mapping[TableOneMeasure, Floats]
    signatures: Mapping[TableOneMeasure, str]

    def of(self, case: str) -> dict[str, Floats]:
        """The scores of a case, by row."""
        return {measure.row: values for measure, values in self.scores.items() if measure.case == case}

    def only(self, rows: Sequence[str]) -> MeasureScores:
        """Return the same for some rows."""
        measures = [one for one in self.scores if one.row in rows]
        return MeasureScores(
            {one: self.scores[one] for one in measures}, {one: self.signatures[one] for one in measures}
        )


def collect_rated(data: Collection) -> RatedResponses:
    """The replies with their ratings; every reply has one."""
    ratings = {rating.response: rating.value for rating in data.ratings}
    replies = list(data.responses.values())
    return RatedResponses(
        data, [ratings[r.id] for r in replies], [r.system for r in replies], [r.item for r in replies]
    )


def list_specs(rows: Sequence[str] | None = None) -> dict[TableOneMeasure, str]:
    """Return the spec of each measure; metrics that lower-case anyway are under the first case only."""
    specs = {
        TableOneMeasure(case, row): spec.format(lower=bool(n))
        for n, case in enumerate(CASES)
        for row, spec in OVERLAP.items()
    }
    specs |= {TableOneMeasure(CASES[0], row): spec for row, spec in CASELESS.items()}
    return {measure: str(parse(spec)) for measure, spec in specs.items() if rows is None or measure.row in rows}


def weighted_specs() -> dict[TableOneMeasure, str]:
    """The specs of BLEU-4 with weighted references."""
    return {TableOneMeasure(case, "BLEU-4"): str(parse(WEIGHTED.format(lower=bool(n)))) for n, case in enumerate(CASES)}


def score_with_references(
    replies: RatedResponses,
    references: References,
    rows: Sequence[str] | None = None,
    specs: Mapping[TableOneMeasure, str] | None = None,
) -> MeasureScores:
    """The scores of the replies with a set of references, by some rows of Table 1 or by other specs."""
    items = {name: replace(item, references=references[name]) for name, item in replies.data.items.items()}
    wanted = list_specs(rows) if specs is None else specs
    scores = score(Collection(items=items, responses=replies.data.responses), list(wanted.values()))
    return MeasureScores(
        {one: np.asarray(scores[spec]) for one, spec in wanted.items()},
        {one: scores.metrics[spec] for one, spec in wanted.items()},
    )


def reference_set_figures(
    column: str, name: str, rows: Mapping[str, str], published: PublishedRows, about: str = "", within: bool = False
) -> list[Figure]:
    """The figures of one reference set: every row (a label and its spec) and every correlation.

    With ``within``, those within systems as well.
    """
    data = read(f"dataset:gupta/{name}")
    specs = {row: str(parse(spec)) for row, spec in rows.items()}
    scores = score(data, list(specs.values()))
    columns = {row: scores[spec] for row, spec in specs.items()}
    rated = {rating.response: rating.value for rating in data.ratings}
    ratings = [rated[response] for response in scores.responses]
    systems = [scores.systems[code] for code in scores.system_codes]
    plans = {str(method): BootstrapPlan(method=method) for method in METHODS}
    if within:
        plans[WITHIN_TABLE] = BootstrapPlan(method="spearman", at="within_system")
    figures = []
    for way, plan in plans.items():
        intervals = correlation_intervals(columns, ratings, plan, systems=systems, items=scores.items)
        table = f"{way}, {about}" if about else way
        for row, interval in intervals.items():
            known = published.get(row, {}).get(column, {}).get(way)
            measured = interval.value, interval.low, interval.high, interval.n
            figures.append(Figure(table, row, column, known, *measured, scores.metrics[specs[row]]))
    return figures
