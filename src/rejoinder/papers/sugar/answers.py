"""Trained rankers' answers to the test and validation questions of their folds, as stored answers.

A job's own file, which is made where it was trained, has the form of the stored file of its variant, which is all of
its jobs together: a line per seed, fold, split, input and question, with the statements read for each candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from statistics import fmean

from rejoinder.data.questions import limit_situation
from rejoinder.errors import InputError
from rejoinder.papers.stored_answers import (
    AnswerLine,
    Key,
    StoredAnswers,
    find_stored_answers,
    read_stored_answers,
    write_stored_answers,
)
from rejoinder.papers.sugar import folds
from rejoinder.papers.sugar.rankers import RankerJob, RankerVariant, list_ranker_jobs
from rejoinder.selection.answers import score_questions
from rejoinder.selection.ranking.rank import check_used
from rejoinder.selection.ranking.result import RankingResult
from rejoinder.systems import System, system_signature

PAPER = "sugar"  # the folder of stored answers


def write_ranker_answers(job: RankerJob, system: System, path: Path) -> None:
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
    about = {"signature": system_signature(system), "options": list(job.variant.options)}
    write_stored_answers(path, StoredAnswers(job.name, folds.digest_folds(), about, lines))


def read_ranker_answers(path: Path, job: RankerJob) -> StoredAnswers:
    """Read the answers of one ranker; raise an error if they are not complete."""
    answers = read_stored_answers(path, job.name, folds.digest_folds())
    _check_complete(path, answers, [job])
    return answers


def store_variant(variant: RankerVariant, paths: Sequence[Path], target: Path) -> None:
    """Write the answers of a variant's rankers, one file each, as its stored answers."""
    lines: dict[Key, AnswerLine] = {}
    about: dict[str, object] = {}
    for job, path in zip(list_ranker_jobs([variant.name]), paths, strict=True):
        answers = read_ranker_answers(path, job)
        lines |= answers.lines
        about[job.name] = answers.about
    write_stored_answers(target, StoredAnswers(variant.name, folds.digest_folds(), about, lines))


def has_stored_answers(variant: RankerVariant) -> bool:
    """Whether the answers of a variant are stored here."""
    return find_stored_answers(PAPER, variant.name) is not None


def rank_by_answers(variant: RankerVariant, fold: int, split: str, input_name: str) -> RankingResult:
    """Return a variant's ranking of a split with an input: by its scores, or by their mean over seeds."""
    path = find_stored_answers(PAPER, variant.name)
    if path is None:
        raise InputError(f"the answers of {variant.name} are not stored here; compute them first")
    answers = _read_variant(path, path.stat().st_mtime_ns, variant)
    questions = folds.fold_questions(fold, split)
    rows = [
        [answers.lines[_make_key(seed, fold, split, input_name, question.id)] for seed in range(variant.seeds)]
        for question in questions
    ]
    scores = [tuple(fmean(values) for values in zip(*(line.scores for line in row), strict=True)) for row in rows]
    if [len(line) for line in scores] != [len(question.candidates) for question in questions]:
        raise InputError(f"the answers of {variant.name} are for other candidates; compute them again")
    used = [row[0].more for row in rows]  # of several seeds, each reads statements of its own
    has_used = variant.seeds == 1 and all(one is not None for one in used)
    return RankingResult(questions, input_name, {variant.row: scores}, {variant.row: used} if has_used else {})


@lru_cache(maxsize=16)
def _read_variant(path: Path, changed: int, variant: RankerVariant) -> StoredAnswers:
    answers = read_stored_answers(path, variant.name, folds.digest_folds())
    _check_complete(path, answers, list_ranker_jobs([variant.name]))
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
