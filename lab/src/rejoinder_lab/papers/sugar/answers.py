"""Trained rankers' answers to the test and validation questions of their folds, as stored answers.

A job's own file, which is made where it was trained, has the form of the stored file of its variant, which is all of
its jobs together: a line per seed, fold, split, input and question, with the statements read for each candidate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import Any

from rejoinder.data.questions import limit_situation
from rejoinder.errors import InputError
from rejoinder.selection.answers import score_questions
from rejoinder.selection.ranking.measures import get_candidate_gains
from rejoinder.selection.ranking.rank import check_used
from rejoinder.selection.ranking.result import RankingResult, explain_exclusion
from rejoinder.stats.ndcg import ndcg
from rejoinder.systems import System, system_signature
from rejoinder_lab.papers.stored_answers import (
    AnswerLine,
    Key,
    StoredAnswers,
    find_stored_answers,
    read_stored_answers,
    write_stored_answers,
)
from rejoinder_lab.papers.sugar import folds
from rejoinder_lab.papers.sugar.rankers import RankerJob, RankerVariant, list_ranker_jobs

PAPER = "sugar"  # the folder of stored answers
_VALIDATION = "dev"


def write_ranker_answers(job: RankerJob, system: System, path: Path, rate: float | None = None) -> None:
    """Compute all answers of a trained ranker, and write them."""
    lines: dict[Key, AnswerLine] = {}
    for split in folds.SPLITS:
        for input_name in job.inputs:
            questions = limit_situation(folds.fold_questions(job.fold, split), input_name)
            scores = score_questions(system, questions)
            used = check_used(system, questions, system.used(questions))
            for place, (question, line) in enumerate(zip(questions, scores, strict=True)):
                key = _make_key(job.seed, job.fold, split, input_name, question.id)
                lines[key] = AnswerLine(tuple(line), None if used is None else used[place])
    about = {"signature": system_signature(system), "recipe": asdict(job.recipe(rate))}
    write_stored_answers(path, StoredAnswers(job.name, folds.digest_folds(), about, lines))


def read_ranker_answers(path: Path, job: RankerJob) -> StoredAnswers:
    """Read the answers of one ranker; raise an error if they are not complete."""
    answers = read_stored_answers(path, job.name, folds.digest_folds())
    _check_complete(path, answers, [job])
    return answers


def measure_validation(path: Path, job: RankerJob) -> float:
    """Return the mean nDCG@3 of a ranker's answers on the validation split of its fold, over its inputs."""
    lines = read_ranker_answers(path, job).lines
    questions = [q for q in folds.fold_questions(job.fold, _VALIDATION) if explain_exclusion(q) is None]
    return fmean(
        ndcg(
            get_candidate_gains(question),
            lines[_make_key(job.seed, job.fold, _VALIDATION, input_name, question.id)].scores,
        )
        for input_name in job.inputs
        for question in questions
    )


def store_variant(
    variant: RankerVariant, paths: Mapping[RankerJob, Path], target: Path, trials: Mapping[str, float]
) -> None:
    """Write the answers of a variant's rankers, one file each, as its stored answers.

    ``trials`` are the rates that were tried, with the nDCG@3 on validation splits.
    """
    lines: dict[Key, AnswerLine] = {}
    rankers: dict[str, Any] = {}
    for job, path in paths.items():
        answers = read_ranker_answers(path, job)
        # Of several seeds, each reads statements of its own; only the scores are averaged.
        lines |= {key: AnswerLine(line.scores, line.more if variant.seeds == 1 else None)
                  for key, line in answers.lines.items()}  # fmt: skip
        rankers[job.name] = answers.about
    about = {"rankers": rankers, "trials": dict(trials)}
    write_stored_answers(target, StoredAnswers(variant.name, folds.digest_folds(), about, lines))


def has_stored_answers(variant: RankerVariant) -> bool:
    """Whether the answers of a variant are stored here."""
    return find_stored_answers(PAPER, variant.name) is not None


def read_variant_answers(variant: RankerVariant) -> StoredAnswers:
    """Return the stored answers of a variant."""
    path = find_stored_answers(PAPER, variant.name)
    if path is None:
        raise InputError(f"the answers of {variant.name} are not stored here; compute them first")
    return _read_variant(path, path.stat().st_mtime_ns, variant)


def list_seeds(answers: StoredAnswers) -> list[int]:
    """Return the seeds of stored answers."""
    return sorted({int(key[0]) for key in answers.lines})


def rank_by_answers(variant: RankerVariant, fold: int, split: str, input_name: str) -> RankingResult:
    """Return a variant's ranking of a split with an input: by its scores, or by their mean over seeds."""
    answers = read_variant_answers(variant)
    questions = folds.fold_questions(fold, split)
    seeds = list_seeds(answers)
    rows = [
        [answers.lines[_make_key(seed, fold, split, input_name, question.id)] for seed in seeds]
        for question in questions
    ]
    scores = [tuple(fmean(values) for values in zip(*(line.scores for line in row), strict=True)) for row in rows]
    if [len(line) for line in scores] != [len(question.candidates) for question in questions]:
        raise InputError(f"the answers of {variant.name} are for other candidates; compute them again")
    used = [row[0].more for row in rows]
    has_used = all(one is not None for one in used)
    return RankingResult(questions, input_name, {variant.row: scores}, {variant.row: used} if has_used else {})


@lru_cache(maxsize=16)
def _read_variant(path: Path, changed: int, variant: RankerVariant) -> StoredAnswers:
    answers = read_stored_answers(path, variant.name, folds.digest_folds())
    seeds = list_seeds(answers)
    _check_complete(path, answers, [job for job in list_ranker_jobs([variant.name]) if job.seed in seeds])
    return answers


def _check_complete(path: Path, answers: StoredAnswers, jobs: Sequence[RankerJob]) -> None:
    expected = {
        _make_key(job.seed, job.fold, split, input_name, question.id)
        for job in jobs
        for split in folds.SPLITS
        for input_name in job.inputs
        for question in folds.fold_questions(job.fold, split)
    }
    if set(answers.lines) != expected:
        raise InputError(f"{path}: has {len(answers.lines):,} answers instead of {len(expected):,}; compute them again")


def _make_key(seed: int, fold: int, split: str, input_name: str, question: str) -> Key:
    return str(seed), str(fold), split, input_name, question
