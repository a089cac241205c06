"""``train``: dialogues, questions, seeds or triples in, the folder of a trained model out."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any, Literal, TypeAlias

from rejoinder.errors import InputError, MissingExtraError, SpecError, nearest
from rejoinder_lab.training.idk import IdkRecipe
from rejoinder_lab.training.job import TrainingJob
from rejoinder_lab.training.recipes import (
    AdemRecipe,
    AptnessRecipe,
    CometRecipe,
    DynaEvalRecipe,
    GeneratorRecipe,
    GradeRecipe,
    HeadRecipe,
    NupRecipe,
    RankerRecipe,
    StatementRecipe,
    UsrRecipe,
)
from rejoinder_lab.training.speaker.trainer import ScorerRecipe
from rejoinder_lab.training.trainers import TRAINERS, Trainer

Trainable: TypeAlias = Literal[
    "adem",
    "aptness",
    "bert_ruber",
    "comet",
    "dynaeval",
    "generator",
    "grade",
    "idk",
    "nup",
    "ranker",
    "rsrem",
    "ruber",
    "ssrem",
    "statements",
    "usl_h",
    "usr",
]
Recipe: TypeAlias = (
    AdemRecipe
    | AptnessRecipe
    | CometRecipe
    | DynaEvalRecipe
    | GeneratorRecipe
    | GradeRecipe
    | HeadRecipe
    | IdkRecipe
    | NupRecipe
    | RankerRecipe
    | ScorerRecipe
    | StatementRecipe
    | UsrRecipe
)
_SCORERS = ("rsrem", "ruber", "ssrem")


@dataclass(frozen=True)
class TrainedModel:
    """A model that was trained: its folder, the spec, system or option that uses it, and what its card says."""

    model: Trainable
    folder: Path
    use: str
    card: Any = None


def train(
    model: Trainable,
    files: Sequence[str | Path] | str | Path = (),
    output: str | Path = "",
    *,
    recipe: Recipe | None = None,
    corpora: Sequence[str] = (),
    base: str | None = None,
    valid: Sequence[str | Path] = (),
    device: str | None = None,
    log: Callable[[str], None] | None = None,
    **options: Any,
) -> TrainedModel:
    """Train a model of your own, or repeat the training of one that the package ships.

    - ``model``: what to train: ``adem``, ``bert_ruber``, ``idk``, ``ssrem``, ``rsrem``, ``ruber`` and ``usl_h`` need no
      extra package, ``aptness``, ``comet``, ``dynaeval``, ``generator``, ``grade``, ``nup``, ``ranker``,
      ``statements`` and ``usr`` need ``rejoinder[torch]``.
    - ``files``: dialogues (JSONL or ``dataset:NAME``); questions for a ranker, seeds for statements, triples for comet,
      rated replies for adem.
      Without files, the data of the shipped model.
    - ``output``: a new folder; nup goes to the cache where none is named.
    - ``recipe``: the recipe of the model, e.g. ``IdkRecipe``; by default, that of the shipped model.
    - ``corpora``: only these corpora of the files.
    - ``base``: the encoder or language model to start from; for aptness, also a folder that was trained before.
    - ``valid``: held-out files, for a ranker, statements and comet.
    - ``device``: ``cuda`` or ``cpu``; by default, ``cuda`` if there is one.
    - ``log``: a function that is called with each line of progress.

    These options are for certain models only; where one is None, that is the same as leaving it out:

    - ``permissive``: aptness: only corpora whose licences allow commercial use.
    - ``teachers``: aptness: folders of trained networks, often larger ones, whose scores are learned too.
    - ``leave_out``: comet: files of triples whose heads are not trained on.
    - ``vocabulary``: generator: the folder of a generator whose vocabulary to use.
    - ``snapshots``: generator: steps to keep.
    - ``knowledge``: ranker: files to mine pairs from; grade: files whose concepts are its keywords.
    - ``knowledge_corpus``: ranker: the dialogues in which requests are counted.
    - ``licence``: statements: the licence of the weights; adem: that of the ratings.
    - ``reference``: ssrem, rsrem, ruber: the metric for the referenced part.
    - ``resume``: ssrem, rsrem, ruber: continue from the folder's checkpoint.
    - ``ratings``: usr: files of rated replies that decide how much each of its parts counts.

    >>> import rejoinder_lab
    >>> recipe = rejoinder_lab.IdkRecipe(contexts=40)
    >>> trained = rejoinder_lab.train("idk", "dialogues.jsonl", "my-idk", recipe=recipe)
    >>> trained.use
    "idk(folder='my-idk')"
    """
    options = {name: value for name, value in options.items() if value is not None}
    trainer = _find_trainer(model, options)
    folder = _check_folder(model, output, bool(options.get("resume")))
    names = [files] if isinstance(files, str | Path) else files
    texts = [tuple(map(str, one)) for one in (names, corpora, valid)]
    job = TrainingJob(model, texts[0], folder, recipe, texts[1], base, texts[2], device, log or _log_nothing)
    use = trainer.use.format(model=model, folder=str(folder)) if str(output) else model
    return TrainedModel(model, folder, use, trainer.train(job, **options))


def _log_nothing(line: str) -> None:
    """Ignore a line of progress."""


def _find_trainer(model: str, options: Collection[str]) -> Trainer:
    """Return the trainer of a model; raise where it, one of its options or a library is missing."""
    if model not in TRAINERS:
        raise SpecError(f"no model is called {model!r}; {nearest(model, TRAINERS)}")
    trainer = TRAINERS[model]
    allowed = list(signature(trainer.train).parameters)[1:]
    if unknown := sorted(set(options) - set(allowed)):
        raise SpecError(f"training {model} has no option {unknown[0]!r}; {nearest(unknown[0], allowed)}")
    for module in trainer.libraries:
        if importlib.util.find_spec(module) is None:
            raise MissingExtraError(module, "torch", "training")
    return trainer


def _check_folder(model: Trainable, output: str | Path, resume: bool) -> Path:
    """Return the folder to write, which must be new unless the training continues in it."""
    if model == "nup" and not str(output):
        from rejoinder.models.nup.model import default_nup_folder

        return default_nup_folder()
    folder = Path(output)
    if not str(output):
        raise InputError("no folder to write is named; name one (output)")
    if resume or model == "generator":  # a generator continues where it stopped: see trainers.py
        return folder
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        hint = ", or set resume to continue there" if model in _SCORERS else ""
        raise InputError(f"{folder}: already exists and is not empty; name a new folder{hint}")
    return folder
