"""``train``: dialogues, questions, seeds or triples in, the folder of a trained model out."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

from rejoinder.data.inputs import DEFAULT_CORPORA, PERMISSIVE_CORPORA, Input, read, read_dialogues
from rejoinder.data.knowledge import find_knowledge_files, read_triples
from rejoinder.data.seeds import read_seeds
from rejoinder.errors import InputError, MissingExtraError, SpecError, nearest
from rejoinder.models.generator.shape import GeneratorShape
from rejoinder.models.ranker.card import EMBEDDED
from rejoinder.models.speaker.network import Kind
from rejoinder.training.heads.adem import train_adem
from rejoinder.training.heads.bert_ruber import train_bert_ruber
from rejoinder.training.heads.usl_h import train_usl_h
from rejoinder.training.idk import IdkRecipe, train_idk
from rejoinder.training.licence import PERMISSIVE
from rejoinder.training.recipes import (
    PERMISSIVE_PREFERENCES,
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
    UslHRecipe,
    UsrRecipe,
)
from rejoinder.training.speaker.trainer import CORPORA, ScorerRecipe, make_scorer_recipe, train_scorer
from rejoinder.types import Question

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
UNKNOWN_LICENCE = "not known"
HEAD_CORPUS = "dailydialog"  # of the published ones, as in the papers whose baselines are trained as heads
_SMALLEST_VOCABULARY = 300
_SCORERS = ("rsrem", "ruber", "ssrem")
_LIBRARIES = {
    "aptness": ("torch", "transformers", "onnx"),
    "comet": ("torch", "transformers", "safetensors"),
    "dynaeval": ("torch",),
    "generator": ("torch",),
    "grade": ("torch",),
    "nup": ("torch", "transformers", "onnx"),
    "ranker": ("torch", "transformers", "onnx"),
    "statements": ("torch", "transformers", "safetensors"),
    "usr": ("torch", "transformers", "onnx"),
}


@dataclass(frozen=True)
class TrainedModel:
    """A model that was trained: its folder, the spec, system or option that uses it, and what its card says."""

    model: Trainable
    folder: Path
    use: str
    card: Any = None


@dataclass(frozen=True)
class _TrainingJob:
    """What is to be trained, on what, and where to."""

    model: Trainable
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

    def corpus(self, published: str | None = "cornell") -> str | None:
        """The one corpus to train on; where no file is named, one of the published ones."""
        if len(self.corpora) > 1:
            raise InputError(f"this model is trained on one corpus, not on {len(self.corpora)}; name one")
        return self.corpora[0] if self.corpora else None if self.files else published

    def head(self, kind: type[Any], published: str | None = HEAD_CORPUS) -> tuple[Any, Path, Any, str | None, str]:
        """What heads are trained from: dialogues, folder, recipe, corpus and encoder."""
        recipe = _choose_recipe(self, kind)
        return self.dialogues(), self.folder, recipe, self.corpus(published), self.base or "aptness"


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
    permissive: bool | None = None,
    teachers: Sequence[str | Path] | None = None,
    leave_out: Sequence[str | Path] | None = None,
    vocabulary: str | Path | None = None,
    snapshots: Sequence[int] | None = None,
    knowledge: Sequence[str] | None = None,
    knowledge_corpus: str | None = None,
    licence: str | None = None,
    reference: str | None = None,
    resume: bool | None = None,
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
    - ``say``: a function that is called with each line of progress.
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

    >>> import rejoinder
    >>> recipe = rejoinder.IdkRecipe(contexts=40)
    >>> trained = rejoinder.train("idk", "dialogues.jsonl", "my-idk", recipe=recipe)
    >>> trained.use
    "idk(folder='my-idk')"
    """
    options: dict[str, Any] = {
        "permissive": permissive,
        "teachers": teachers,
        "leave_out": leave_out,
        "vocabulary": vocabulary,
        "snapshots": snapshots,
        "knowledge": knowledge,
        "knowledge_corpus": knowledge_corpus,
        "licence": licence,
        "reference": reference,
        "resume": resume,
    }
    options = {name: value for name, value in options.items() if value is not None}
    trainer = _find_trainer(model, options)
    folder = _check_folder(model, output, bool(resume))
    names = [files] if isinstance(files, str | Path) else files
    texts = [tuple(map(str, one)) for one in (names, corpora, valid)]
    job = _TrainingJob(model, texts[0], folder, recipe, texts[1], base, texts[2], device, say or _say_nothing)
    return TrainedModel(model, folder, _describe_use(model, folder) if str(output) else model, trainer(job, **options))


