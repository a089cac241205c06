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
from rejoinder.judges.pairs import order_consistency
from rejoinder.metric import parse, signature
from rejoinder.scoring.api import score_pairs
from rejoinder.stats.arrays import NAN, Floats
from rejoinder.stats.bootstrap import BootstrapPlan
from rejoinder_lab.papers.base import Figure, Reproduction
from rejoinder_lab.papers.own.modern.endpoint_judge import (
    JudgedSet,
    list_endpoint_figures,
    list_endpoint_notes,
    list_small_requests,
    measure_endpoint_judge,
    read_small_verdicts,
)
from rejoinder_lab.papers.own.modern.measures import (
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
from rejoinder_lab.papers.own.modern.notes import list_modern_notes
from rejoinder_lab.papers.own.modern.stored import (
    SLOW,
    StoredScores,
    compare_by_stored,
    draw_places,
    list_choices,
    list_unknown,
    prefer_by_stored,
    read_stored_scores,
)
from rejoinder_lab.papers.own.relevance.relevance import split_usable

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
DEFAULT_PLAN, NONE_STORED = BootstrapPlan(), StoredScores()


def reproduce(metrics: Sequence[str] | None = None, answers: Path | None = None) -> Reproduction:
    """Compare every metric with people's preferences; ``metrics`` are specs to use on all pairs instead.

    ``answers`` is a file with the answers of the judge at an endpoint, or with the verdicts read from them.
    """
    verdicts = None if answers is None else read_small_verdicts(answers)
    endpoint = None if metrics is not None else measure_endpoint_judge(verdicts=verdicts)  # first: it can be continued
    fast, absent = split_usable(SPECS if metrics is None else metrics)
    stored, sets = read_stored_scores(), [(one, read_duels(one)) for one in SETS]
    slow, missing = _split_slow(sets, stored) if metrics is None else ([], [])
    measured = [measure_preferences(one, rows, fast, slow, stored) for one, rows in sets]
    found = assemble_modern(measured, [*absent, *missing], endpoint=endpoint)
    return found if verdicts is None else replace(found, files={"verdicts.json": verdicts.to_json()})


def _split_slow(sets: Sequence[tuple[PublishedSet, DuelSet]], stored: StoredScores) -> tuple[list[str], list[str]]:
    """The slow specs whose scores are stored or can be computed here, and a sentence on each other one."""
    unknown = list_unknown([rows.only(draw_places(one, rows)) for one, rows in sets], stored)
    able, absent = split_usable(unknown)
    return [spec for spec in SLOW if spec not in unknown or spec in able], absent


def list_requests() -> Iterator[bytes]:
    """The requests to the judge at an endpoint, for a server elsewhere, one line each."""
    return list_small_requests().lines()


def measure_preferences(
    published: PublishedSet,
    rows: DuelSet,
    fast: Sequence[str],
    slow: Sequence[str],
    stored: StoredScores = NONE_STORED,
    judge: Judge | None = None,
) -> SetPreferences:
    """Score one set's replies with every spec, and have the judge compare the sample in both orders.

    ``stored`` are the scores of slow specs that are known; the judge is the embedded one where the specs have it.
    """
    preferences = []
    for metric in map(parse, fast):
        scores = score_pairs(metric, rows.pairs())
        preferences.append(prefer_by_scores(metric, rows, signature(metric), scores))
        if str(metric) == "aptness":
            note = f"residuals of {signature(metric)}"
            preferences.append(prefer_without_length(metric, rows, note, scores))
    places = draw_places(published, rows)
    sample = rows.only(places)
    on_sample = [replace(published, advantages=published.advantages[places]) for published in preferences]
    on_sample += [prefer_by_stored(spec, sample, stored) for spec in slow]
    judge = open_judge(EMBEDDED) if judge is None and "judge" in slow else judge
    if judge is None:
        return SetPreferences(rows, preferences, sample, on_sample)
    indexes, asked = list_choices(sample)
    compared = compare_by_stored(judge, asked, stored)
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
