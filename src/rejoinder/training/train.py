"""The verb: dialogues, questions, seeds or triples in, the folder of a trained model out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from rejoinder.data.inputs import DEFAULT_CORPORA, Input, read_dialogues
from rejoinder.data.knowledge import read_triples
from rejoinder.data.seeds import read_seeds
from rejoinder.errors import InputError, MissingExtraError, SpecError, nearest
from rejoinder.models.ranker.card import EMBEDDED
from rejoinder.training.idk import IdkRecipe, train_idk
from rejoinder.training.ranker.recipe import RankerRecipe
from rejoinder.training.recipes import AptnessRecipe, CometRecipe, GeneratorRecipe, NupRecipe, StatementRecipe
from rejoinder.training.speaker.trainer import CORPORA, ScorerRecipe, make_recipe, train_scorer
from rejoinder.types import Question

Trainable: TypeAlias = Literal[
    "aptness", "comet", "generator", "idk", "nup", "ranker", "rsrem", "ruber", "ssrem", "statements"
]
Recipe: TypeAlias = (
    AptnessRecipe
    | CometRecipe
    | GeneratorRecipe
    | IdkRecipe
    | NupRecipe
    | RankerRecipe
    | ScorerRecipe
    | StatementRecipe
)
UNKNOWN_LICENCE = "not known"
_LIBRARIES = {
    "aptness": ("torch", "transformers", "onnx"),
    "comet": ("torch", "transformers", "safetensors"),
    "generator": ("torch",),
    "nup": ("torch", "transformers", "onnx"),
    "ranker": ("torch", "transformers", "onnx"),
    "statements": ("torch", "transformers", "safetensors"),
}


@dataclass(frozen=True)
class TrainedModel:
    """A model that was trained: its folder, and the spec, system or option that uses it."""

    model: Trainable
    folder: Path
    use: str


@dataclass(frozen=True)
class _Job:
    """What a training was asked for."""

    files: tuple[str, ...]
    folder: Path
    recipe: Any
    corpora: tuple[str, ...]
    base: str | None
    valid: tuple[str, ...]
    device: str | None
    say: Callable[[str], None]

    def dialogues(self, n: int = 1) -> Any:
        """The dialogues of the files, or of the first n published corpora."""
        return read_dialogues(self.files or DEFAULT_CORPORA[:n])

    def corpus(self) -> str | None:
        """The one corpus to train on; Cornell's films of the published ones."""
        if len(self.corpora) > 1:
            raise InputError(f"this model is trained on one corpus, not on {len(self.corpora)}; name one")
        return self.corpora[0] if self.corpora else None if self.files else "cornell"


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
    say: Callable[[str], None] | None = None,
) -> TrainedModel:
    """A model of your own, or one made as those that the package ships.

    - ``model``: what to train: ``idk``, ``ssrem``, ``rsrem`` and ``ruber`` need nothing more, ``aptness``, ``comet``,
      ``generator``, ``nup``, ``ranker`` and ``statements`` need ``rejoinder[torch]``.
    - ``files``: dialogues (JSONL or ``dataset:NAME``); questions for a ranker, seeds for statements, triples for comet.
      Without any, what the shipped model was trained on.
    - ``output``: a new folder.
    - ``recipe``: the recipe of the model, e.g. ``IdkRecipe``; the shipped model's where none is given.
    - ``corpora``: only these corpora of the files.
    - ``base``: the encoder or language model to start from.
    - ``valid``: held-out files of a ranker, of statements and of comet.
    - ``device``: ``cuda`` or ``cpu``; ``cuda`` where there is one.
    - ``say``: is told how the training goes.

    >>> import rejoinder
    >>> recipe = rejoinder.IdkRecipe(contexts=40)
    >>> trained = rejoinder.train("idk", "dialogues.jsonl", "my-idk", recipe=recipe)
    >>> trained.use
    "idk(folder='my-idk')"
    """
    if model not in get_args(Trainable):
        raise SpecError(f"no model is called {model!r}; {nearest(model, get_args(Trainable))}")
    folder = Path(output)
    if not str(output) or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise InputError(f"{folder}: already exists and is not empty; name a new folder")
    for module in _LIBRARIES.get(model, ()):
        if find_spec(module) is None:
            raise MissingExtraError(module, "torch", "training")
    names = [files] if isinstance(files, str | Path) else files
    job = _Job(
        tuple(map(str, names)),
        folder,
        recipe,
        tuple(corpora),
        base,
        tuple(map(str, valid)),
        device,
        say or _say_nothing,
    )
    _TRAINERS[model](job)
    return TrainedModel(model, folder, _USES.get(model, f"{model}(folder={str(folder)!r})").format(folder=folder))


def _say_nothing(line: str) -> None:
    """Nobody is listening."""


def _train_aptness(job: _Job) -> None:
    from dataclasses import replace

    from rejoinder.training.aptness.recipe import train_aptness

    recipe = _choose_recipe(job, AptnessRecipe)
    if job.corpora:
        recipe = replace(recipe, corpora=job.corpora)
    train_aptness(job.dialogues(2), job.folder, recipe, job.base or "minilm", job.device, job.say)


