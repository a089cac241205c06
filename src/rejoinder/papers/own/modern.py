"""Replies by language models: does a metric prefer the reply that people prefer, and which system does it put first?

Every reference-free metric here, and the embedded judge, on PandaLM's pairs (Wang et al. 2024, three annotators each)
and LLMBar's natural ones (Zeng et al. 2024). These rows are an examination: nothing may be chosen by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rejoinder.judges.factory import EMBEDDED, Judge, open_judge
from rejoinder.judges.pairs import Duel as Asked
from rejoinder.judges.pairs import order_consistency
from rejoinder.metric import parse, signature
from rejoinder.papers.base import Figure, Reproduction
from rejoinder.papers.own.modern_measures import (
    ACCURACY,
    PAIRWISE,
    PEOPLE,
    POSITION,
    RANKING,
    SAMPLE,
    TIES,
    Measured,
    Preferred,
    by_scores,
    decided,
    mean_of,
    people,
    rank_agreement,
    rank_by,
    rank_by_people,
    strengths,
    three_ways,
)
from rejoinder.papers.own.modern_notes import notes_on
from rejoinder.papers.own.modern_rows import SETS, Rows, Set, read_rows
from rejoinder.papers.own.relevance import usable
from rejoinder.stats.arrays import NAN, Floats
from rejoinder.stats.bootstrap import Plan

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
# These read every reply with a language model: they see a sample.
SLOW = ("norm_prob", "fed", "judge")
SEED = 6
DEFAULT_PLAN = Plan()


def reproduce(metrics: Sequence[str] | None = None) -> Reproduction:
    """Hold every metric against the people's preferences; ``metrics`` are specs to take on all pairs instead."""
    fast, absent = usable(SPECS if metrics is None else metrics)
    slow, missing = usable(SLOW) if metrics is None else ([], [])
    judge = open_judge(EMBEDDED) if str(parse("judge")) in slow else None
    measured = [measure(one, read_rows(one), fast, slow, judge) for one in SETS]
    return assemble(measured, [*absent, *missing])


def measure(one: Set, rows: Rows, fast: Sequence[str], slow: Sequence[str], judge: Judge | None) -> Measured:
    """Score one set's replies under every spec, and have the judge compare the sample in both orders."""
    found = [by_scores(metric, rows, signature(metric)) for metric in map(parse, fast)]
    drawn = rows.drawn(one.sample, SEED)
    sample = rows.only(drawn)
    on_sample = [replace(one, advantages=one.advantages[drawn]) for one in found]
    on_sample += [by_scores(metric, sample, signature(metric)) for metric in map(parse, slow)]
    if judge is None:
        return Measured(rows, found, sample, on_sample)
    asked = [i for i, duel in enumerate(sample.duels) if duel.first.text.strip() and duel.second.text.strip()]
    duels = [sample.duels[i] for i in asked]
    compared = judge.compare([Asked(d.item.context, d.first.text, d.second.text) for d in duels])
    advantages = np.full(len(sample.duels), NAN)
    advantages[asked] = [comparison.advantage for comparison in compared]
    on_sample.append(Preferred(PAIRWISE, advantages, "the mean log-odds of both orders"))
    return Measured(rows, found, sample, on_sample, order_consistency(compared))


def assemble(measured: Sequence[Measured], absent: Sequence[str] = (), plan: Plan = DEFAULT_PLAN) -> Reproduction:
    """The figures and notes of sets that have been measured."""
    figures: list[Figure] = []
    for one in measured:
        figures += _accuracy(ACCURACY, one.rows, one.found, plan)
        right, items = people(one.rows)
        if right:
            at = mean_of(np.array(right), items, plan)
            figures.append(Figure(ACCURACY, PEOPLE, one.rows.name, None, at.value, at.low, at.high, at.n))
    for one in measured:
        if any(duel.majority == "tie" for duel in one.rows.duels):
            figures += [_figure(TIES, f.row, one.rows, three_ways(f, one.rows), plan, f.note) for f in one.found]
    for one in measured:
        figures += _accuracy(SAMPLE, one.sample, one.on_sample, plan)
    for one in measured:
        figures += _position(one)
        figures += _ranking(one)
    notes = [*notes_on(measured, figures, plan), *absent]
    return Reproduction("modern", "Replies by language models", figures, notes)


def _accuracy(table: str, rows: Rows, found: Sequence[Preferred], plan: Plan) -> list[Figure]:
    return [_figure(table, one.row, rows, decided(one, rows), plan, one.note) for one in found]


def _figure(table: str, row: str, rows: Rows, values: Floats, plan: Plan, note: str = "") -> Figure:
    at = mean_of(values, [duel.item.id for duel in rows.duels], plan)
    return Figure(table, row, rows.name, None, at.value, at.low, at.high, at.n, note)


def _position(one: Measured) -> list[Figure]:
    if one.orders is None:
        return []
    name, orders = one.rows.name, one.orders
    return [
        Figure(POSITION, PAIRWISE, f"{name}: same choice in both orders", None, orders.same, n=orders.n),
        Figure(POSITION, PAIRWISE, f"{name}: took the reply shown first", None, orders.first_position, n=2 * orders.n),
    ]


def _ranking(one: Measured) -> list[Figure]:
    if not one.rows.has_systems:
        return []
    ranked = rank_by_people(one.rows)
    wanted = strengths(ranked)
    figures = [Figure(RANKING, "annotators", s.system, None, s.value, s.low, s.high, s.n) for s in ranked.strengths]
    whole = [(f, one.rows) for f in one.found]
    whole += [(f, one.sample) for f in one.on_sample[len(one.found) :]]
    for found, rows in whole:
        ranking = rank_by(found, rows)
        mine = strengths(ranking)
        note = ranking.reason or found.note
        figures += [Figure(RANKING, found.row, s, None, mine.get(s, NAN), n=ranking.n, note=note) for s in wanted]
        rho, tau, n = rank_agreement(mine, wanted)
        figures.append(Figure(RANKING, found.row, f"Spearman over {n} systems", None, rho, n=n))
        figures.append(Figure(RANKING, found.row, f"Kendall over {n} systems", None, tau, n=n))
    return figures