def _describe_use(model: Trainable, folder: Path) -> str:
    """The spec, system or option that uses a trained model."""
    return _USES.get(model, f"{model}(folder={str(folder)!r})").format(folder=folder)


def _say_nothing(line: str) -> None:
    """Ignore a line of progress."""


def _find_trainer(model: str, options: Collection[str]) -> Callable[..., Any]:
    """Return the function that trains a model; raise where it, one of its options or a library is missing."""
    if model not in get_args(Trainable):
        raise SpecError(f"no model is called {model!r}; {nearest(model, get_args(Trainable))}")
    trainer = _TRAINERS[model]
    allowed = list(signature(trainer).parameters)[1:]
    if unknown := sorted(set(options) - set(allowed)):
        raise SpecError(f"training {model} has no option {unknown[0]!r}; {nearest(unknown[0], allowed)}")
    for module in _LIBRARIES.get(model, ()):
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
    if resume or model == "generator":  # a generator continues where it stopped: see _train_generator
        return folder
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        hint = ", or set resume to continue there" if model in _SCORERS else ""
        raise InputError(f"{folder}: already exists and is not empty; name a new folder{hint}")
    return folder


def _train_adem(job: _TrainingJob, licence: str | None = None) -> Any:
    if not job.files:
        raise InputError("name files of rated replies to train on, such as your own ratings")
    recipe, encoder = _choose_recipe(job, AdemRecipe), job.base or "aptness"
    return train_adem(read(*job.files), job.folder, recipe, encoder, licence, job.say)


def _train_aptness(job: _TrainingJob, permissive: bool = False, teachers: Sequence[str | Path] = ()) -> Any:
    from rejoinder.training.aptness.recipe import train_aptness

    recipe = _choose_recipe(job, AptnessRecipe)
    if permissive and (job.corpora or recipe.corpora):
        raise InputError("permissive and corpora both choose the corpora; give only one of them")
    if job.corpora:
        recipe = replace(recipe, corpora=job.corpora)
    dialogues = read_dialogues(job.files or (PERMISSIVE_CORPORA if permissive else DEFAULT_CORPORA))
    if permissive:
        dialogues = (dialogue for dialogue in dialogues if dialogue.corpus in PERMISSIVE)
        recipe = replace(recipe, preferences={**PERMISSIVE_PREFERENCES, **recipe.preferences})
    folders = [Path(folder) for folder in teachers]
    return train_aptness(dialogues, job.folder, recipe, job.base or "minilm", job.device, job.say, folders, permissive)


def _train_bert_ruber(job: _TrainingJob) -> Any:
    return train_bert_ruber(*job.head(HeadRecipe), say=job.say)


def _train_comet(job: _TrainingJob, leave_out: Sequence[str | Path] = ()) -> Any:
    from rejoinder.training.comet import train_comet

    if not job.files or not job.valid:
        raise InputError("name knowledge files to train on, such as ATOMIC's train.tsv, and held-out ones (valid)")
    train, valid, others = (
        [triple for name in names for triple in read_triples(Path(name))] for names in (job.files, job.valid, leave_out)
    )
    heads = {triple.head for triple in others}
    data = {Path(name).name: "as the file's" for name in job.files}
    recipe, base = _choose_recipe(job, CometRecipe), job.base or "smollm2-135m"
    return train_comet(train, valid, job.folder, recipe, data, heads, base, job.device, job.say)


def _train_dynaeval(job: _TrainingJob) -> Any:
    from rejoinder.training.heads.dynaeval import train_dynaeval

    return train_dynaeval(*job.head(DynaEvalRecipe), job.device, job.say)


