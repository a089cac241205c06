"""``rejoinder train bert_ruber`` and its like: small networks over the vectors of a frozen encoder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rejoinder.cli._options import folder_output_option
from rejoinder_lab.cli._train_scorers import print_line

if TYPE_CHECKING:
    from rejoinder_lab.training.train import Recipe, Trainable


def _head_options(run: Callable[..., None]) -> Callable[..., None]:
    """The options that heads share."""
    options = [
        click.argument("files", nargs=-1),
        folder_output_option(),
        click.option(
            "--corpus", metavar="NAME", help="Only this corpus of the files [dailydialog of the published ones]."
        ),
        click.option("--encoder", default="aptness", show_default=True, metavar="NAME", help="The frozen encoder."),
        click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True),
    ]

    for option in reversed(options):
        run = option(run)
    return run


_dialogues = click.option(
    "--dialogues",
    type=click.IntRange(min=2),
    help="How many dialogues to train on, from the first [those of the recipe].",
)
_device = click.option("--device", metavar="NAME", help="The device: cuda or cpu [cuda if there is one].")


@click.command("bert_ruber")
@_head_options
@_dialogues
def bert_ruber(**options: Any) -> None:
    """Train bert_ruber's unreferenced part on FILES of dialogues (JSONL, or dataset:NAME); needs no torch.

    Without FILES, on DailyDialog (dataset:corpus/dialogues): minutes on a CPU. Use the result as
    -m "bert_ruber(folder='FOLDER')".
    """
    _train_on_dialogues("bert_ruber", "HeadRecipe", **options)


@click.command("dynaeval")
@_head_options
@_dialogues
@_device
def dynaeval(**options: Any) -> None:
    """Train dynaeval's graph network on FILES of dialogues (JSONL, or dataset:NAME).

    Without FILES, on DailyDialog (dataset:corpus/dialogues): minutes on a CPU. Use the result as
    -m "dynaeval(folder='FOLDER')".
    """
    _train_on_dialogues("dynaeval", "DynaEvalRecipe", **options)


@click.command("usl_h")
@_head_options
@_dialogues
def usl_h(**options: Any) -> None:
    """Train usl_h's understandable part on FILES of dialogues (JSONL, or dataset:NAME); needs no torch.

    Without FILES, on DailyDialog (dataset:corpus/dialogues): minutes on a CPU. Use the result as
    -m "usl_h(folder='FOLDER')".
    """
    _train_on_dialogues("usl_h", "UslHRecipe", **options)


@click.command("usr")
@_head_options
@click.option("--steps", type=click.IntRange(min=1), help="Training steps [those of the recipe].")
@click.option("--batch", type=click.IntRange(min=1), help="Replies per step [those of the recipe].")
@click.option(
    "--ratings",
    multiple=True,
    metavar="FILE",
    help="Rated replies that decide, by a regression, how much each part counts; may be repeated.",
)
@click.option("--aspect", metavar="NAME", help="Which ratings to learn [the only aspect that there is].")
@_device
def usr(ratings: tuple[str, ...], aspect: str | None, **options: Any) -> None:
    """Train usr's masked language model on FILES of dialogues (JSONL, or dataset:NAME), or only weight its parts.

    Without FILES, on all corpora of dataset:corpus/dialogues: about a minute on a GPU, hours on a CPU. Use the result
    as -m "usr(folder='FOLDER')"; its retrieval is another metric, by default bert_ruber's unreferenced part.

    With --ratings and nothing else, the masked language model in the package is kept, and only how much it and the
    retrieval count is learned: minutes on a CPU.
    """
    if aspect is not None and not ratings:
        raise click.UsageError("--aspect chooses among ratings; name their file with --ratings")
    _train_on_dialogues("usr", "UsrRecipe", **options, aspect=aspect, ratings=ratings or None)


@click.command("grade")
@_head_options
@_dialogues
@_device
@click.option(
    "--knowledge",
    multiple=True,
    metavar="FILE",
    help="Files of ConceptNet, for the keywords; may be repeated [the published ones].",
)
def grade(knowledge: tuple[str, ...], **options: Any) -> None:
    """Train grade's network on FILES of dialogues (JSONL, or dataset:NAME) and ConceptNet.

    Without FILES, on DailyDialog (dataset:corpus/dialogues): minutes on a CPU. Use the result as
    -m "grade(folder='FOLDER')".
    """
    _train_on_dialogues("grade", "GradeRecipe", **options, knowledge=knowledge or None)


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
    from rejoinder_lab.training.recipes import AdemRecipe

    _train_head("adem", files, output, AdemRecipe(dimensions=dimensions, aspect=aspect), None, encoder, licence=licence)


def _train_on_dialogues(
    model: Trainable,
    kind: str,
    files: tuple[str, ...],
    output: Path,
    corpus: str | None,
    encoder: str,
    device: str | None = None,
    knowledge: tuple[str, ...] | None = None,
    ratings: tuple[str, ...] | None = None,
    **choices: int | str | None,
) -> None:
    """Train by the recipe of a kind, but for what was chosen."""
    from rejoinder_lab.training import recipes

    recipe = getattr(recipes, kind)(**{name: value for name, value in choices.items() if value is not None})
    _train_head(model, files, output, recipe, corpus, encoder, device=device, knowledge=knowledge, ratings=ratings)


def _train_head(
    model: Trainable,
    files: tuple[str, ...],
    output: Path,
    recipe: Recipe,
    corpus: str | None,
    encoder: str,
    **options: Any,
) -> None:
    from rejoinder_lab.training.train import train

    corpora = [corpus] if corpus else ()
    trained = train(model, files, output, recipe=recipe, corpora=corpora, base=encoder, log=print_line, **options)
    figures = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in trained.card.about["measured"].items())
    print_line(f"held out: {figures}")
    print_line(f'{output}: written; score with it: -m "{trained.use}"')
