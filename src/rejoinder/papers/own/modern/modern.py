"""Replies by language models: does a metric prefer the reply that people prefer, and how does it rank the systems?

Every reference-free metric here, and the embedded judge, on PandaLM's pairs (Wang et al. 2024, three annotators each)
and LLMBar's natural ones (Zeng et al. 2024). These rows are for the final measurement only: nothing may be chosen by
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from rejoinder.judges.factory import EMBEDDED, Judge, open_judge
from rejoinder.judges.pairs import ResponsePair as Asked
from rejoinder.judges.pairs import order_consistency
from rejoinder.metric import parse, signature
from rejoinder.papers.base import Figure, Reproduction
from rejoinder.papers.own.modern.endpoint_judge import (
    JudgedSet,
    list_endpoint_figures,
    list_endpoint_notes,
    list_small_requests,
    measure_endpoint_judge,
    read_small_verdicts,
)
from rejoinder.papers.own.modern.measures import (
    ACCURACY,
    PAIRWISE,
    PEOPLE,
    POSITION,
    RANKING,
    SAMPLE,
    SETS,
    TIES,
    DuelSet,
    MetricPreferences,
    PublishedSet,
    SetPreferences,
    compare_annotators,
    duel_mean_interval,
    prefer_by_scores,
    prefer_without_length,
    rank_agreement,
    rank_by_metric,
    rank_by_people,
    read_duels,
    score_decided,
    score_with_ties,
    strength_by_system,
)
from rejoinder.papers.own.modern.notes import list_modern_notes
from rejoinder.papers.own.relevance.relevance import split_usable
from rejoinder.stats.arrays import NAN, Floats
from rejoinder.stats.bootstrap import BootstrapPlan

SUMMARY = "reference-free metrics and the embedded judge on pairs of language models' replies (PandaLM, LLMBar)"
SPECS = (
    "length",
    "context_overlap",
    "aptness",
    "aptness(model='bi')",
    "aptness(model='cross')",
    "idk",
    "nsp",
    "nup",
    "cosine",
    "cosine(encoder='glove-6b-50d')",
    "cosine(encoder='minilm')",
    "grade",
    "dynaeval",
)
# These read every reply with a language model, so they are measured on a sample.
SLOW = ("norm_prob", "fed", "judge")
SEED = 6
DEFAULT_PLAN = BootstrapPlan()


def reproduce(metrics: Sequence[str] | None = None, answers: Path | None = None) -> Reproduction:
    """Compare every metric with people's preferences; ``metrics`` are specs to use on all pairs instead.

    ``answers`` is a file with the answers of the judge at an endpoint, or with the verdicts read from them.
    """
    verdicts = None if answers is None else read_small_verdicts(answers)
    endpoint = None if metrics is not None else measure_endpoint_judge(verdicts=verdicts)  # first: it can be continued
    fast, absent = split_usable(SPECS if metrics is None else metrics)
    slow, missing = split_usable(SLOW) if metrics is None else ([], [])
    judge = open_judge(EMBEDDED) if str(parse("judge")) in slow else None
    measured = [measure_preferences(one, read_duels(one), fast, slow, judge) for one in SETS]
    found = assemble_modern(measured, [*absent, *missing], endpoint=endpoint)
    return found if verdicts is None else replace(found, files={"verdicts.json": verdicts.to_json()})


def list_requests() -> Iterator[bytes]:
    """The requests to the judge at an endpoint, for a server elsewhere, one line each."""
    return list_small_requests().lines()


def measure_preferences(
    published: PublishedSet, rows: DuelSet, fast: Sequence[str], slow: Sequence[str], judge: Judge | None
) -> SetPreferences:
    """Score one set's replies with every spec, and have the judge compare the sample in both orders."""
    preferences = []
    for metric in map(parse, fast):
        preferences.append(prefer_by_scores(metric, rows, signature(metric)))
        if str(metric) == "aptness":
            preferences.append(prefer_without_length(metric, rows, f"residuals of {signature(metric)}"))
    places = rows.drawn(published.sample, SEED)
    sample = rows.only(places)
    on_sample = [replace(published, advantages=published.advantages[places]) for published in preferences]
    on_sample += [prefer_by_scores(metric, sample, signature(metric)) for metric in map(parse, slow)]
    if judge is None:
        return SetPreferences(rows, preferences, sample, on_sample)
    indexes = [i for i, duel in enumerate(sample.duels) if duel.first.text.strip() and duel.second.text.strip()]
    duels = [sample.duels[i] for i in indexes]
    compared = judge.compare([Asked(d.item.context, d.first.text, d.second.text) for d in duels])
    advantages = np.full(len(sample.duels), NAN)
    advantages[indexes] = [comparison.advantage for comparison in compared]
    on_sample.append(MetricPreferences(PAIRWISE, advantages, "the mean log-odds of both orders"))
    return SetPreferences(rows, preferences, sample, on_sample, order_consistency(compared))


