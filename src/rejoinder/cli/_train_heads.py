"""``rejoinder train bert_ruber`` and its like: small networks over the vectors of a frozen encoder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rejoinder.cli._options import folder_output_option
from rejoinder.cli._train_scorers import print_line

if TYPE_CHECKING:
    from rejoinder.training.train import Recipe, Trainable


def _head_options(run: Callable[..., None]) -> Callable[..., None]:
    """The options that heads share."""
    options = [
        click.argument("files", nargs=-1),
        folder_output_option(),
        click.option(
            "--corpus", metavar="NAME", help="Only this corpus of the files [dailydialog of the published ones]."
        ),
        click.option("--encoder", default="aptness", show_default=True, metavar="NAME", help="The frozen encoder."),
        click.option(
            "--dialogues",
            type=click.IntRange(min=2),
            help="How many dialogues to train on, from the first [those of the recipe].",
        ),
        click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True),
    ]

    for option in reversed(options):
        run = option(run)
    return run


@click.command("bert_ruber")
@_head_options
def bert_ruber(
    files: tuple[str, ...], output: Path, corpus: str | None, encoder: str, dialogues: int | None, seed: int
) -> None:
    """Train bert_ruber's unreferenced part on FILES of dialogues (JSONL, or dataset:NAME); needs no torch.

    Without FILES, on DailyDialog (dataset:corpus/dialogues): minutes on a CPU. Use the result as
    -m "bert_ruber(folder='FOLDER')".
    """
    from rejoinder.training.recipes import HeadRecipe

    _train_head("bert_ruber", files, output, HeadRecipe(**_choices(seed, dialogues)), corpus, encoder)


@click.command("dynaeval")
@_head_options
def dynaeval(
    files: tuple[str, ...], output: Path, corpus: str | None, encoder: str, dialogues: int | None, seed: int
) -> None:
    """Train dynaeval's graph network on FILES of dialogues (JSONL, or dataset:NAME).

    Without FILES, on DailyDialog (dataset:corpus/dialogues): minutes on a CPU. Use the result as
    -m "dynaeval(folder='FOLDER')".
    """
    from rejoinder.training.recipes import DynaEvalRecipe

    _train_head("dynaeval", files, output, DynaEvalRecipe(**_choices(seed, dialogues)), corpus, encoder)


@click.command("usl_h")
@_head_options
def usl_h(
    files: tuple[str, ...], output: Path, corpus: str | None, encoder: str, dialogues: int | None, seed: int
) -> None:
    """Train usl_h's understandable part on FILES of dialogues (JSONL, or dataset:NAME); needs no torch.

    Without FILES, on DailyDialog (dataset:corpus/dialogues): minutes on a CPU. Use the result as
    -m "usl_h(folder='FOLDER')".
    """
    from rejoinder.training.recipes import UslHRecipe

    _train_head("usl_h", files, output, UslHRecipe(**_choices(seed, dialogues)), corpus, encoder)


@click.command("grade")
@_head_options
@click.option(
    "--knowledge",
    multiple=True,
    metavar="FILE",
    help="Files of ConceptNet, for the keywords; may be repeated [the published ones].",
)
def grade(
    files: tuple[str, ...],
    output: Path,
    corpus: str | None,
    encoder: str,
    dialogues: int | None,
    seed: int,
    knowledge: tuple[str, ...],
) -> None:
    """Train grade's network on FILES of dialogues (JSONL, or dataset:NAME) and ConceptNet.

    Without FILES, on DailyDialog (dataset:corpus/dialogues): minutes on a CPU. Use the result as
    -m "grade(folder='FOLDER')".
    """
    from rejoinder.training.recipes import GradeRecipe

    recipe = GradeRecipe(**_choices(seed, dialogues))
    _train_head("grade", files, output, recipe, corpus, encoder, knowledge=knowledge or None)


@click.command("adem")
@click.argument("files", nargs=-1, required=True)
@folder_output_option()
@click.option("--aspect", metavar="NAME", help="Which ratings to learn [the only aspect that there is].")
@click.option("--encoder", default="aptness", show_default=True, metavar="NAME", help="The frozen encoder.")
@click.option(
    "--dimensions", type=click.IntRange(1, 384), default=30, show_default=True, help="Principal components to keep."
)
@click.option("--licence", metavar="NAME", help="The licence of the ratings, for the card [not known].")
def adem(
    files: tuple[str, ...], output: Path, aspect: str | None, encoder: str, dimensions: int, licence: str | None
) -> None:
    """Train adem on FILES of rated replies, such as your own ratings; needs no torch.

    Every tenth block of a hundred replies is held out. Use the result as -m "adem(folder='FOLDER')".
    """
    from rejoinder.training.recipes import AdemRecipe

    _train_head("adem", files, output, AdemRecipe(dimensions=dimensions, aspect=aspect), None, encoder, licence=licence)


def _choices(seed: int, dialogues: int | None) -> dict[str, Any]:
    """What a recipe is to have other than usual."""
    return {"seed": seed} if dialogues is None else {"seed": seed, "dialogues": dialogues}


def _train_head(
    model: Trainable,
    files: tuple[str, ...],
    output: Path,
    recipe: Recipe,
    corpus: str | None,
    encoder: str,
    **options: Any,
) -> None:
    from rejoinder.training.train import train

    corpora = [corpus] if corpus else ()
    trained = train(model, files, output, recipe=recipe, corpora=corpora, base=encoder, say=print_line, **options)
    figures = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in trained.card.about["measured"].items())
    print_line(f"held out: {figures}")
    print_line(f'{output}: written; score with it: -m "{trained.use}"')