def _train_comet(job: _Job) -> None:
    from rejoinder.training.comet import train_comet

    if not job.files or not job.valid:
        raise InputError("name knowledge files to train on, such as ATOMIC's train.tsv, and held-out ones (valid)")
    train, valid = (
        [triple for name in names for triple in read_triples(Path(name))] for names in (job.files, job.valid)
    )
    data = {Path(name).name: "as the file's" for name in job.files}
    recipe, base = _choose_recipe(job, CometRecipe), job.base or "smollm2-135m"
    train_comet(train, valid, job.folder, recipe, data, (), base, job.device, job.say)


def _train_generator(job: _Job) -> None:
    from rejoinder.training.generator.recipe import train_generator

    train_generator(job.dialogues(), job.folder, _choose_recipe(job, GeneratorRecipe), device=job.device, say=job.say)


def _train_idk(job: _Job) -> None:
    train_idk(job.dialogues(), job.folder, _choose_recipe(job, IdkRecipe), job.corpus(), job.base or "aptness")


def _train_nup(job: _Job) -> None:
    from rejoinder.training.nup import train_nup

    recipe = _choose_recipe(job, NupRecipe)
    train_nup(job.dialogues(), job.folder, recipe, job.corpus(), job.base or "aptness", job.device, job.say)


def _train_ranker(job: _Job) -> None:
    from rejoinder.training.ranker.trainer import train_ranker

    recipe = _choose_recipe(job, RankerRecipe)
    if job.base is not None and job.base != recipe.encoder:
        raise InputError("a ranker's recipe names its encoder; leave out the base")
    train, valid = _held_out(job)
    licence = _join_licences(train)
    about: dict[str, Any] = {"train": _shown(train), "valid": _shown(valid), "licence": licence}
    if recipe.encoder == EMBEDDED:
        about |= base_licence(licence)
    train_ranker(_read_questions(train), _read_questions(valid), job.folder, recipe, about, None, job.device, job.say)


def _train_statements(job: _Job) -> None:
    from rejoinder.training.statements import train_statements

    train, valid = _held_out(job)
    data = dict(zip(_shown(train), (_licence_of(name).replace(" ", "-") for name in train), strict=True))
    licence = next(iter(data.values())) if len(data) == 1 else UNKNOWN_LICENCE
    recipe, base = _choose_recipe(job, StatementRecipe), job.base or "smollm2-135m"
    train_statements(
        read_seeds(*train), read_seeds(*valid), job.folder, recipe, data, licence, base, job.device, job.say
    )


def _train_scorer(kind: Literal["ssrem", "rsrem", "ruber"]) -> Callable[[_Job], None]:
    def train_kind(job: _Job) -> None:
        encoder = job.base or "aptness"
        recipe = _choose_recipe(job, ScorerRecipe) if job.recipe is not None else make_recipe(kind, encoder)
        if recipe.kind != kind:
            raise InputError(f"the recipe is one of {recipe.kind}, not of {kind}; give one of {kind}")
        corpora = job.corpora if job.files or job.corpora else CORPORA
        train_scorer(job.dialogues(), job.folder, recipe, encoder, corpora, say=job.say)

    return train_kind


_TRAINERS: dict[str, Callable[[_Job], None]] = {
    "aptness": _train_aptness,
    "comet": _train_comet,
    "generator": _train_generator,
    "idk": _train_idk,
    "nup": _train_nup,
    "ranker": _train_ranker,
    "rsrem": _train_scorer("rsrem"),
    "ruber": _train_scorer("ruber"),
    "ssrem": _train_scorer("ssrem"),
    "statements": _train_statements,
}
_USES = {
    "comet": "augment --comet-model {folder}",
    "generator": "generator:{folder}",
    "statements": "situate statements --writer {folder}",
}


def _choose_recipe(job: _Job, kind: type[Any]) -> Any:
    """The recipe that was given, of the kind that the model takes, or the usual one."""
    if job.recipe is None:
        return kind()
    if not isinstance(job.recipe, kind):
        raise InputError(f"this model takes {kind.__name__} as its recipe, not {type(job.recipe).__name__}")
    return job.recipe


def _held_out(job: _Job) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The files to train on and the held-out ones; those of SUGAR's first fold where none is named."""
    if job.files and not job.valid:
        raise InputError("no held-out files are named; give some (valid)")
    return job.files or ("dataset:sugar/0/train",), job.valid or ("dataset:sugar/0/dev",)


def _read_questions(names: Sequence[str]) -> list[Question]:
    """The questions of files."""
    questions = []
    for name in names:
        opened = Input(name)
        try:
            questions += [record for record, _ in opened.records() if isinstance(record, Question)]
        finally:
            opened.close()
    return questions


def _shown(names: Sequence[str]) -> list[str]:
    return [name if name.startswith("dataset:") else Path(name).name for name in names]


def base_licence(data: str) -> dict[str, str]:
    """What the embedded networks add to a card: the licence of their weights holds for what starts from them."""
    from rejoinder.models.aptness.card import read_card
    from rejoinder.models.catalog.manifest import require_model

    base = read_card(require_model("aptness"))
    return {"base": f"aptness ({base.licence})", "licence": f"{base.licence} (the base), {data} (the data)"}


def _licence_of(name: str) -> str:
    """The licence of a published set; of another file nobody told."""
    if not name.startswith("dataset:"):
        return UNKNOWN_LICENCE
    from rejoinder.data.datasets import dataset

    return dataset(name.removeprefix("dataset:")).licence


def _join_licences(names: Sequence[str]) -> str:
    return ", ".join(sorted({_licence_of(name) for name in names}))
