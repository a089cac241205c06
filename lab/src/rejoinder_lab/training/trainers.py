"""How each model is trained: its data read from what ``train`` was given, and the libraries that it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, cast

from rejoinder.data.inputs import DEFAULT_CORPORA, PERMISSIVE_CORPORA, Input, read, read_dialogues
from rejoinder.data.inputs.seeds import read_seeds
from rejoinder.data.knowledge import find_knowledge_files, read_triples
from rejoinder.errors import InputError
from rejoinder.models.ranker.settings import EMBEDDED
from rejoinder.models.speaker.network import Kind
from rejoinder.types import Question
from rejoinder_lab.models.generator.shape import GeneratorShape
from rejoinder_lab.training.heads.adem import train_adem
from rejoinder_lab.training.heads.bert_ruber import train_bert_ruber
from rejoinder_lab.training.heads.usl_h import train_usl_h
from rejoinder_lab.training.idk import IdkRecipe, train_idk
from rejoinder_lab.training.job import TrainingJob
from rejoinder_lab.training.licence import PERMISSIVE
from rejoinder_lab.training.recipes import (
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
from rejoinder_lab.training.speaker.trainer import CORPORA, ScorerRecipe, make_scorer_recipe, train_scorer

UNKNOWN_LICENCE = "not known"
_SMALLEST_VOCABULARY = 300
_EXPORTED = ("torch", "transformers", "onnx")
_LANGUAGE_MODEL = ("torch", "transformers", "safetensors")


class Trainer(NamedTuple):
    """The function that trains a model, the libraries that it needs, and how the result is used."""

    train: Callable[..., Any]  # takes a TrainingJob and the model's own options, returns a card
    libraries: tuple[str, ...] = ()
    use: str = "{model}(folder={folder!r})"  # a spec, a system or an option


def _train_adem(job: TrainingJob, licence: str | None = None) -> Any:
    if not job.files:
        raise InputError("name files of rated replies to train on, such as your own ratings")
    recipe, encoder = job.choose_recipe(AdemRecipe), job.base or "aptness"
    return train_adem(read(*job.files), job.folder, recipe, encoder, licence, job.log)


def _train_aptness(job: TrainingJob, permissive: bool = False, teachers: Sequence[str | Path] = ()) -> Any:
    from rejoinder_lab.training.aptness.recipe import train_aptness

    recipe = job.choose_recipe(AptnessRecipe)
    if permissive and (job.corpora or recipe.corpora):
        raise InputError("permissive and corpora both choose the corpora; give only one of them")
    if job.corpora:
        recipe = replace(recipe, corpora=job.corpora)
    dialogues = read_dialogues(job.files or (PERMISSIVE_CORPORA if permissive else DEFAULT_CORPORA))
    if permissive:
        dialogues = (dialogue for dialogue in dialogues if dialogue.corpus in PERMISSIVE)
        recipe = replace(recipe, preferences={**PERMISSIVE_PREFERENCES, **recipe.preferences})
    folders = [Path(folder) for folder in teachers]
    return train_aptness(dialogues, job.folder, recipe, job.base or "minilm", job.device, job.log, folders, permissive)


def _train_bert_ruber(job: TrainingJob) -> Any:
    recipe = job.choose_recipe(HeadRecipe)
    return train_bert_ruber(job.read_head_data(recipe), job.folder, recipe, job.log)


def _train_comet(job: TrainingJob, leave_out: Sequence[str | Path] = ()) -> Any:
    from rejoinder_lab.training.comet import train_comet

    if not job.files or not job.valid:
        raise InputError("name knowledge files to train on, such as ATOMIC's train.tsv, and held-out ones (valid)")
    train, valid, others = (
        [triple for name in names for triple in read_triples(Path(name))] for names in (job.files, job.valid, leave_out)
    )
    heads = {triple.head for triple in others}
    data = {Path(name).name: "as the file's" for name in job.files}
    recipe, base = job.choose_recipe(CometRecipe), job.base or "smollm2-135m"
    return train_comet(train, valid, job.folder, recipe, data, heads, base, job.device, job.log)


def _train_dynaeval(job: TrainingJob) -> Any:
    from rejoinder_lab.training.heads.dynaeval import train_dynaeval

    recipe = job.choose_recipe(DynaEvalRecipe)
    return train_dynaeval(job.read_head_data(recipe), job.folder, recipe, job.device, job.log)


def _train_generator(job: TrainingJob, vocabulary: str | Path | None = None, snapshots: Sequence[int] = ()) -> Any:
    from rejoinder_lab.models.generator.model import CARD_FILE, TOKENIZER, read_generator_card
    from rejoinder_lab.training.generator.checkpoint import NOTE
    from rejoinder_lab.training.generator.recipe import train_generator

    recipe, pieces = job.choose_recipe(GeneratorRecipe), None
    _check_shape(recipe.shape)
    if (job.folder / CARD_FILE).exists() and not (job.folder / NOTE).exists():
        raise InputError(f"{job.folder}: already has a finished generator; name a new folder")
    if vocabulary is not None:
        size = read_generator_card(Path(vocabulary)).shape.vocabulary
        recipe = replace(recipe, shape=replace(recipe.shape, vocabulary=size))
        pieces = (Path(vocabulary) / TOKENIZER).read_text(encoding="utf-8")
    return train_generator(
        job.read_dialogues(), job.folder, recipe, pieces=pieces, snapshots=snapshots, device=job.device, log=job.log
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


def _train_grade(job: TrainingJob, knowledge: Sequence[str] = ("dataset:knowledge/conceptnet",)) -> Any:
    from rejoinder_lab.training.heads.grade import train_grade

    triples = [one for name in knowledge for path in find_knowledge_files(name) for one in read_triples(path)]
    recipe = job.choose_recipe(GradeRecipe)
    return train_grade(job.read_head_data(recipe), job.folder, recipe, triples, job.device, job.log)


def _train_idk(job: TrainingJob) -> Any:
    return train_idk(
        job.read_dialogues(), job.folder, job.choose_recipe(IdkRecipe), job.find_corpus(), job.base or "aptness"
    )


def _train_nup(job: TrainingJob) -> Any:
    from rejoinder_lab.training.nup import train_nup

    recipe = job.choose_recipe(NupRecipe)
    return train_nup(
        job.read_dialogues(), job.folder, recipe, job.find_corpus(), job.base or "aptness", job.device, job.log
    )


def _train_ranker(
    job: TrainingJob, knowledge: Sequence[str] = (), knowledge_corpus: str = "dataset:corpus/dialogues"
) -> Any:
    from rejoinder_lab.training.ranker.trainer import train_ranker

    recipe = job.choose_recipe(RankerRecipe)
    if job.base is not None and job.base != recipe.encoder:
        raise InputError("a ranker's recipe names its encoder; leave out the base")
    train, valid = job.find_held_out()
    licence = _join_licences(train)
    about: dict[str, Any] = {"train": _shown_files(train), "valid": _shown_files(valid), "licence": licence}
    if recipe.encoder == EMBEDDED or recipe.kind == "situated":  # whose chooser starts from the embedded one
        about |= _base_licence(licence)
    mined = _mine_pursuits(knowledge, knowledge_corpus, job.log) if knowledge else None
    questions, held_out = _read_questions(train), _read_questions(valid)
    return train_ranker(questions, held_out, job.folder, recipe, about, mined, job.device, job.log)


def _mine_pursuits(knowledge: Sequence[str], corpus: str, log: Callable[[str], None]) -> Any:
    """What people pursue and what helps them, from knowledge files."""
    from rejoinder_lab.training.ranker.mining import mine_pursuits

    paths = [path for name in knowledge for path in find_knowledge_files(name)]
    pursuits = mine_pursuits(paths, (one for one in read_dialogues([corpus]) if one.split in (None, "train")))
    log(f"{len(pursuits):,} pairs mined")
    return pursuits


def _train_statements(job: TrainingJob, licence: str | None = None) -> Any:
    from rejoinder_lab.training.statements import train_statements

    train, valid = job.find_held_out()
    data = dict(zip(_shown_files(train), (_licence_of(name).replace(" ", "-") for name in train), strict=True))
    licence = licence or (next(iter(data.values())) if len(train) == 1 else UNKNOWN_LICENCE)
    recipe, base = job.choose_recipe(StatementRecipe), job.base or "smollm2-135m"
    return train_statements(
        read_seeds(*train), read_seeds(*valid), job.folder, recipe, data, licence, base, job.device, job.log
    )


def _train_scorer(job: TrainingJob, reference: str | None = None, resume: bool = False) -> Any:
    kind, encoder = cast(Kind, job.model), job.base or "aptness"
    recipe = job.choose_recipe(ScorerRecipe) if job.recipe is not None else make_scorer_recipe(kind, encoder)
    if recipe.kind != kind:
        raise InputError(f"the recipe is for {recipe.kind}, not for {kind}; give one for {kind}")
    corpora = job.corpora if job.files or job.corpora else CORPORA
    return train_scorer(job.read_dialogues(), job.folder, recipe, encoder, corpora, reference, resume, job.log)


def _train_usl_h(job: TrainingJob) -> Any:
    recipe = job.choose_recipe(UslHRecipe)
    return train_usl_h(job.read_head_data(recipe), job.folder, recipe, job.log)


def _train_usr(job: TrainingJob, ratings: Sequence[str | Path] = ()) -> Any:
    from rejoinder_lab.training.heads.usr import learn_part_weights, train_usr

    recipe, encoder = job.choose_recipe(UsrRecipe), job.base or "aptness"
    chosen = job.files or job.corpora or encoder != "aptness" or recipe != UsrRecipe(aspect=recipe.aspect)
    if ratings and not chosen:  # the masked language model in the package is the one that would be trained
        return learn_part_weights(read(*ratings), None, job.folder, recipe.aspect, job.log)
    corpus = job.find_corpus(None)
    card = train_usr(job.read_dialogues(), job.folder, recipe, corpus, encoder, job.device, job.log)
    return learn_part_weights(read(*ratings), job.folder, job.folder, recipe.aspect, job.log) if ratings else card


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
    from rejoinder.models.aptness_card import read_aptness_card
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


TRAINERS: Mapping[str, Trainer] = {
    "adem": Trainer(_train_adem),
    "aptness": Trainer(_train_aptness, _EXPORTED),
    "bert_ruber": Trainer(_train_bert_ruber),
    "comet": Trainer(_train_comet, _LANGUAGE_MODEL, "augment --comet-model {folder}"),
    "dynaeval": Trainer(_train_dynaeval, ("torch",)),
    "generator": Trainer(_train_generator, ("torch",), "generator:{folder}"),
    "grade": Trainer(_train_grade, ("torch",)),
    "idk": Trainer(_train_idk),
    "nup": Trainer(_train_nup, _EXPORTED),
    "ranker": Trainer(_train_ranker, _EXPORTED),
    "rsrem": Trainer(_train_scorer),
    "ruber": Trainer(_train_scorer),
    "ssrem": Trainer(_train_scorer),
    "statements": Trainer(_train_statements, _LANGUAGE_MODEL, "situate statements --writer {folder}"),
    "usl_h": Trainer(_train_usl_h),
    "usr": Trainer(_train_usr, _EXPORTED),
}
