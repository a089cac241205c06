"""A trained ranker's answers to the test and validation questions of its fold: a header, then one line per question.

Answers are cached under a digest of the folds, so that training can be done on another machine (``jobs``) and the
tables are made from what it returns.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from rejoinder.data.questions import limit_situation
from rejoinder.errors import InputError
from rejoinder.files import atomic_write
from rejoinder.metric import NAN
from rejoinder.papers.sugar import folds
from rejoinder.papers.sugar.rankers import RankerJob
from rejoinder.selection.answers import score_questions
from rejoinder.selection.ranking.rank import check_used
from rejoinder.selection.ranking.result import RankingResult
from rejoinder.systems import System, system_signature


@dataclass(frozen=True)
class RankerAnswers:
    """The lines of one file, by split, input and question."""

    head: dict[str, Any]
    lines: dict[tuple[str, str, str], dict[str, Any]]

    def ranked(self, name: str, fold: int, split: str, input_name: str) -> RankingResult:
        """Return its ranking of a split with an input, under a name."""
        questions = folds.fold_questions(fold, split)
        try:
            rows = [self.lines[split, input_name, question.id] for question in questions]
        except KeyError as error:
            raise InputError(f"the answers of {self.head['name']} lack {error}; compute them again") from None
        scores = [tuple(NAN if score is None else float(score) for score in row["scores"]) for row in rows]
        if [len(line) for line in scores] != [len(question.candidates) for question in questions]:
            raise InputError(f"the answers of {self.head['name']} are for other candidates; compute them again")
        complete = all(row["used"] is not None for row in rows)
        return RankingResult(
            questions, input_name, {name: scores}, {name: [row["used"] for row in rows]} if complete else {}
        )


def write_ranker_answers(job: RankerJob, system: System, path: Path) -> None:
    """Compute all answers of a trained ranker, and write them."""
    head = {
        "name": job.name,
        "digest": folds.digest_folds(),
        "signature": system_signature(system),
        "asked": list(job.inputs),
    }
    with atomic_write(path) as file:
        file.write(orjson.dumps(head) + b"\n")
        for split in folds.SPLITS:
            for input_name in job.inputs:
                questions = limit_situation(folds.fold_questions(job.fold, split), input_name)
                scores = score_questions(system, questions)
                used = check_used(system, questions, system.used(questions))
                for place, (question, line) in enumerate(zip(questions, scores, strict=True)):
                    numbers = [None if score != score else score for score in line]
                    statements = None if used is None else used[place]
                    row = {
                        "split": split,
                        "input": input_name,
                        "question": question.id,
                        "scores": numbers,
                        "used": statements,
                    }
                    file.write(orjson.dumps(row) + b"\n")


def read_ranker_answers(path: Path, job: RankerJob) -> RankerAnswers:
    """Read the answers in a file; raise an error if they are by another ranker or to other questions."""
    try:
        head, *lines = [orjson.loads(line) for line in path.read_bytes().splitlines()]
        rows = {(row["split"], row["input"], row["question"]): row for row in lines}
        known = head["name"], head["digest"]
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{path}: has no answers of a ranker; compute them again") from None
    if known != (job.name, folds.digest_folds()):
        raise InputError(f"{path}: has answers by another ranker or to other questions; delete it")
    expected = sum(len(folds.fold_questions(job.fold, split)) for split in folds.SPLITS) * len(job.inputs)
    if len(rows) != expected:
        raise InputError(f"{path}: has {len(rows):,} answers instead of {expected:,}; compute them again")
    return RankerAnswers(head, rows)
