"""Tables 1, 2 and 4 and Appendix A of SCARCE, and what our references gain over the human ones."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rejoinder.data.collection import Collection
from rejoinder.metric import parse
from rejoinder.scoring.api import score
from rejoinder.seeded import stable_shuffle
from rejoinder.stats.bootstrap import BootstrapPlan, correlation_difference, correlation_intervals
from rejoinder.stats.correlation import correlate
from rejoinder.stats.interval import mean_interval
from rejoinder.types import Item, Response
from rejoinder_lab.papers.base import Figure
from rejoinder_lab.papers.loader import load_published
from rejoinder_lab.papers.scarce.measures import (
    CASES,
    ENCODERS,
    MeasureScores,
    RatedResponses,
    TableOneMeasure,
    published_row,
)
from rejoinder_lab.papers.scarce.sets import (
    MULTI,
    NOT_ADAPTED,
    OURS_MULTI,
    OURS_SINGLE,
    PARAPHRASE_SINGLE,
    RELEASED_MULTI,
    RELEASED_SINGLE,
    SINGLE,
    WHOLE,
    References,
)

_PUBLISHED = load_published("scarce")
IN_TABLE_2 = ("BLEU-4", *(f"BERT precision, {label}" for label in ENCODERS))
_PUBLISHED_COLUMN = {RELEASED_SINGLE: OURS_SINGLE, RELEASED_MULTI: OURS_MULTI}
ADAPTATION_GAIN = "Gain of OURS-SINGLE by context adaptation"
STEP_FURTHER = "BLEU-4 one step further than the paper"
SPEARMAN, WITHIN = "Spearman", "Spearman within systems"
CORRELATIONS: Mapping[str, BootstrapPlan] = {
    SPEARMAN: BootstrapPlan(method="spearman"),
    "Kendall": BootstrapPlan(method="kendall"),
    WITHIN: BootstrapPlan(method="spearman", at="within_system"),
    "Kendall within systems": BootstrapPlan(method="kendall", at="within_system"),
}
GAINS = (
    (OURS_SINGLE, SINGLE),
    (PARAPHRASE_SINGLE, SINGLE),
    (OURS_MULTI, MULTI),
    (RELEASED_SINGLE, SINGLE),
    (OURS_SINGLE, RELEASED_SINGLE),
    (WHOLE, NOT_ADAPTED),
)


def scarce_table_1(replies: RatedResponses, sets: Mapping[str, MeasureScores]) -> Iterator[Figure]:
    """Table 1: the correlations of every measure with the ratings, pooled and within systems."""
    for case in CASES:
        for way, plan in CORRELATIONS.items():
            for column, scored in sets.items():
                for row, figure in _correlate_rows(replies, scored, case, plan).items():
                    printed = case == CASES[0] and plan.at == "pooled"
                    published = _published_cell("Table 1", row, column)[plan.method] if printed else None
                    yield Figure(f"Table 1: {way}, {case}", row, column, published, *figure)


def scarce_table_2(replies: RatedResponses, sets: Mapping[str, MeasureScores]) -> Iterator[Figure]:
    """Table 2: the contribution of each part, added to the single human reference."""
    for case in CASES:
        for way in (SPEARMAN, WITHIN):
            for row, scored in sets.items():
                printed = case == CASES[0] and way == SPEARMAN
                published = _PUBLISHED["Table 2"].get(row, {}) if printed else {}
                for column, figure in _correlate_rows(replies, scored, case, CORRELATIONS[way]).items():
                    known = published.get(published_row(column))
                    yield Figure(f"Table 2: {way}, {case}", row, column, known, *figure)


def further_figures(replies: RatedResponses, sets: Mapping[str, MeasureScores]) -> Iterator[Figure]:
    """BLEU-4 with our references and with those of the step beyond the paper."""
    for row, scored in sets.items():
        for case in CASES:
            for way in (SPEARMAN, WITHIN):
                for figure in _correlate_rows(replies, scored, case, CORRELATIONS[way]).values():
                    yield Figure(STEP_FURTHER, row, f"{way}, {case}", None, *figure)


def _published_cell(table: str, row: str, column: str) -> Any:
    """What the paper prints for a row and a column; the authors' own references are what its SCARCE columns show."""
    return _PUBLISHED[table][published_row(row)][_PUBLISHED_COLUMN.get(column, column)]


def scarce_table_4(replies: RatedResponses, sets: Mapping[str, MeasureScores]) -> Iterator[Figure]:
    """Table 4: the p-value of Spearman's rho, with all replies treated as independent."""
    for case in CASES:
        for column, scored in sets.items():
            for row, values in scored.of(case).items():
                published = _published_cell("Table 4", row, column) if case == CASES[0] else None
                rho = correlate(values, replies.ratings, "spearman")
                yield Figure(f"Table 4: p of Spearman, {case}", row, column, published, rho.p, n=rho.n)