def assemble_modern(
    measured: Sequence[SetPreferences],
    absent: Sequence[str] = (),
    plan: BootstrapPlan = DEFAULT_PLAN,
    endpoint: Sequence[JudgedSet] | str | None = None,
) -> Reproduction:
    """The figures and notes of sets that have been measured; ``endpoint`` is a judge's, or why it has none."""
    figures: list[Figure] = []
    for one in measured:
        figures += _accuracy_figures(ACCURACY, one.rows, one.preferences, plan)
        right, items = compare_annotators(one.rows)
        if right:
            at = duel_mean_interval(np.array(right), items, plan)
            figures.append(Figure(ACCURACY, PEOPLE, one.rows.name, None, at.value, at.low, at.high, at.n))
    for one in measured:
        if any(duel.majority == "tie" for duel in one.rows.duels):
            figures += [
                _to_figure(TIES, f.row, one.rows, score_with_ties(f, one.rows), plan, f.note) for f in one.preferences
            ]
    for one in measured:
        figures += _accuracy_figures(SAMPLE, one.sample, one.on_sample, plan)
    for one in measured:
        figures += _position_figures(one)
        figures += _ranking_figures(one)
    notes = [*list_modern_notes(measured, figures, plan), *absent]
    if endpoint is not None:
        of_endpoint = list_endpoint_figures(endpoint, plan)
        notes += list_endpoint_notes(endpoint, of_endpoint)
        figures += of_endpoint
    return Reproduction("modern", "Replies by language models", figures, notes)


def _accuracy_figures(
    table: str, rows: DuelSet, preferences: Sequence[MetricPreferences], plan: BootstrapPlan
) -> list[Figure]:
    return [_to_figure(table, one.row, rows, score_decided(one, rows), plan, one.note) for one in preferences]


def _to_figure(table: str, row: str, rows: DuelSet, values: Floats, plan: BootstrapPlan, note: str = "") -> Figure:
    at = duel_mean_interval(values, [duel.item.id for duel in rows.duels], plan)
    return Figure(table, row, rows.name, None, at.value, at.low, at.high, at.n, note)


def _position_figures(one: SetPreferences) -> list[Figure]:
    if one.orders is None:
        return []
    name, orders = one.rows.name, one.orders
    return [
        Figure(POSITION, PAIRWISE, f"{name}: same choice in both orders", None, orders.same, n=orders.n),
        Figure(POSITION, PAIRWISE, f"{name}: took the reply shown first", None, orders.first_position, n=2 * orders.n),
    ]


def _ranking_figures(one: SetPreferences) -> list[Figure]:
    if not one.rows.has_systems:
        return []
    ranked = rank_by_people(one.rows)
    expected = strength_by_system(ranked)
    figures = [Figure(RANKING, "annotators", s.system, None, s.value, s.low, s.high, s.n) for s in ranked.strengths]
    whole = [(f, one.rows) for f in one.preferences]
    whole += [(f, one.sample) for f in one.on_sample[len(one.preferences) :]]
    for preferences, rows in whole:
        ranking = rank_by_metric(preferences, rows)
        strengths = strength_by_system(ranking)
        note = ranking.reason or preferences.note
        figures += [
            Figure(RANKING, preferences.row, s, None, strengths.get(s, NAN), n=ranking.n, note=note) for s in expected
        ]
        rho, tau, n = rank_agreement(strengths, expected)
        figures.append(Figure(RANKING, preferences.row, f"Spearman over {n} systems", None, rho, n=n))
        figures.append(Figure(RANKING, preferences.row, f"Kendall over {n} systems", None, tau, n=n))
    return figures
