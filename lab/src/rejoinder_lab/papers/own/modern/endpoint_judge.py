"""A small language model at an endpoint as the judge: single ratings, pairs in both orders, and few labels with it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rejoinder.judges.endpoint import RatingRequest, RemoteJudge
from rejoinder.judges.pairs import OrderConsistency, PairComparison, ResponsePair, order_consistency
from rejoinder.judges.provider import URL
from rejoinder.judges.request_file import AskedRequests, Verdicts, read_verdicts
from rejoinder.judges.rubric import load_rubric
from rejoinder.metric import parse
from rejoinder.seeded import stable_shuffle
from rejoinder.stats.arrays import NAN, Floats
from rejoinder.stats.bootstrap import BootstrapPlan
from rejoinder.stats.bradley_terry import POINTS
from rejoinder.stats.prediction_powered import powered_mean
from rejoinder_lab.papers.base import Figure
from rejoinder_lab.papers.loader import load_notes
from rejoinder_lab.papers.own.modern.measures import (
    POSITION,
    SETS,
    DuelSet,
    MetricPreferences,
    RatedDuel,
    SetPreferences,
    duel_mean_interval,
    prefer_by_scores,
    read_duels,
    score_decided,
)
from rejoinder_lab.papers.own.modern.notes import compare_with_length, describe_chance

MODEL = "qwen2.5-coder-1.5b"  # its name in the catalog of models; the server must know it, or accept any name
ACCURACY = "Accuracy where people decided, by a model of 1.5 billion parameters at an endpoint"
WIN_RATE = "Win rate of one system, from few labels and the judge's pairs"
SINGLE, EXPECTED = f"{MODEL}, single ratings", f"{MODEL}, single ratings, expected score"
PAIRWISE = f"{MODEL}, both replies at once"
ROWS = (SINGLE, EXPECTED, PAIRWISE)
PAIRS, LABELS, SEED = 200, 100, 16
NAMES = ("LLMBar", "PandaLM")
STORED = Path(__file__).parent / "verdicts.json"  # of a server elsewhere, where somebody has answered the requests
_KIND = " (the sample of the judge at an endpoint)"
_NOTES = load_notes("own/modern")


@dataclass(frozen=True)
class JudgedSet:
    """The sample of one set as the judge sees it; ``expected`` by the expected scores under the log-probabilities."""

    sample: DuelSet
    ratings: MetricPreferences
    expected: MetricPreferences
    comparisons: MetricPreferences
    orders: OrderConsistency

    @property
    def preferences(self) -> list[MetricPreferences]:
        """The rows of the judge."""
        return [self.ratings, self.expected, self.comparisons]


def open_small_judge() -> RemoteJudge:
    """The judge: short answers as plain text, which every server can give, and log-probabilities, where it has them."""
    return RemoteJudge(MODEL, load_rubric("default"), max_tokens=80, format="text", logprobs=True)


def measure_endpoint_judge(names: Sequence[str] = NAMES, verdicts: Verdicts | None = None) -> list[JudgedSet] | str:
    """Have the judge rate and compare the samples of all sets, or say why not; stored answers are used.

    Verdicts that were read from a file are used instead, and those of the package where it has some.
    """
    samples, judge = _draw_samples(names), open_small_judge()
    if verdicts is None and STORED.is_file():
        verdicts = read_small_verdicts(STORED)
    if verdicts is not None:
        return [judge_set(verdicts, sample) for sample in samples]
    if not os.environ.get(URL):
        missing = sum(_count_unanswered(judge, sample) for sample in samples)
        if missing:
            return _NOTES.text("not-measured", model=MODEL, missing=missing, url=URL)
    return [judge_set(judge, sample) for sample in samples]


def list_small_requests() -> AskedRequests:
    """Everything that the judge is asked about the samples of all sets."""
    duels = [sample.duels[i] for sample in _draw_samples(NAMES) for i in _find_spoken(sample)]
    return AskedRequests(open_small_judge(), list(_list_ratings(duels).values()), _list_pairs(duels))


def read_small_verdicts(path: Path) -> Verdicts:
    """The judge's verdicts on the samples of all sets, from a file of its answers or of verdicts."""
    return read_verdicts(path, list_small_requests())


def _draw_samples(names: Sequence[str]) -> list[DuelSet]:
    published = {one.name: one for one in SETS}
    sets = [read_duels(published[name]) for name in names]
    return [rows.only(rows.drawn(PAIRS, SEED)) for rows in sets]


def judge_set(judge: RemoteJudge | Verdicts, sample: DuelSet) -> JudgedSet:
    """Rate every reply of a sample by itself, then compare every pair in both orders."""
    places = _find_spoken(sample)
    duels = [sample.duels[i] for i in places]
    ratings = _list_ratings(duels)
    written, expected = (_subtract_ratings(judge, ratings, duels, as_written) for as_written in (True, False))
    compared: list[PairComparison] = judge.compare(_list_pairs(duels))

    def spread(row: str, values: Sequence[float]) -> MetricPreferences:
        advantages = np.full(len(sample.duels), NAN)
        advantages[places] = values
        return MetricPreferences(row, advantages)

    chosen = spread(PAIRWISE, [one.advantage for one in compared])
    return JudgedSet(sample, spread(SINGLE, written), spread(EXPECTED, expected), chosen, order_consistency(compared))


def _subtract_ratings(
    judge: RemoteJudge | Verdicts, ratings: Mapping[str, RatingRequest], duels: Sequence[RatedDuel], as_written: bool
) -> list[float]:
    """The rating of the first reply of each duel minus that of the second."""
    rated = judge.rate(list(ratings.values()), as_written)
    scores = {name: NAN if one[0] is None else float(one[0]) for name, one in zip(ratings, rated, strict=True)}
    return [scores[duel.first.id] - scores[duel.second.id] for duel in duels]


