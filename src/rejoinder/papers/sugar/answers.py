"""What a trained ranker says of the test and validation questions of its fold: a head, then a line a question.

Answers are kept in the cache under a digest of the folds, so that training can be done on another machine
(``jobs``) and the tables are made from what came back.
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

    def ranked(self, name: str, fold: int, split: str, given: str) -> RankingResult:
        """What it said of a split with an input, under a name."""
        of = folds.questions(fold, split)
        try:
            rows = [self.lines[split, given, question.id] for question in of]
        except KeyError as error:
            raise InputError(f"the answers of {self.head['name']} lack {error}; make them again") from None
        scores = [tuple(NAN if score is None else float(score) for score in row["scores"]) for row in rows]
        if [len(line) for line in scores] != [len(question.candidates) for question in of]:
            raise InputError(f"the answers of {self.head['name']} are of other candidates; make them again")
        told = all(row["used"] is not None for row in rows)
        return RankingResult(of, given, {name: scores}, {name: [row["used"] for row in rows]} if told else {})


def write_answers(job: RankerJob, system: System, path: Path) -> None:
    """Ask a trained ranker all that it is to be asked, and write it."""
    head = {
        "name": job.name,
        "digest": folds.digest_folds(),
        "signature": system_signature(system),
        "asked": list(job.asked),
    }
    with atomic_write(path) as file:
        file.write(orjson.dumps(head) + b"\n")
        for split in folds.SPLITS:
            for given in job.asked:
                some = limit_situation(folds.questions(job.fold, split), given)
                scores = score_questions(system, some)
                used = check_used(system, some, system.used(some))
                for place, (question, line) in enumerate(zip(some, scores, strict=True)):
                    told = [None if score != score else score for score in line]
                    read = None if used is None else used[place]
                    row = {"split": split, "input": given, "question": question.id, "scores": told, "used": read}
                    file.write(orjson.dumps(row) + b"\n")


def read_answers(path: Path, job: RankerJob) -> RankerAnswers:
    """The answers in a file; those of another ranker, or to other questions, are an error."""
    try:
        head, *lines = [orjson.loads(line) for line in path.read_bytes().splitlines()]
        found = {(row["split"], row["input"], row["question"]): row for row in lines}
        known = head["name"], head["digest"]
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{path}: holds no answers of a ranker; make them again") from None
    if known != (job.name, folds.digest_folds()):
        raise InputError(f"{path}: holds answers of another ranker or to other questions; delete it")
    wanted = sum(len(folds.questions(job.fold, split)) for split in folds.SPLITS) * len(job.asked)
    if len(found) != wanted:
        raise InputError(f"{path}: has {len(found):,} answers instead of {wanted:,}; make them again")
    return RankerAnswers(head, found)
