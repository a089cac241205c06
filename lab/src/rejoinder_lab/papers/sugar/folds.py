"""The five folds of SUGAR: questions, what of a test split was seen in training, a digest of all of it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from rejoinder.data.datasets import dataset, read_dataset
from rejoinder.files import sha256_of_parts
from rejoinder.selection.ranking.train_overlap import TrainOverlap
from rejoinder.types import Question

FOLDS = range(5)
SPLITS = ("test", "dev")


@lru_cache(maxsize=16)
def fold_questions(fold: int, split: str) -> tuple[Question, ...]:
    """The questions of a split."""
    return tuple(record for record in read_dataset(f"sugar/{fold}/{split}") if isinstance(record, Question))


def read_fold_overlap(fold: int) -> TrainOverlap:
    """Return the texts of a fold's training split, to compare with."""
    return TrainOverlap.of(fold_questions(fold, "train"))


def find_seen_kinds() -> dict[str, tuple[str, ...]]:
    """Return, for each test question, what was seen in the training split of its fold."""
    kinds_by_question: dict[str, tuple[str, ...]] = {}
    for fold in FOLDS:
        known = read_fold_overlap(fold)
        kinds_by_question |= {question.id: tuple(known.kinds(question)) for question in fold_questions(fold, "test")}
    return kinds_by_question


def digest_folds(folds: Iterable[int] = FOLDS) -> str:
    """A digest of the files that the splits are made of."""
    names = [f"sugar/{fold}/{split}" for fold in folds for split in SPLITS]
    listed = [f"{name} {file.path} {file.sha256}" for name in names for file in dataset(name).files]
    return sha256_of_parts(listed, "\n")
