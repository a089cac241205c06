"""From answers to measures: every ranker that there is, on every input, over the five folds."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rejoinder.data.questions import INPUTS, shown
from rejoinder.papers.sugar import folds as known
from rejoinder.papers.sugar.answers import Answers, read
from rejoinder.papers.sugar.published import TFIDF
from rejoinder.papers.sugar.rankers import VARIANTS, Job, Variant, job_for
from rejoinder.papers.sugar.texts import texts_alone
from rejoinder.selection.answers import Line, ask
from rejoinder.selection.ranking.evaluation import Evaluation, Standing, evaluate, standings, together
from rejoinder.selection.ranking.output import order_of
from rejoinder.selection.ranking.result import Ranked, why_not
from rejoinder.selection.ranking.train_overlap import Counts, total
from rejoinder.systems.tfidf import Tfidf

AS_PUBLISHED = "TF-IDF, the first of equal ones"


@dataclass(frozen=True)
class Measured:
    """Evaluations by input, TF-IDF with ties as the paper breaks them, validation, what was shared, what is missing."""

    by_input: Mapping[str, Evaluation]
    as_published: Mapping[str, Standing]
    validation: Mapping[str, Sequence[Standing]]
    shared: Counts
    texts: Sequence[Standing]
    missing: Sequence[str]


def measure() -> Measured:
    """Everything, with the answers that are in the cache."""
    kinds, by_input, as_published, validation = known.kinds(), {}, {}, {}
    for given in INPUTS:
        test = _all(given, "test")
        by_input[given] = evaluate(test, seen=lambda question: kinds[question.id])
        alone = dataclasses.replace(test, scores={AS_PUBLISHED: first_wins(test.scores[TFIDF])}, used={})
        (as_published[given],) = standings(alone.evaluated())
        validation[given] = standings(_all(given, "dev").evaluated())
    shared = total(
        [known.training_of(f).count([q for q in known.questions(f, "test") if why_not(q) is None]) for f in known.FOLDS]
    )
    missing = [
        job_for(variant, given, fold).name
        for variant in VARIANTS
        for given in variant.trained
        for fold in known.FOLDS
        if not _is_there(job_for(variant, given, fold))
    ]
    return Measured(by_input, as_published, validation, shared, texts_alone(), missing)


def first_wins(lines: Sequence[Line]) -> list[Line]:
    """Scores in which equal ones are told apart by place: the reference, which stands first in the file, wins."""
    found = []
    for line in lines:
        order = order_of(line)
        found.append(tuple(-float(order.index(place)) for place in range(len(line))))
    return found


def _all(given: str, split: str) -> Ranked:
    """All rankers that were asked with an input, over all folds."""
    there = [variant for variant in VARIANTS if all(_is_there(job_for(variant, given, fold)) for fold in known.FOLDS)]
    folds = {}
    for fold in known.FOLDS:
        of = [_tfidf(fold, split, given)]
        of += [_answers(variant, given, fold).ranked(variant.row, fold, split, given) for variant in there]
        scores = {name: lines for one in of for name, lines in one.scores.items()}
        used = {name: lines for one in of for name, lines in one.used.items()}
        folds[fold] = Ranked(of[0].questions, given, scores, used)
    return together(folds)


def _tfidf(fold: int, split: str, given: str) -> Ranked:
    system = Tfidf(fit=f"dataset:sugar/{fold}/train", situation=given, weights="smooth", once=True)
    of = known.questions(fold, split)
    asked = shown(of, given)
    return Ranked(of, given, {TFIDF: ask(system, asked)}, {TFIDF: system.used(asked) or []})


def _is_there(job: Job) -> bool:
    return (known.home() / f"{job.name}.jsonl").is_file()


def _answers(variant: Variant, given: str, fold: int) -> Answers:
    job = job_for(variant, given, fold)
    return _read(job.name, (known.home() / f"{job.name}.jsonl").stat().st_mtime_ns, job)


@lru_cache(maxsize=64)
def _read(name: str, changed: int, job: Job) -> Answers:
    return read(known.home() / f"{name}.jsonl", job)
