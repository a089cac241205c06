"""The model pass: a metric scores every candidate in its context, which decides what counts as acceptable."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from rejoinder.errors import SpecError
from rejoinder.metric import Metric, SetMetric
from rejoinder.paths import cache_home
from rejoinder.scoring.cache import ScoreStore
from rejoinder.scoring.compute import ScoreColumn, compute_cached
from rejoinder.selection.acceptability import Acceptability
from rejoinder.text.similarity import count_repeated_words
from rejoinder.types import Candidate, Item, Pair, Question, Response

ACCEPTABILITY_KEY = "acceptable"  # the key of the probability in a candidate's meta
Progress: TypeAlias = Callable[[int, int], None]
_BATCH_SIZE = 32  # questions


def check_judge(metric: Metric) -> None:
    """Raise an error if a metric cannot judge a candidate by its context alone."""
    if isinstance(metric, SetMetric) or not metric.needs <= {"context"} or not metric.higher_is_better:
        raise SpecError(
            f"{metric} cannot judge whether a candidate is acceptable in its context; "
            "use a metric that needs only the context, such as aptness or judge"
        )


def score_candidates(
    questions: Sequence[Question], metric: Metric, progress: Progress | None = None
) -> list[list[float]]:
    """Return the score of each candidate of each question, NaN for none; scores are cached."""
    check_judge(metric)
    store, column = ScoreStore(cache_home() / "scores"), ScoreColumn("score", metric)
    scores: list[list[float]] = []
    for start in range(0, len(questions), _BATCH_SIZE):
        part = questions[start : start + _BATCH_SIZE]
        pairs = [pair for question in part for pair in _make_pairs(question)]
        values = iter(store.get(compute_cached(column, pairs, store, {}).address) or [None] * len(pairs))
        scores += [[_to_float(next(values)) for _ in question.candidates] for question in part]
        if progress is not None:
            progress(len(scores), len(questions))
    return scores


def _make_pairs(question: Question) -> list[Pair]:
    item = Item(question.id, question.context, situation=question.situation, dialogue=question.dialogue)
    return [
        Pair(item, Response(f"{question.id}/{n}", question.id, "candidate", one.text))
        for n, one in enumerate(question.candidates)
    ]


def _to_float(value: float | None) -> float:
    return math.nan if value is None else float(value)


def attach_acceptability(
    pools: Sequence[Question], metric: Metric, acceptability: Acceptability, progress: Progress | None = None
) -> list[Question]:
    """Return the pools with each candidate's probability of being acceptable in its meta, if it has a score."""
    scores = score_candidates(pools, metric, progress)

    def attach(pool: Question, candidate: Candidate, score: float) -> Candidate:
        if math.isnan(score):
            return candidate
        probability = acceptability.probability(score, count_repeated_words(pool.context, candidate.text))
        return dataclasses.replace(candidate, meta={**candidate.meta, ACCEPTABILITY_KEY: probability})

    return [
        dataclasses.replace(pool, candidates=tuple(map(partial(attach, pool), pool.candidates, line)))
        for pool, line in zip(pools, scores, strict=True)
    ]


def is_acceptable(candidate: Candidate, acceptability: Acceptability) -> bool | None:
    """Whether the model pass calls a candidate acceptable; None if it has no score."""
    probability = candidate.meta.get(ACCEPTABILITY_KEY)
    return None if probability is None else float(probability) >= acceptability.threshold