def list_endpoint_figures(judged: Sequence[JudgedSet] | str, plan: BootstrapPlan) -> list[Figure]:
    """The figures of the judge; without a measurement, rows without numbers that say so."""
    if isinstance(judged, str):
        return [Figure(ACCURACY, row, one.name, None, NAN, note=judged) for row in ROWS for one in SETS]
    figures = []
    for one in judged:
        length = prefer_by_scores(parse("length"), one.sample, "")
        for preferences in (*one.preferences, length):
            values = score_decided(preferences, one.sample)
            at = duel_mean_interval(values, [duel.item.id for duel in one.sample.duels], plan)
            row, name = preferences.row, one.sample.name
            figures.append(Figure(ACCURACY, row, name, None, at.value, at.low, at.high, at.n))
    for one in judged:
        name, orders = one.sample.name, one.orders
        first = f"{name}: took the reply shown first"
        figures += [
            Figure(POSITION, PAIRWISE, f"{name}: same choice in both orders", None, orders.same, n=orders.n),
            Figure(POSITION, PAIRWISE, first, None, orders.first_position, n=2 * orders.n),
        ]
    for one in judged:
        figures += _win_rate_figures(one) if one.sample.has_systems else []
    return figures


def list_endpoint_notes(judged: Sequence[JudgedSet] | str, figures: Sequence[Figure] = ()) -> list[str]:
    """How the figures were measured and what they show, or why they were not measured."""
    if isinstance(judged, str):
        return [judged]
    sizes = " and ".join(f"{len(one.sample.duels)} {one.sample.name} pairs" for one in judged)
    unread = sum(int(np.isnan(one.comparisons.advantages[_find_spoken(one.sample)]).sum()) for one in judged)
    notes = [_NOTES.text("endpoint", model=MODEL, sizes=sizes, unread=unread, labels=LABELS)]
    for one in judged:
        known = one.ratings.advantages[~np.isnan(one.ratings.advantages)]
        equal, name = float(np.mean(known == 0)) if len(known) else NAN, one.sample.name
        orders = {"same": one.orders.same, "first": one.orders.first_position, "pairs": one.orders.n}
        notes.append(_NOTES.text("endpoint set", model=MODEL, name=name, equal=equal, n=len(known), **orders))
        rows = replace(one.sample, name=f"{name}{_KIND}")
        length = prefer_by_scores(parse("length"), rows, "")
        notes.append(compare_with_length(SetPreferences(rows, [length, *one.preferences], rows, [])))
    return [*notes, *describe_chance(figures, ACCURACY, _KIND)]


def _win_rate_figures(one: JudgedSet) -> list[Figure]:
    """The win rate of the system with most pairs: by some labels, by the judge, by both, and by all labels."""
    system = Counter(r.system for d in one.sample.duels for r in (d.first, d.second)).most_common(1)[0][0]
    places = [
        i
        for i, d in enumerate(one.sample.duels)
        if system in (d.first.system, d.second.system) and d.majority is not None
    ]
    duels = [one.sample.duels[i] for i in places]
    points = np.array([_points_of(duel, system) for duel in duels])
    judged = np.array(
        [
            (np.sign(one.comparisons.advantages[i]) * (1 if duel.first.system == system else -1) + 1) / 2
            for i, duel in zip(places, duels, strict=True)
        ]
    )
    labels: Floats = np.full(len(duels), NAN)
    labelled = set(stable_shuffle(range(len(one.sample.duels)), SEED)[:LABELS])
    drawn = [k for k, place in enumerate(places) if place in labelled]
    labels[drawn] = points[drawn]
    mean = powered_mean(labels, judged, conversations=[duel.item.id for duel in duels], scale=(0.0, 1.0))
    column = f"{system} ({len(duels)} pairs, {len(drawn)} of them labelled)"
    by_judge = float(np.nanmean(judged)) if not np.isnan(judged).all() else NAN
    return [
        Figure(WIN_RATE, "labels alone", column, None, *mean.alone[:3], mean.alone.n),
        Figure(WIN_RATE, "judge alone", column, None, by_judge, n=len(duels)),
        Figure(WIN_RATE, "labels and judge", column, None, *mean.both[:3], round(mean.effective_n)),
        Figure(WIN_RATE, "all labels", column, None, float(points.mean()), n=len(duels)),
    ]


def _points_of(duel: RatedDuel, system: str) -> float:
    """The share of a win that people give a system: 1, or .5 for a tie."""
    points = POINTS[duel.majority or "tie"]
    return points if duel.first.system == system else 1 - points


def _find_spoken(sample: DuelSet) -> list[int]:
    return [i for i, duel in enumerate(sample.duels) if duel.first.text.strip() and duel.second.text.strip()]


def _list_ratings(duels: Sequence[RatedDuel]) -> dict[str, RatingRequest]:
    return {r.id: RatingRequest(duel.item.context, r.text) for duel in duels for r in (duel.first, duel.second)}


def _list_pairs(duels: Sequence[RatedDuel]) -> list[ResponsePair]:
    return [ResponsePair(duel.item.context, duel.first.text, duel.second.text) for duel in duels]


def _count_unanswered(judge: RemoteJudge, sample: DuelSet) -> int:
    duels = [sample.duels[i] for i in _find_spoken(sample)]
    previews = [*judge.preview(list(_list_ratings(duels).values())), *judge.preview_pairs(_list_pairs(duels))]
    return sum(not preview.is_answered for preview in previews)