def _train_generator(job: _TrainingJob, vocabulary: str | Path | None = None, snapshots: Sequence[int] = ()) -> Any:
    from rejoinder.models.generator.model import CARD_FILE, TOKENIZER, read_generator_card
    from rejoinder.training.generator.checkpoint import NOTE
    from rejoinder.training.generator.recipe import train_generator

    recipe, pieces = _choose_recipe(job, GeneratorRecipe), None
    _check_shape(recipe.shape)
    if (job.folder / CARD_FILE).exists() and not (job.folder / NOTE).exists():
        raise InputError(f"{job.folder}: already has a finished generator; name a new folder")
    if vocabulary is not None:
        size = read_generator_card(Path(vocabulary)).shape.vocabulary
        recipe = replace(recipe, shape=replace(recipe.shape, vocabulary=size))
        pieces = (Path(vocabulary) / TOKENIZER).read_text(encoding="utf-8")
    return train_generator(
        job.dialogues(), job.folder, recipe, pieces=pieces, snapshots=snapshots, device=job.device, say=job.say
    )


def _check_shape(shape: GeneratorShape) -> None:
    heads = shape.heads
    if shape.arch == "transformer" and shape.dim % (2 * heads):
        raise InputError(
            f"{shape.dim} dimensions (dim) cannot be split into {heads} heads of even size; "
            f"take a multiple of {2 * heads}"
        )
    if shape.vocabulary < _SMALLEST_VOCABULARY:
        raise InputError(
            f"a vocabulary of {shape.vocabulary} is too small for single letters; take {_SMALLEST_VOCABULARY} or more"
        )


def _train_grade(job: _TrainingJob, knowledge: Sequence[str] = ("dataset:knowledge/conceptnet",)) -> Any:
    from rejoinder.training.heads.grade import train_grade

    triples = [one for name in knowledge for path in find_knowledge_files(name) for one in read_triples(path)]
    return train_grade(*job.head(GradeRecipe), triples, job.device, job.say)


def _train_idk(job: _TrainingJob) -> Any:
    return train_idk(job.dialogues(), job.folder, _choose_recipe(job, IdkRecipe), job.corpus(), job.base or "aptness")


def _train_nup(job: _TrainingJob) -> Any:
    from rejoinder.training.nup import train_nup

    recipe = _choose_recipe(job, NupRecipe)
    return train_nup(job.dialogues(), job.folder, recipe, job.corpus(), job.base or "aptness", job.device, job.say)


def _train_ranker(
    job: _TrainingJob, knowledge: Sequence[str] = (), knowledge_corpus: str = "dataset:corpus/dialogues"
) -> Any:
    from rejoinder.training.ranker.trainer import train_ranker

    recipe = _choose_recipe(job, RankerRecipe)
    if job.base is not None and job.base != recipe.encoder:
        raise InputError("a ranker's recipe names its encoder; leave out the base")
    train, valid = _held_out(job)
    licence = _join_licences(train)
    about: dict[str, Any] = {"train": _shown_files(train), "valid": _shown_files(valid), "licence": licence}
    if recipe.encoder == EMBEDDED or recipe.kind == "situated":  # whose chooser starts from the embedded one
        about |= _base_licence(licence)
    mined = _mine_pursuits(knowledge, knowledge_corpus, job.say) if knowledge else None
    questions, held_out = _read_questions(train), _read_questions(valid)
    return train_ranker(questions, held_out, job.folder, recipe, about, mined, job.device, job.say)


def _mine_pursuits(knowledge: Sequence[str], corpus: str, say: Callable[[str], None]) -> Any:
    """What people pursue and what helps them, from knowledge files."""
    from rejoinder.training.ranker.mining import mine_pursuits

    paths = [path for name in knowledge for path in find_knowledge_files(name)]
    pursuits = mine_pursuits(paths, (one for one in read_dialogues([corpus]) if one.split in (None, "train")))
    say(f"{len(pursuits):,} pairs mined")
    return pursuits