def gain_figures(replies: RatedResponses, sets: Mapping[str, MeasureScores]) -> Iterator[Figure]:
    """How much additional references raise Spearman's rho; both sets use the same resamples."""
    for more, human in ((more, human) for more, human in GAINS if more in sets and human in sets):
        for case in CASES:
            for way in (SPEARMAN, WITHIN):
                others = sets[human].of(case)
                for row, values in sets[more].of(case).items():
                    if row not in others:
                        continue
                    one = correlation_difference(
                        values,
                        others[row],
                        replies.ratings,
                        CORRELATIONS[way],
                        systems=replies.systems,
                        items=replies.items,
                    )
                    yield Figure(
                        gain_title(more, human), row, f"{way}, {case}", None, one.value, one.low, one.high, one.n
                    )


def gain_title(more: str, human: str) -> str:
    """The title of a table of gains."""
    return ADAPTATION_GAIN if (more, human) == (WHOLE, NOT_ADAPTED) else f"Gain of {more} over {human}"


def _correlate_rows(
    replies: RatedResponses, scored: MeasureScores, case: str, plan: BootstrapPlan
) -> dict[str, tuple[float, float, float, int, str]]:
    """For each row, what a figure shows beside the published number: value, interval, n, signature."""
    intervals = correlation_intervals(
        scored.of(case), replies.ratings, plan, systems=replies.systems, items=replies.items
    )
    return {
        row: (one.value, one.low, one.high, one.n, scored.signatures[TableOneMeasure(case, row)])
        for row, one in intervals.items()
    }


DRAWN = 4  # references an item (Appendix A.3)
DRAWS = 20  # by so many seeds, the mean of which is the figure
DIVERSITY = f"Appendix A.3: self-BLEU-4 of {DRAWN} references drawn at random (lower is more diverse)"
QUALITY = "Appendix A.2: quality of references (paper: RUBER; here: aptness of at most 300)"
UNAPT = "Section 3: references that are not appropriate (paper: two annotators, 150 each; here: aptness of at most 300)"
JUDGED = 300  # references of a set, drawn at random, where it has more
APT = 0.5  # the floor of `rejoinder augment`
_SMOOTHED_COLUMN = "smoothed as sacrebleu does, lower-cased"
SELF_BLEUS = (CASES[0], _SMOOTHED_COLUMN)
_SELF_BLEU = "self_bleu(n=4, over='references', smoothing='epsilon', tokenizer='whitespace', lowercase={lower})"
_SMOOTHED = "self_bleu(n=4, over='references')"
_QUALITY = "aptness"


def diversity_figures(items: Mapping[str, Item], sets: Mapping[str, References]) -> Iterator[Figure]:
    """The mean self-BLEU of references sampled from each set; items with too few are left out."""
    typed = {case: _SELF_BLEU.format(lower=bool(n)) for n, case in enumerate(CASES)}
    typed[_SMOOTHED_COLUMN] = _SMOOTHED
    columns = {column: str(parse(spec)) for column, spec in typed.items()}
    for row, references in sets.items():
        samples = Collection()
        for name, item in items.items():
            if len(references[name]) >= DRAWN:
                for draw in range(DRAWS):
                    few = tuple(random.Random(f"{draw} {name}").sample(references[name], DRAWN))
                    one = replace(item, id=f"{name} {draw}", references=few)
                    samples.add(one)
                    samples.add(Response(one.id, one.id, row, "."))
        if samples.items:
            scores = score(samples, list(columns.values()))
            clusters = [name.rpartition(" ")[0] for name in scores.items]
            for column, spec in columns.items():
                at = mean_interval(scores[spec], clusters)
                published = _PUBLISHED["Appendix A.3"].get(row) if column == CASES[0] else None
                yield Figure(DIVERSITY, row, column, published, at.value, at.low, at.high, at.n_clusters, spec)


def quality_figures(items: Mapping[str, Item], sets: Mapping[str, References]) -> Iterator[Figure]:
    """The mean aptness of a sample of each set, scored like replies, and how many of them are not apt."""
    for row, references in sets.items():
        every = [(name, one) for name in items for one in references[name]]
        if not every:
            continue
        replies = [every[number] for number in sorted(stable_shuffle(range(len(every)), row)[:JUDGED])]
        judged = Collection(items=dict(items))
        for number, (name, one) in enumerate(replies):
            judged.add(Response(str(number), name, row, one.text))
        values = np.asarray(score(judged, _QUALITY)[_QUALITY])
        clusters = [name for name, _ in replies]
        at = mean_interval(values, clusters)
        yield Figure(QUALITY, row, "aptness", _PUBLISHED["Appendix A.2"].get(row), at.value, at.low, at.high, at.n)
        unapt = mean_interval(np.where(np.isnan(values), np.nan, values < APT), clusters)
        known = _PUBLISHED["Section 3"].get(row)
        yield Figure(UNAPT, row, f"aptness below {APT:g}", known, unapt.value, unapt.low, unapt.high, unapt.n)
