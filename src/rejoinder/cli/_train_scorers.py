"""``rejoinder train ssrem``, ``rsrem`` and ``ruber``: scorers that learn from dialogues, without torch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click


def _options(loss: bool) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The options that the three share; only SSREM has a choice of losses."""
    shared = [
        click.argument("files", nargs=-1),
        click.option(
            "-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FOLDER", help="Where to."
        ),
        click.option(
            "--corpus",
            "corpora",
            multiple=True,
            metavar="FILE|NAME",
            help="A file of dialogues, or only this corpus of the files (repeatable).",
        ),
        click.option(
            "--encoder",
            default="aptness",
            show_default=True,
            metavar="NAME",
            help="V: an encoder or word vectors of the catalog, or a folder.",
        ),
        click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True),
        click.option("--epochs", type=click.IntRange(min=1), help="At most so many [those of the recipe]."),
        click.option("--rate", type=click.FloatRange(min=0, min_open=True), help="The learning rate [the recipe's]."),
        click.option("--copies", is_flag=True, help="A turn of the context as one more negative, against copying."),
        click.option("--reference", metavar="SPEC", help="The metric that g will be [the scorer's default]."),
        click.option("--resume", is_flag=True, help="Go on from the folder's checkpoint, to the same result."),
    ]
    if loss:
        shared.append(
            click.option(
                "--loss",
                type=click.Choice(["classification", "ranking"]),
                default="classification",
                show_default=True,
                help="Ranking: true, same conversation, partner, speaker, random.",
            )
        )

    def with_options(run: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(shared):
            run = option(run)
        return run

    return with_options


@click.command("ssrem")
@_options(loss=True)
def ssrem(**given: Any) -> None:
    """Train ssrem on FILES of dialogues with speakers (JSONL, or dataset:NAME); needs no torch.

    Without FILES, on the published corpora with lasting speakers, as the shipped one. Dialogues without a split are
    split 80/10/10. Use what comes out as -m "ssrem(folder='FOLDER')".
    """
    _train("ssrem", **given)


@click.command("rsrem")
@_options(loss=False)
def rsrem(**given: Any) -> None:
    """Train rsrem, SSREM with four random negatives, on FILES of dialogues; needs no torch.

    FILES and options are those of rejoinder train ssrem; speakers are not needed.
    """
    _train("rsrem", **given)


@click.command("ruber")
@_options(loss=False)
def ruber(**given: Any) -> None:
    """Train ruber's unreferenced part, with one random negative and a margin, on FILES of dialogues; needs no torch.

    FILES and options are those of rejoinder train ssrem; speakers are not needed.
    """
    _train("ruber", **given)


def _train(
    kind: Any,
    files: tuple[str, ...],
    output: Path,
    corpora: tuple[str, ...],
    encoder: str,
    copies: bool,
    reference: str | None,
    resume: bool,
    **chosen: Any,
) -> None:
    from rejoinder.errors import InputError
    from rejoinder.training.corpora import DEFAULT, dialogues_of
    from rejoinder.training.speaker_recipe import recipe_of
    from rejoinder.training.speaker_scoring import CORPORA, train_scorer

    named = [name for name in corpora if not _is_file(name)]
    given = (*files, *(name for name in corpora if _is_file(name)))
    if not resume and output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise InputError(f"{output}: is there already and not empty; name a new folder, or go on with --resume")
    recipe = recipe_of(
        kind, encoder, copies=copies, **{key: value for key, value in chosen.items() if value is not None}
    )
    dialogues = dialogues_of(given or DEFAULT[:1])
    wanted = named if given or named else CORPORA
    card = train_scorer(
        dialogues, output, recipe, encoder, wanted, reference, resume, lambda line: click.echo(line, err=True)
    )
    for name, told in card.about["measured"].items():
        if told["first_of_five"] is not None:
            click.echo(
                f"{name}, test: the true reply is the first of five in {100 * told['first_of_five']:.1f}%", err=True
            )
    click.echo(f'{output}: written; score with it: -m "{kind}(folder={str(output)!r})"', err=True)


def _is_file(name: str) -> bool:
    return name.startswith("dataset:") or name == "-" or name.endswith((".jsonl", ".jsonl.gz")) or Path(name).is_file()
