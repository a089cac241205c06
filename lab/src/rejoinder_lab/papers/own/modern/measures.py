"""Pairs of replies by language models, and which of the two people preferred."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rejoinder.data.datasets import read_dataset
from rejoinder.judges.pairs import OrderConsistency
from rejoinder.metric import NAN, Metric, parse
from rejoinder.scoring.api import score_pairs
from rejoinder.seeded import stable_hash
from rejoinder.stats.arrays import Floats
from rejoinder.stats.bootstrap import BootstrapPlan
from rejoinder.stats.bradley_terry import POINTS, StrengthRanking, rank_systems
from rejoinder.stats.correlation import kendall, spearman
from rejoinder.stats.interval import Interval
from rejoinder.stats.resampling import ResamplingDesign
from rejoinder.types import Choice, Item, Pair, Preference, Record, Response


@dataclass(frozen=True)
class RatedDuel:
    """Two replies to one item and each person's choice between them."""

    item: Item
    first: Response
    second: Response
    choices: tuple[Choice, ...]

    @property
    def majority(self) -> Choice | None:
        """The choice of more than half of the people, or None."""
        choice, votes = Counter(self.choices).most_common(1)[0]
        return choice if 2 * votes > len(self.choices) else None


@dataclass(frozen=True)
class DuelSet:
    """The duels of one set; ``has_systems`` says whether its systems mean anything."""

    name: str
    duels: tuple[RatedDuel, ...]
    has_systems: bool

    def drawn(self, n: int, seed: int) -> list[int]:
        """Return the positions of a random sample of duels."""
        return sorted(random.Random(seed).sample(range(len(self.duels)), min(n, len(self.duels))))

    def only(self, places: Sequence[int]) -> DuelSet:
        """The duels at these places."""
        return replace(self, duels=tuple(self.duels[i] for i in places))

    def pairs(self) -> list[Pair]:
        """Return every reply once, even if it is in several duels."""
        by_response = {r.id: Pair(d.item, r) for d in self.duels for r in (d.first, d.second)}
        return list(by_response.values())


@dataclass(frozen=True)
class PublishedSet:
    """A published set, its name in the tables, and how many of its duels the slow metrics see."""

    dataset: str
    name: str
    has_systems: bool
    sample: int


SETS = (PublishedSet("pandalm", "PandaLM", True, 70), PublishedSet("llmbar/natural", "LLMBar", False, 30))


def read_duels(one: PublishedSet) -> DuelSet:
    """The duels of a published set."""
    return collect_duels(one.name, read_dataset(one.dataset), one.has_systems)


def collect_duels(name: str, records: Iterable[Record], has_systems: bool) -> DuelSet:
    """The duels among records: the preferences of all people about the same two replies make one."""
    items: dict[str, Item] = {}
    responses: dict[str, Response] = {}
    choices: dict[tuple[str, str, str], list[Choice]] = {}
    for record in records:
        match record:
            case Item():
                items[record.id] = record
            case Response():
                responses[record.id] = record
            case Preference():
                choices.setdefault((record.item, record.first, record.second), []).append(record.choice)
    duels = (
        RatedDuel(items[item], responses[first], responses[second], tuple(votes))
        for (item, first, second), votes in choices.items()
    )
    return DuelSet(name, tuple(duels), has_systems)


ACCURACY, SAMPLE, TIES = (
    "Accuracy where people decided",
    "Accuracy where people decided, on a sample",
    "Accuracy with ties",
)
POSITION, RANKING = "Position", "Bradley-Terry strengths on PandaLM"
PAIRWISE = "judge, both replies at once"
PEOPLE = "one annotator vs. the others"
WITHOUT_LENGTH = ", length taken out"  # after a metric
FOLDS = 5  # of items, for the regression on length


@dataclass(frozen=True)
class MetricPreferences:
    """A row's preference in every duel: above 0 for the first reply, below 0 for the second, NaN for no score."""

    row: str
    advantages: Floats
    note: str = ""


@dataclass(frozen=True)
class SetPreferences:
    """The preferences of every row in one set: on all duels, and on a sample for the slow rows."""

    rows: DuelSet
    preferences: Sequence[MetricPreferences]
    sample: DuelSet
    on_sample: Sequence[MetricPreferences]
    orders: OrderConsistency | None = None


def prefer_by_scores(
    metric: Metric, rows: DuelSet, note: str, scores: Floats | Sequence[float] | None = None
) -> MetricPreferences:
    """Return the differences of the two replies' scores; without a direction, higher counts as better.

    ``scores`` are those of the pairs where they are known; they are computed otherwise.
    """
    sign = -1.0 if metric.higher_is_better is False else 1.0
    known = np.array(score_pairs(metric, rows.pairs()) if scores is None else scores, float)
    return MetricPreferences(str(metric), sign * _subtract_scores(known, rows), note)


