"""The card of a test set as one JSON object: how each candidate was found, who judged it, and what is known of that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import rejoinder
from rejoinder.data.grades import TRUE, right
from rejoinder.selection.acceptability import Acceptability
from rejoinder.selection.acceptability_file import to_object
from rejoinder.selection.assembling import Assembling, truth_of
from rejoinder.selection.graded import ADVERSARIAL, POSITIVE, auc_interval, graded
from rejoinder.selection.model_pass import ACCEPTABLE
from rejoinder.selection.overlap import overlap_of
from rejoinder.selection.people import agreement_of, ratings_of
from rejoinder.selection.proposing import LEFT_OUT
from rejoinder.selection.rules import verdict_of
from rejoinder.selection.settings import FINDING
from rejoinder.stats.interval import Interval, share_interval
from rejoinder.text import tokenizer_of
from rejoinder.types import Candidate, Question

_DECIMALS = 4


def card_of(
    questions: Sequence[Question],
    pools: Sequence[Question],
    assembling: Assembling,
    facts: Mapping[str, Any],
    inputs: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """All there is to say of a test set."""
    settings = assembling.settings
    false = [one for question in questions for one in _false(question)]
    left_out: Counter[str] = Counter()
    for pool in pools:
        left_out.update(pool.meta.get(LEFT_OUT, {}))
    by = "people" if assembling.by_people else "model" if assembling.known is not None else "nobody"
    return {
        "rejoinder": rejoinder.__version__,
        "kind": "random" if settings.random else "chosen",
        "questions": len(questions),
        "candidates": len(questions[0].candidates),
        **{key: value for key, value in facts.items() if key not in ("inputs", "settings")},
        "settings": _settings(assembling, facts.get("settings", {})),
        "inputs": [dict(one) for one in inputs],
        "pools": len(pools),
        "found": dict(sorted(Counter(one.source or "unknown" for one in false).items())),
        "left out of pools": dict(sorted(left_out.items())),
        "counts": {what: n for what, n in sorted(assembling.counts.items()) if n},
        "judged by": by,
        "model": _model(pools, assembling.known, settings.least_raters),
        "people": _people(pools),
        "overlap": _overlap(questions),
        "places of the truth": _places(questions),
        "words a text": _words(questions),
    }


def _settings(assembling: Assembling, of_pools: Mapping[str, Any]) -> dict[str, Any]:
    """The settings; what decided on the pools is as it was when they were found."""
    found = {key: of_pools[key] for key in FINDING if key in of_pools}
    return {**asdict(assembling.settings), **found, "seed of the pools": of_pools.get("seed", assembling.settings.seed)}


def _false(question: Question) -> list[Candidate]:
    return [one for n, one in enumerate(question.candidates) if n not in right(question)]


def _places(questions: Sequence[Question]) -> list[int]:
    places = Counter(min(right(question)) for question in questions)
    return [places[n] for n in range(max(len(question.candidates) for question in questions))]


def _words(questions: Sequence[Question]) -> dict[str, float]:
    """The mean length of true replies and of false candidates: where they differ, length alone gives some away."""
    count = tokenizer_of("words")
    truths = [len(count(one.text)) for question in questions for one in question.candidates if one.grade == TRUE]
    false = [len(count(one.text)) for question in questions for one in _false(question)]
    return {"truths": round(sum(truths) / len(truths), 2), "false": round(sum(false) / len(false), 2)}


def _overlap(questions: Sequence[Question]) -> dict[str, Any]:
    found = overlap_of(questions)
    return {
        "share": interval_object(found.all),
        "share where the truth has content words": interval_object(found.where_possible),
        "by source": {name: round(value, _DECIMALS) for name, value in found.by_source.items()},
        "truths without content words": found.truths_without,
    }


def _people(pools: Sequence[Question]) -> dict[str, Any] | None:
    found = agreement_of(ratings_of(one) for pool in pools for one in pool.candidates)
    if found is None:
        return None
    return {
        "candidates": found.candidates,
        "scores a candidate": list(found.raters),
        "kappa of six classes": interval_object(found.six),
        "kappa of two classes": interval_object(found.two),
    }


def _model(pools: Sequence[Question], known: Acceptability | None, least_raters: int) -> dict[str, Any] | None:
    """The model pass: how it does on DailyDialog++, on the true replies here, and against people where they scored."""
    if known is None:
        return None
    truths = [float(truth_of(pool).meta[ACCEPTABLE] >= known.threshold) for pool in pools if _judged(truth_of(pool))]
    return {
        **to_object(known),
        "true replies that it accepts": interval_object(share_interval(truths)) if truths else None,
        "against people": _against_people(pools, least_raters),
    }


def _against_people(pools: Sequence[Question], least_raters: int) -> dict[str, Any] | None:
    """How well the model's probability tells what people accept from what they do not."""
    grades = {"acceptable": POSITIVE, "false": ADVERSARIAL}
    rows = [
        (pool.id, one, grades[verdict])
        for pool in pools
        for one in pool.candidates
        if one is not truth_of(pool) and _judged(one)
        if (verdict := verdict_of(ratings_of(one), least_raters)) in grades
    ]
    if len({grade for _, _, grade in rows}) < 2:
        return None
    questions = [Question(name, (), (Candidate(one.text, grade=grade),)) for name, one, grade in rows]
    found = graded(questions, [[float(one.meta[ACCEPTABLE])] for _, one, _ in rows])
    return {"candidates": len(rows), "auc": interval_object(auc_interval(found, POSITIVE, ADVERSARIAL))}


def _judged(candidate: Candidate) -> bool:
    return ACCEPTABLE in candidate.meta


def interval_object(found: Interval) -> dict[str, Any]:
    """An interval as JSON; what is not known is null."""
    ends: Iterable[tuple[str, float]] = (("value", found.value), ("low", found.low), ("high", found.high))
    return {**{key: None if value != value else round(value, _DECIMALS) for key, value in ends}, "n": found.n}
