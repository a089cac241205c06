"""``rejoinder train ssrem``, ``rsrem`` and ``ruber``: scorers that learn from dialogues without torch; ``ranker``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from rejoinder.cli._options import check_new_folder, folder_output_option, require_modules
from rejoinder.data.questions import INPUTS, WHOLE

if TYPE_CHECKING:
    from rejoinder.models.speaker.network import Kind
    from rejoinder.training.ranker.mining import Pursuit
    from rejoinder.types import Question


@dataclass(frozen=True)
class ScorerOptions:
    """The options of a scorer's training."""

    files: tuple[str, ...]
    output: Path
    corpora: tuple[str, ...]
    encoder: str
    seed: int
    epochs: int | None
    rate: float | None
    copies: bool
    reference: str | None
    resume: bool
    loss: Literal["classification", "ranking"] | None = None


def _scorer_options(loss: bool) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The options that the three share; only SSREM has a choice of losses."""
    shared = [
        click.argument("files", nargs=-1),
        folder_output_option(),
        click.option(
            "--corpus",
            "corpora",
            multiple=True,
            metavar="FILE|NAME",
            help="A file of dialogues, or only this corpus of the files; may be repeated.",
        ),
        click.option(
            "--encoder",
            default="aptness",
            show_default=True,
            metavar="NAME",
            help="The vectors of utterances: an encoder or word vectors of the catalog, or a folder.",
        ),
        click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True),
        click.option("--epochs", type=click.IntRange(min=1), help="The most epochs [those of the recipe]."),
        click.option(
            "--rate", type=click.FloatRange(min=0, min_open=True), help="The learning rate [that of the recipe]."
        ),
        click.option("--copies", is_flag=True, help="Use a turn of the context as one more negative, against copying."),
        click.option(
            "--reference", metavar="SPEC", help="The metric for the referenced part, g [the default of the scorer]."
        ),
        click.option("--resume", is_flag=True, help="Continue from the checkpoint in the folder, to the same result."),
    ]
    if loss:
        shared.append(
            click.option(
                "--loss",
                type=click.Choice(["classification", "ranking"]),
                default="classification",
                show_default=True,
                help="ranking orders true, same conversation, partner, speaker, random.",
            )
        )

    def with_options(run: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(shared):
            run = option(run)
        return run

    return with_options


@click.command("ssrem")
@_scorer_options(loss=True)
def ssrem(**options: Any) -> None:
    """Train ssrem on FILES of dialogues with speakers (JSONL, or dataset:NAME); needs no torch.

    Without FILES, on the published corpora with lasting speakers, like the shipped one. Dialogues without a split are
    split 80/10/10. Use the result as -m "ssrem(folder='FOLDER')".
    """
    _train_scorer("ssrem", ScorerOptions(**options))


@click.command("rsrem")
@_scorer_options(loss=False)
def rsrem(**options: Any) -> None:
    """Train rsrem, SSREM with four random negatives, on FILES of dialogues; needs no torch.

    FILES and options are those of rejoinder train ssrem; speakers are not needed.
    """
    _train_scorer("rsrem", ScorerOptions(**options))


@click.command("ruber")
@_scorer_options(loss=False)
def ruber(**options: Any) -> None:
    """Train ruber's unreferenced part, with one random negative and a margin, on FILES of dialogues; needs no torch.

    FILES and options are those of rejoinder train ssrem; speakers are not needed.
    """
    _train_scorer("ruber", ScorerOptions(**options))


def _train_scorer(kind: Kind, options: ScorerOptions) -> None:
    from rejoinder.data.inputs import DEFAULT_CORPORA, read_dialogues
    from rejoinder.training.speaker.trainer import CORPORA, make_recipe, train_scorer

    files = (*options.files, *(name for name in options.corpora if _is_file(name)))
    corpora = [name for name in options.corpora if not _is_file(name)]
    if not options.resume:
        check_new_folder(options.output, "name a new folder, or continue with --resume")
    choices = {"seed": options.seed, "epochs": options.epochs, "rate": options.rate, "loss": options.loss}
    recipe = make_recipe(
        kind,
        options.encoder,
        copies=options.copies,
        **{name: value for name, value in choices.items() if value is not None},
    )
    card = train_scorer(
        read_dialogues(files or DEFAULT_CORPORA[:1]),
        options.output,
        recipe,
        options.encoder,
        corpora if files or corpora else CORPORA,
        options.reference,
        options.resume,
        lambda line: click.echo(line, err=True),
    )
    for name, measured in card.about["measured"].items():
        if measured["first_of_five"] is not None:
            share = 100 * measured["first_of_five"]
            click.echo(f"{name}, test: the true reply is the first of five in {share:.1f}%", err=True)
    click.echo(f'{options.output}: written; score with it: -m "{kind}(folder={str(options.output)!r})"', err=True)


def _is_file(name: str) -> bool:
    return name.startswith("dataset:") or name == "-" or name.endswith((".jsonl", ".jsonl.gz")) or Path(name).is_file()


@click.command("ranker")
@folder_output_option()
@click.option("--train", "train", multiple=True, metavar="FILE", help="Questions with graded "
              "candidates; may be repeated [dataset:sugar/0/train].")  # fmt: skip
@click.option("--valid", "valid", multiple=True, metavar="FILE", help="Held-out questions [dataset:sugar/0/dev].")
@click.option("--kind", type=click.Choice(["situated", "cross"]), default="situated", show_default=True,
              help="situated reads the few statements that matter, cross reads every statement.")  # fmt: skip
@click.option("--input", "input_name", type=click.Choice(INPUTS), default="u+S", show_default=True,
              help="The input of a cross ranker.")  # fmt: skip
@click.option("--encoder", default="embedded", show_default=True, metavar="NAME",
              help="The network that a cross ranker starts from: the embedded one, or hf:NAME.")  # fmt: skip
@click.option("--epochs", type=click.IntRange(min=1), default=8, show_default=True)
@click.option("--batch", type=click.IntRange(min=1), default=32, show_default=True, help="Questions per step.")
@click.option(
    "--rate", type=click.FloatRange(min=0, min_open=True), help="The learning rate [1e-4 for embedded, else 5e-5]."
)
@click.option("--margin", type=click.FloatRange(min=0, min_open=True), default=1.0, show_default=True)
@click.option("--negatives", type=click.IntRange(min=0), default=2, show_default=True,
              help="Replies to other requests per question, as bad candidates.")  # fmt: skip
@click.option("--goal", type=click.FloatRange(0, 1), default=0.0, show_default=True,
              help="The share of questions that ask by the goal instead of the request.")  # fmt: skip
@click.option("--read", "most", type=click.IntRange(min=1), default=3, show_default=True,
              help="Statements to read per candidate, if a situation has more than eight.")  # fmt: skip
@click.option("--likeness", type=click.FloatRange(min=0), default=4.0, show_default=True,
              help="How much words shared with the candidate favour a statement, in log-odds.")  # fmt: skip
@click.option("--all-candidates", is_flag=True,
              help="Also train on candidates that are references of questions in other splits.")  # fmt: skip
@click.option("--no-distractors", is_flag=True, help="Do not add statements of other questions.")
@click.option("--mined", "knowledge", multiple=True, metavar="FILE",
              help="First train on pairs mined from ATOMIC or ConceptNet; may be repeated.")  # fmt: skip
@click.option("--mined-corpus", default="dataset:corpus/dialogues", show_default=True, metavar="FILE",
              help="The dialogues in which requests are counted.")  # fmt: skip
@click.option("--mined-steps", type=click.IntRange(min=1), default=500, show_default=True)
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True)
@click.option("--device", metavar="NAME", help="The device: cuda or cpu [cuda if there is one].")
def ranker(
    output: Path,
    train: tuple[str, ...],
    valid: tuple[str, ...],
    kind: Literal["situated", "cross"],
    input_name: str,
    encoder: str,
    epochs: int,
    batch: int,
    rate: float | None,
    margin: float,
    negatives: int,
    goal: float,
    most: int,
    likeness: float,
    all_candidates: bool,
    no_distractors: bool,
    knowledge: tuple[str, ...],
    mined_corpus: str,
    mined_steps: int,
    seed: int,
    device: str | None,
) -> None:
    """Train a ranker on questions with graded candidates and, for a situated one, statements.

    Without --train, on the training split of SUGAR's first fold. The epoch with the best nDCG@3 on the held-out
    questions is kept. Use the result as rejoinder rank FILE --ranker "ranker(folder='FOLDER')".
    """
    from rejoinder.errors import InputError

    if train and not valid:
        raise InputError("no held-out questions are named; name some with --valid FILE")
    if kind == "situated" and input_name != WHOLE:
        raise InputError("--input is for a cross ranker, since a situated one reads several inputs; leave it out")
    check_new_folder(output)
    require_modules("torch", "transformers", "onnx")
    from rejoinder.models.ranker.card import EMBEDDED, StatementChoice
    from rejoinder.training.ranker.recipe import RankerRecipe
    from rejoinder.training.ranker.trainer import train_ranker

    recipe = RankerRecipe(
        kind=kind,
        given=input_name,
        encoder=encoder,
        epochs=epochs,
        batch=batch,
        rate=rate or (1e-4 if encoder == EMBEDDED else 5e-5),
        margin=margin,
        negatives=negatives,
        goal=goal,
        own=not all_candidates,
        distractors=not no_distractors,
        mined=mined_steps if knowledge else 0,
        choice=StatementChoice(most=most, likeness=likeness),
        seed=seed,
    )
    training, held_out = train or ("dataset:sugar/0/train",), valid or ("dataset:sugar/0/dev",)
    mined = _mine_examples(knowledge, mined_corpus) if knowledge else None
    about = _describe_data(training, held_out, recipe.encoder == EMBEDDED)
    train_ranker(_read_questions(training), _read_questions(held_out), output, recipe, about, mined, device, _print)
    click.echo(f"{output}: written; use it: rejoinder rank FILE --ranker \"ranker(folder='{output}')\"", err=True)


def _print(line: str) -> None:
    click.echo(line, err=True)


def _read_questions(names: tuple[str, ...]) -> list[Question]:
    """The questions of files."""
    from rejoinder.data.inputs import Input
    from rejoinder.types import Question

    questions = []
    for name in names:
        data = Input(name)
        try:
            questions += [record for record, _ in data.records() if isinstance(record, Question)]
        finally:
            data.close()
    return questions


def _mine_examples(knowledge: tuple[str, ...], corpus: str) -> Sequence[Pursuit]:
    from rejoinder.data.inputs import read_dialogues
    from rejoinder.data.knowledge import find_knowledge_files
    from rejoinder.training.ranker.mining import mine_pursuits

    paths = [path for name in knowledge for path in find_knowledge_files(name)]
    pursuits = mine_pursuits(paths, (one for one in read_dialogues([corpus]) if one.split in (None, "train")))
    _print(f"{len(pursuits):,} pairs mined")
    return pursuits


def _describe_data(training: tuple[str, ...], held_out: tuple[str, ...], embedded: bool) -> dict[str, Any]:
    """What the card of a ranker says of its data and licence."""
    licence = _data_licence(training)
    about = {"train": [_named(name) for name in training], "valid": [_named(name) for name in held_out]}
    return {**about, "licence": licence, **(_base_licence(licence) if embedded else {})}


def _named(name: str) -> str:
    return name if name.startswith("dataset:") else Path(name).name


def _base_licence(data: str) -> dict[str, str]:
    """What the embedded networks add to a card: the licence of their weights applies to networks trained from them."""
    from rejoinder.models.aptness.card import read_card
    from rejoinder.models.catalog.manifest import require_model

    base = read_card(require_model("aptness"))
    return {"base": f"aptness ({base.licence})", "licence": f"{base.licence} (the base), {data} (the data)"}


def _data_licence(names: tuple[str, ...]) -> str:
    """The licences of the published sets among the training data; that of another file is not known."""
    from rejoinder.data.datasets import dataset

    licences = {dataset(n.removeprefix("dataset:")).licence if n.startswith("dataset:") else "not known" for n in names}
    return ", ".join(sorted(licences))
