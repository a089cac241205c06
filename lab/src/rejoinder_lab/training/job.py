"""A training as ``train`` is asked for it: which model, on what, by which recipe, and where to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from rejoinder.data.inputs import DEFAULT_CORPORA, read_dialogues
from rejoinder.errors import InputError
from rejoinder.types import Dialogue
from rejoinder_lab.training.heads.dialogues import HeadData

R = TypeVar("R")
HEAD_CORPUS = "dailydialog"  # of the published ones, as in the papers whose baselines are trained as heads


@dataclass(frozen=True)
class TrainingJob:
    """What is to be trained, on what, and where to."""

    model: str
    files: tuple[str, ...]
    folder: Path
    recipe: Any
    corpora: tuple[str, ...]
    base: str | None
    valid: tuple[str, ...]
    device: str | None
    log: Callable[[str], None]

    def choose_recipe(self, kind: type[R]) -> R:
        """Return the recipe that was given, of the kind that the model takes, or the usual one."""
        if self.recipe is None:
            return kind()
        if not isinstance(self.recipe, kind):
            raise InputError(f"this model takes {kind.__name__} as its recipe, not {type(self.recipe).__name__}")
        return self.recipe

    def read_dialogues(self) -> Iterable[Dialogue]:
        """Read the dialogues of the files, or of the first published corpora."""
        return read_dialogues(self.files or DEFAULT_CORPORA[:1])

    def read_head_data(self, recipe: Any) -> HeadData:
        """Read what a head is trained on by a recipe."""
        return HeadData.of(self.read_dialogues(), recipe, self.find_corpus(HEAD_CORPUS), self.base or "aptness")

    def find_corpus(self, published: str | None = "cornell") -> str | None:
        """Return the one corpus to train on; where no file is named, one of the published ones."""
        if len(self.corpora) > 1:
            raise InputError(f"this model is trained on one corpus, not on {len(self.corpora)}; name one")
        return self.corpora[0] if self.corpora else None if self.files else published

    def find_held_out(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the files to train on and the held-out ones; those of SUGAR's first fold where none is named."""
        if self.files and not self.valid:
            raise InputError("no held-out files are named; name some (valid)")
        return self.files or ("dataset:sugar/0/train",), self.valid or ("dataset:sugar/0/dev",)