def prefer_without_length(
    metric: Metric, rows: DuelSet, note: str, scores: Floats | Sequence[float] | None = None
) -> MetricPreferences:
    """Return the differences of what the length of the replies does not explain of their scores, higher as better."""
    pairs = rows.pairs()
    known = np.array(score_pairs(metric, pairs) if scores is None else scores, float)
    lengths = np.log1p(np.array(score_pairs(parse("length"), pairs), float))
    folds = np.array([stable_hash("length", pair.item.id) % FOLDS for pair in pairs])
    residuals = regress_out(known, lengths, folds)
    return MetricPreferences(f"{metric}{WITHOUT_LENGTH}", _subtract_scores(residuals, rows), note)


def _subtract_scores(scores: Floats, rows: DuelSet) -> Floats:
    """The score of the first reply of each duel minus that of the second; scores are in the order of the pairs."""
    by_response = {pair.response.id: value for pair, value in zip(rows.pairs(), scores.tolist(), strict=True)}
    return np.array([by_response[duel.first.id] - by_response[duel.second.id] for duel in rows.duels], float)


def regress_out(values: Floats, feature: Floats, folds: Floats) -> Floats:
    """Return values minus a straight line in a feature; the line of each fold is fitted to the other folds.

    Where the other folds do not decide a line (one value of the feature at most), nothing but their mean is subtracted.
    """
    known = ~np.isnan(values + feature)
    residuals = np.full(len(values), NAN)
    for fold in np.unique(folds):
        others, own = known & (folds != fold), known & (folds == fold)
        if not others.any():
            continue
        degree = 1 if len(np.unique(feature[others])) > 1 else 0
        line = np.polynomial.Polynomial.fit(feature[others], values[others], degree)
        residuals[own] = values[own] - line(feature[own])
    return residuals


def score_decided(preferences: MetricPreferences, rows: DuelSet) -> Floats:
    """Return, for duels that people decided, 1 if the metric prefers the same reply and .5 if it prefers neither."""
    wanted = np.array([{"first": 1.0, "second": -1.0}.get(duel.majority or "", NAN) for duel in rows.duels])
    right: Floats = (np.sign(preferences.advantages) * wanted + 1) / 2
    return right


def score_with_ties(preferences: MetricPreferences, rows: DuelSet) -> Floats:
    """Return 1 if the metric agrees with people, ties included; a metric's tie is a difference of 0."""
    points = np.array([NAN if d.majority is None else 2 * POINTS[d.majority] - 1 for d in rows.duels])
    known = ~np.isnan(preferences.advantages + points)
    return np.where(known, np.sign(preferences.advantages) == points, NAN)


def compare_annotators(rows: DuelSet) -> tuple[list[float], list[str]]:
    """Return whether each person prefers what two or more others agree on (a tie is half right), and the items."""
    right, items = [], []
    for duel in rows.duels:
        for i, choice in enumerate(duel.choices):
            others = duel.choices[:i] + duel.choices[i + 1 :]
            if len(others) > 1 and len(set(others)) == 1 and others[0] != "tie":
                right.append(0.5 if choice == "tie" else float(choice == others[0]))
                items.append(duel.item.id)
    return right, items


def duel_mean_interval(values: Floats, items: Sequence[str], plan: BootstrapPlan) -> Interval:
    """Return the mean with its bootstrap interval; items are resampled with all their duels."""
    known = np.flatnonzero(~np.isnan(values))
    if not len(known):
        return Interval(NAN, NAN, NAN, 0, len(values), 0, "no values")
    design = ResamplingDesign.of(len(known), None, [items[i] for i in known.tolist()])
    counts = np.concatenate([d.rows for d in design.draws("items", plan.n_resamples, plan.seed)])
    with np.errstate(invalid="ignore"):
        samples = counts @ values[known] / counts.sum(axis=1)
    value = float(values[known].mean())
    return plan.interval(value, samples, len(known), len(values) - len(known), design.n_units("items"))


def rank_by_metric(preferences: MetricPreferences, rows: DuelSet) -> StrengthRanking:
    """Bradley-Terry strengths of the systems from the metric's preferences."""
    points = (np.sign(preferences.advantages) + 1) / 2
    duels = rows.duels
    names = [d.first.system for d in duels], [d.second.system for d in duels]
    return rank_systems(*names, points, [d.item.id for d in duels])


def rank_by_people(rows: DuelSet) -> StrengthRanking:
    """Bradley-Terry strengths of the systems from every person's choices."""
    votes = [(d, choice) for d in rows.duels for choice in d.choices]
    first, second = [d.first.system for d, _ in votes], [d.second.system for d, _ in votes]
    return rank_systems(first, second, [POINTS[c] for _, c in votes], [d.item.id for d, _ in votes])


def strength_by_system(ranking: StrengthRanking) -> dict[str, float]:
    """The strength of each system."""
    return {str(one.system): one.value for one in ranking.strengths}


def rank_agreement(strengths: Mapping[str, float], expected: Mapping[str, float]) -> tuple[float, float, int]:
    """Spearman's and Kendall's correlation of two rankings, and the number of systems."""
    names: Sequence[str] = [name for name in expected if name in strengths]
    columns = [strengths[name] for name in names], [expected[name] for name in names]
    return spearman(*columns).value, kendall(*columns).value, len(names)
