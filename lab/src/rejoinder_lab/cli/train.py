"""``rejoinder train``: train a model of your own, or repeat the training of one that the package ships."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from rejoinder.cli import _help
from rejoinder.cli._options import folder_output_option
from rejoinder_lab.cli._train_heads import adem, bert_ruber, dynaeval, grade, usl_h, usr
from rejoinder_lab.cli._train_language_models import generator, statements
from rejoinder_lab.cli._train_scorers import print_line, ranker, rsrem, ruber, ssrem

GROUP = _help.MODELS_AND_DATA


@click.group("train", short_help="Train a model from dialogues")
def command() -> None:
    """Train a model from dialogues or ratings.

    adem, bert_ruber, idk, ssrem, rsrem, ruber and usl_h need no extra package, the others rejoinder[torch].
    """


for _subcommand in (ssrem, rsrem, ruber, adem, bert_ruber, dynaeval, grade, usl_h, usr, generator, statements, ranker):
    command.add_command(_subcommand)


@command.command("aptness")
@click.argument("files", nargs=-1)
@folder_output_option()
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    default=0,
    show_default=True,
    help="The seed of all sampling.",
)
@click.option(
    "--corpus", "corpora", multiple=True, metavar="NAME", help="Only this corpus of the files; may be repeated."
)
@click.option("--permissive", is_flag=True, help="Only the corpora whose licences allow commercial use.")
@click.option("--base", default="minilm", show_default=True, metavar="NAME",
              help="The start: minilm, gte-small, mpnet, bert-base-uncased, or a folder of aptness.")  # fmt: skip
@click.option("--teacher", "teachers", multiple=True, metavar="FOLDER",
              help="Trained networks whose scores are learned too; may be repeated.")  # fmt: skip
@click.option("--bi-steps", type=click.IntRange(min=1), help="Training steps of the bi-encoder [those of the recipe].")
@click.option(
    "--cross-steps", type=click.IntRange(min=1), help="Training steps of the cross-encoder [those of the recipe]."
)
@click.option("--batch", type=click.FloatRange(min=0, min_open=True), default=1.0, show_default=True,
              help="The batch size as a share of the recipe's; smaller for a CPU.")  # fmt: skip
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), default=1.0, show_default=True,
              help="The learning rates as a share of the recipe's; smaller for a large base.")  # fmt: skip
@click.option("--places", type=click.IntRange(min=1), help="Held-out positions per corpus [those of the recipe].")
@click.option("--device", metavar="NAME", help="The device: cuda or cpu [cuda if there is one].")
def aptness(
    files: tuple[str, ...],
    output: Path,
    seed: int,
    corpora: tuple[str, ...],
    permissive: bool,
    base: str,
    teachers: tuple[str, ...],
    bi_steps: int | None,
    cross_steps: int | None,
    batch: float,
    rate: float,
    places: int | None,
    device: str | None,
) -> None:
    """Train the two networks of aptness on FILES of dialogues with a split (JSONL, or dataset:NAME).

    Without FILES, on the corpora that the shipped networks were trained on (dataset:corpus/dialogues and
    dataset:corpus/assistant); with --permissive also on dataset:corpus/permissive and dataset:corpus/icsi. Use the
    result as -m "aptness(folder='FOLDER')".
    """
    from rejoinder_lab.training.recipes import AptnessRecipe, scale_recipe
    from rejoinder_lab.training.train import train

    recipe = scale_recipe(AptnessRecipe(seed=seed), bi_steps, cross_steps, batch, places, rate)
    model = train(
        "aptness",
        files,
        output,
        recipe=recipe,
        corpora=corpora,
        base=base,
        device=device,
        log=print_line,
        permissive=permissive,
        teachers=teachers,
    )
    print_line(f'{output}: written; score with it: -m "{model.use}"')


@command.command("idk")
@click.argument("files", nargs=-1)
@folder_output_option()
@click.option("--corpus", metavar="NAME", help="Only this corpus of the files [cornell of the published ones].")
@click.option("--encoder", default="aptness", show_default=True, metavar="NAME",
              help="The encoder of context and reply: aptness, a folder of it, bert-base-uncased.")  # fmt: skip
@click.option("--mode", type=click.Choice(["paper", "exact"]), default="paper", show_default=True,
              help="The optimiser of the paper, or the exact optimum.")  # fmt: skip
@click.option("--negative", type=click.Choice(["idk", "ics", "ok", "random"]), default="idk", show_default=True,
              help='"i don\'t know.", "i couldn\'t say", "i\'m ok.", or replies of other dialogues.')  # fmt: skip
@click.option("--regularization", type=click.Choice(["l1", "l2", "none"]), default="l1", show_default=True)
@click.option("--loss", type=click.Choice(["bce", "triplet"]), default="bce", show_default=True)
@click.option("--contexts", type=click.IntRange(min=1), default=3_750, show_default=True, help="Training contexts.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True)
def idk(
    files: tuple[str, ...],
    output: Path,
    corpus: str | None,
    encoder: str,
    mode: Literal["paper", "exact"],
    negative: Literal["idk", "ics", "ok", "random"],
    regularization: Literal["l1", "l2", "none"],
    loss: Literal["bce", "triplet"],
    contexts: int,
    seed: int,
) -> None:
    """Train the regression of idk on FILES of dialogues (JSONL, or dataset:NAME); needs no torch.

    Without FILES, on 3,750 contexts of Cornell's films (dataset:corpus/dialogues), as the shipped one. Use the result
    as -m "idk(folder='FOLDER')".
    """
    from rejoinder_lab.training.idk import IdkRecipe
    from rejoinder_lab.training.train import train

    recipe = IdkRecipe(
        contexts=contexts, seed=seed, mode=mode, negative=negative, regularization=regularization, loss=loss
    )
    model = train("idk", files, output, recipe=recipe, corpora=[corpus] if corpus else (), base=encoder)
    share = model.card.about["measured"]["true_above_negative_in_training"]
    print_line(f"the true reply scores above the negative in {100 * share:.1f}% of {contexts:,} contexts")
    print_line(f'{output}: written; score with it: -m "{model.use}"')


@command.command("nup")
@click.argument("files", nargs=-1)
@folder_output_option(required=False, usual="the cache")
@click.option("--corpus", metavar="NAME", help="Only this corpus of the files [cornell of the published ones].")
@click.option("--base", default="aptness", show_default=True, metavar="NAME",
              help="The encoder to start from: aptness, bert-base-uncased, minilm.")  # fmt: skip
@click.option("--contexts", type=click.IntRange(min=2), default=3_750, show_default=True, help="Training contexts.")
@click.option("--epochs", type=click.IntRange(min=1), default=2, show_default=True)
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), default=3e-5, show_default=True,
              help="The learning rate; published: 1e-5 for BERT-base.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True)
@click.option("--device", metavar="NAME", help="The device: cuda or cpu [cuda if there is one].")
def nup(
    files: tuple[str, ...],
    output: Path | None,
    corpus: str | None,
    base: str,
    contexts: int,
    epochs: int,
    rate: float,
    seed: int,
    device: str | None,
) -> None:
    """Fine-tune an encoder to recognise next utterances, on FILES of dialogues (JSONL, or dataset:NAME).

    Without FILES, on 3,750 contexts of Cornell's films (dataset:corpus/dialogues): a few minutes on a CPU. Use the
    result as -m nup, or with -o as -m "nup(folder='FOLDER')".
    """
    from rejoinder_lab.training.recipes import NupRecipe
    from rejoinder_lab.training.train import train

    recipe = NupRecipe(seed=seed, contexts=contexts, epochs=epochs, rate=rate)
    corpora = [corpus] if corpus else ()
    model = train("nup", files, output or "", recipe=recipe, corpora=corpora, base=base, device=device, log=print_line)
    spec = model.use if output is None else f'"{model.use}"'
    print_line(f"{model.folder}: written; score with it: -m {spec}")


@command.command("comet")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path, dir_okay=False))
@folder_output_option()
@click.option("--valid", multiple=True, required=True, type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Held-out triples; their heads are not trained on either; may be repeated.")  # fmt: skip
@click.option("--leave-out", multiple=True, type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="More triples whose heads are not trained on; may be repeated.")  # fmt: skip
@click.option(
    "--base", default="smollm2-135m", show_default=True, metavar="NAME", help="The language model to start from."
)
@click.option("--rank", type=click.IntRange(min=1), default=8, show_default=True, help="The rank of the LoRA matrices.")
@click.option("--epochs", type=click.IntRange(min=1), default=3, show_default=True)
@click.option("--batch", type=click.IntRange(min=1), default=256, show_default=True, help="Triples per step.")
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), default=1e-3, show_default=True)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True)
@click.option("--device", type=click.Choice(["cuda", "cpu"]), help="The device [cuda if there is one].")
def comet(
    files: tuple[Path, ...],
    output: Path,
    valid: tuple[Path, ...],
    leave_out: tuple[Path, ...],
    base: str,
    rank: int,
    epochs: int,
    batch: int,
    rate: float,
    seed: int,
    device: str | None,
) -> None:
    """Teach a language model to write the tails of knowledge FILES (in the layout of ATOMIC or ConceptNet).

    Use the result as rejoinder augment ITEMS --comet-model FOLDER.
    """
    from rejoinder_lab.training.recipes import CometRecipe
    from rejoinder_lab.training.train import train

    recipe = CometRecipe(rank=rank, epochs=epochs, batch=batch, rate=rate, seed=seed)
    train(
        "comet",
        files,
        output,
        recipe=recipe,
        valid=valid,
        base=base,
        device=device,
        log=print_line,
        leave_out=leave_out,
    )
    print_line(f"{output}: written")
