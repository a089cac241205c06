"""``rejoinder train ssrem``, ``rsrem`` and ``ruber``: scorers that learn from dialogues without torch; ``ranker``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from rejoinder.cli._options import folder_output_option, settings_options
from rejoinder.data.questions import INPUTS, WHOLE
from rejoinder.models.ranker.settings import EMBEDDED, StatementReadingRule
from rejoinder_lab.training.recipes import RankerRecipe

if TYPE_CHECKING:
    from rejoinder.models.speaker.network import Kind


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
    paper: bool
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
        click.option(
            "--paper", is_flag=True, help="Train with most settings of the authors' program: plain means, a random M."
        ),
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

    Without FILES, on the published corpora with permanent speakers, like the shipped one. Dialogues without a split are
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
    from rejoinder_lab.training.speaker.trainer import make_scorer_recipe
    from rejoinder_lab.training.train import train

    choices = {"seed": options.seed, "epochs": options.epochs, "rate": options.rate, "loss": options.loss}
    recipe = make_scorer_recipe(
        kind,
        options.encoder,
        options.paper,
        copies=options.copies,
        **{name: value for name, value in choices.items() if value is not None},
    )
    model = train(
        kind,
        (*options.files, *(name for name in options.corpora if _is_file(name))),
        options.output,
        recipe=recipe,
        corpora=[name for name in options.corpora if not _is_file(name)],
        base=options.encoder,
        log=print_line,
        reference=options.reference,
        resume=options.resume,
    )
    for name, measured in model.card.about["measured"].items():
        if measured["first_of_five"] is not None:
            share = 100 * measured["first_of_five"]
            print_line(f"{name}, test: the true reply is the first of five in {share:.1f}%")
    print_line(f'{options.output}: written; score with it: -m "{model.use}"')


def print_line(line: str) -> None:
    """Print a line of progress."""
    click.echo(line, err=True)


def _is_file(name: str) -> bool:
    return name.startswith("dataset:") or name == "-" or name.endswith((".jsonl", ".jsonl.gz")) or Path(name).is_file()


@dataclass(frozen=True)
class RankerOptions:
    """The options of a ranker's training besides the fields of its recipe."""

    output: Path
    train: tuple[str, ...]
    valid: tuple[str, ...]
    input_name: str
    rate: float | None
    most: int
    likeness: float
    all_candidates: bool
    no_distractors: bool
    knowledge: tuple[str, ...]
    mined_corpus: str
    mined_steps: int
    seed: int
    device: str | None


@click.command("ranker")
@folder_output_option()
@click.option("--train", "train", multiple=True, metavar="FILE", help="Questions with graded "
              "candidates; may be repeated [dataset:sugar/0/train].")  # fmt: skip
@click.option("--valid", "valid", multiple=True, metavar="FILE", help="Held-out questions [dataset:sugar/0/dev].")
@settings_options(RankerRecipe, "kind")
@click.option("--input", "input_name", type=click.Choice(INPUTS), default="u+S", show_default=True,
              help="The input of a cross ranker.")  # fmt: skip
@settings_options(RankerRecipe, "encoder", "layers", "epochs", "batch")
@click.option(
    "--rate", type=click.FloatRange(min=0, min_open=True), help="The learning rate [1e-4 for embedded, else 5e-5]."
)
@settings_options(RankerRecipe, "margin", "negatives", "goal")
@click.option("--read", "most", type=click.IntRange(min=1), default=3, show_default=True,
              help="Statements to read per candidate, if a situation has more than eight.")  # fmt: skip
@settings_options(StatementReadingRule, "likeness")
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
def ranker(**options: Any) -> None:
    """Train a ranker on questions with graded candidates and, for a situated one, statements.

    Without --train, on the training split of SUGAR's first fold. The epoch with the best nDCG@3 on the held-out
    questions is kept. Use the result as rejoinder rank FILE --ranker "ranker(folder='FOLDER')".
    """
    chosen = {one.name: options.pop(one.name) for one in fields(RankerRecipe) if "help" in one.metadata}
    _train_ranker(chosen, RankerOptions(**options))


def _train_ranker(chosen: Mapping[str, Any], options: RankerOptions) -> None:
    from rejoinder.errors import InputError
    from rejoinder_lab.training.train import train

    if chosen["kind"] == "situated" and options.input_name != WHOLE:
        raise InputError("--input is for a cross ranker, since a situated one reads several inputs; leave it out")
    train(
        "ranker",
        options.train,
        options.output,
        recipe=_ranker_recipe(chosen, options),
        valid=options.valid,
        device=options.device,
        log=print_line,
        knowledge=options.knowledge,
        knowledge_corpus=options.mined_corpus,
    )
    folder = options.output
    print_line(f"{folder}: written; use it: rejoinder rank FILE --ranker \"ranker(folder='{folder}')\"")


def _ranker_recipe(chosen: Mapping[str, Any], options: RankerOptions) -> RankerRecipe:
    return RankerRecipe(
        **chosen,
        input=options.input_name,
        rate=options.rate or (1e-4 if chosen["encoder"] == EMBEDDED else 5e-5),
        own=not options.all_candidates,
        distractors=not options.no_distractors,
        mined=options.mined_steps if options.knowledge else 0,
        choice=StatementReadingRule(most=options.most, likeness=options.likeness),
        seed=options.seed,
    )