def _train_statements(job: _TrainingJob, licence: str | None = None) -> Any:
    from rejoinder.training.statements import train_statements

    train, valid = _held_out(job)
    data = dict(zip(_shown_files(train), (_licence_of(name).replace(" ", "-") for name in train), strict=True))
    licence = licence or (next(iter(data.values())) if len(train) == 1 else UNKNOWN_LICENCE)
    recipe, base = _choose_recipe(job, StatementRecipe), job.base or "smollm2-135m"
    return train_statements(
        read_seeds(*train), read_seeds(*valid), job.folder, recipe, data, licence, base, job.device, job.say
    )


def _train_scorer(job: _TrainingJob, reference: str | None = None, resume: bool = False) -> Any:
    kind, encoder = cast(Kind, job.model), job.base or "aptness"
    recipe = _choose_recipe(job, ScorerRecipe) if job.recipe is not None else make_scorer_recipe(kind, encoder)
    if recipe.kind != kind:
        raise InputError(f"the recipe is for {recipe.kind}, not for {kind}; give one for {kind}")
    corpora = job.corpora if job.files or job.corpora else CORPORA
    return train_scorer(job.dialogues(), job.folder, recipe, encoder, corpora, reference, resume, job.say)


def _train_usl_h(job: _TrainingJob) -> Any:
    return train_usl_h(*job.head(UslHRecipe), say=job.say)


def _train_usr(job: _TrainingJob) -> Any:
    from rejoinder.training.heads.usr import train_usr

    return train_usr(*job.head(UsrRecipe, None), job.device, job.say)


_TRAINERS: dict[str, Callable[..., Any]] = {
    "adem": _train_adem,
    "aptness": _train_aptness,
    "bert_ruber": _train_bert_ruber,
    "comet": _train_comet,
    "dynaeval": _train_dynaeval,
    "generator": _train_generator,
    "grade": _train_grade,
    "idk": _train_idk,
    "nup": _train_nup,
    "ranker": _train_ranker,
    "rsrem": _train_scorer,
    "ruber": _train_scorer,
    "ssrem": _train_scorer,
    "statements": _train_statements,
    "usl_h": _train_usl_h,
    "usr": _train_usr,
}
_USES = {
    "comet": "augment --comet-model {folder}",
    "generator": "generator:{folder}",
    "statements": "situate statements --writer {folder}",
}


def _choose_recipe(job: _TrainingJob, kind: type[Any]) -> Any:
    """The recipe that was given, of the kind that the model takes, or the usual one."""
    if job.recipe is None:
        return kind()
    if not isinstance(job.recipe, kind):
        raise InputError(f"this model takes {kind.__name__} as its recipe, not {type(job.recipe).__name__}")
    return job.recipe


def _held_out(job: _TrainingJob) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The files to train on and the held-out ones; those of SUGAR's first fold where none is named."""
    if job.files and not job.valid:
        raise InputError("no held-out files are named; name some (valid)")
    return job.files or ("dataset:sugar/0/train",), job.valid or ("dataset:sugar/0/dev",)


def _read_questions(names: Sequence[str]) -> list[Question]:
    """The questions of files."""
    questions = []
    for name in names:
        source = Input(name)
        try:
            questions += [record for record, _ in source.records() if isinstance(record, Question)]
        finally:
            source.close()
    return questions


def _shown_files(names: Sequence[str]) -> list[str]:
    return [name if name.startswith("dataset:") else Path(name).name for name in names]


def _base_licence(data: str) -> dict[str, str]:
    """What the embedded networks add to a card: the licence of their weights applies to networks trained from them."""
    from rejoinder.models.aptness.card import read_aptness_card
    from rejoinder.models.catalog.manifest import require_model

    base = read_aptness_card(require_model("aptness"))
    return {"base": f"aptness ({base.licence})", "licence": f"{base.licence} (the base), {data} (the data)"}


def _licence_of(name: str) -> str:
    """The licence of a published set; that of another file is not known."""
    if not name.startswith("dataset:"):
        return UNKNOWN_LICENCE
    from rejoinder.data.datasets import dataset

    return dataset(name.removeprefix("dataset:")).licence


def _join_licences(names: Sequence[str]) -> str:
    return ", ".join(sorted({_licence_of(name) for name in names}))
