"""``rejoinder train generator`` and ``statements``: small models that write replies, or statements."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import click

from rejoinder.cli._options import folder_output_option
from rejoinder_lab.cli._train_scorers import print_line


@click.command("generator")
@click.argument("files", nargs=-1)
@folder_output_option()
@click.option("--arch", type=click.Choice(["gru", "lstm", "transformer"]), default="gru", show_default=True)
@click.option(
    "--layers",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Layers of the encoder, and of the decoder.",
)
@click.option(
    "--dim", type=click.IntRange(min=2), default=256, show_default=True, help="Dimensions of words and hidden vectors."
)
@click.option(
    "--heads", type=click.IntRange(min=1), default=4, show_default=True, help="Attention heads of a transformer."
)
@click.option("--no-attention", is_flag=True, help="A recurrent decoder sees only the last state of the context.")
@click.option("--vocabulary", "pieces", metavar="N|FOLDER", default="16000", show_default=True,
              help="The size of the vocabulary, or a generator whose vocabulary to use.")  # fmt: skip
@click.option("--steps", type=click.IntRange(min=1), default=30_000, show_default=True)
@click.option("--tokens", type=click.IntRange(min=1), default=6_000, show_default=True, help="Tokens per step.")
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), default=1e-4, show_default=True)
@click.option("--fraction", type=click.FloatRange(0, 1, min_open=True), default=1.0, show_default=True,
              help="The share of dialogues to train on; a smaller share is part of a larger one.")  # fmt: skip
@click.option("--check", type=click.IntRange(min=1), default=2_000, show_default=True,
              help="Steps between two checkpoints, each with the held-out loss.")  # fmt: skip
@click.option("--snapshot", "snapshots", type=click.IntRange(min=1), multiple=True, metavar="STEP",
              help="Also keep the network of this step, in FOLDER/step-STEP; may be repeated.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True)
@click.option("--device", metavar="NAME", help="The device: cuda or cpu [cuda if there is one].")
def generator(
    files: tuple[str, ...],
    output: Path,
    arch: Literal["gru", "lstm", "transformer"],
    layers: int,
    dim: int,
    heads: int,
    no_attention: bool,
    pieces: str,
    steps: int,
    tokens: int,
    rate: float,
    fraction: float,
    check: int,
    snapshots: tuple[int, ...],
    seed: int,
    device: str | None,
) -> None:
    """Train a system that writes replies on FILES of dialogues with a split (JSONL, or dataset:NAME).

    Without FILES, on dataset:corpus/dialogues. A large GPU takes 20 to 50 seconds for a thousand steps, a CPU hours. If
    training is stopped, run the same command again to continue. Test the result with
    rejoinder select SET --system generator:FOLDER.
    """
    from rejoinder_lab.models.generator.shape import GeneratorShape
    from rejoinder_lab.training.recipes import GeneratorRecipe
    from rejoinder_lab.training.train import train

    shape = GeneratorShape(arch=arch, layers=layers, dim=dim, heads=heads, attention=not no_attention)
    recipe = GeneratorRecipe(
        replace(shape, vocabulary=int(pieces)) if pieces.isdecimal() else shape,
        steps=steps,
        tokens=tokens,
        rate=rate,
        fraction=fraction,
        check=check,
        seed=seed,
    )
    vocabulary = None if pieces.isdecimal() else pieces
    model = train(
        "generator",
        files,
        output,
        recipe=recipe,
        device=device,
        log=print_line,
        vocabulary=vocabulary,
        snapshots=snapshots,
    )
    print_line(f"{output}: written; test it: rejoinder select SET --system {model.use}")


@click.command("statements")
@click.argument("files", nargs=-1)
@folder_output_option()
@click.option("--valid", multiple=True, metavar="FILE", help="Held-out seeds; may be repeated [dataset:sugar/0/dev].")
@click.option("--licence", metavar="NAME", help="The licence of the weights [that of a published set].")
@click.option(
    "--base", default="smollm2-135m", show_default=True, metavar="NAME", help="The language model to start from."
)
@click.option("--rank", type=click.IntRange(min=1), default=8, show_default=True, help="The rank of the LoRA matrices.")
@click.option("--epochs", type=click.IntRange(min=1), default=4, show_default=True)
@click.option("--batch", type=click.IntRange(min=1), default=64, show_default=True, help="Statements per step.")
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), default=1e-3, show_default=True)
@click.option("--written", type=click.IntRange(min=0), default=200, show_default=True,
              help="Statements to write for held-out requests, to measure how many are right.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True)
@click.option("--device", type=click.Choice(["cuda", "cpu"]), help="The device [cuda if there is one].")
def statements(
    files: tuple[str, ...],
    output: Path,
    valid: tuple[str, ...],
    licence: str | None,
    base: str,
    rank: int,
    epochs: int,
    batch: int,
    rate: float,
    written: int,
    seed: int,
    device: str | None,
) -> None:
    """Teach a language model to write statements about a situation, from FILES of seeds or questions (or dataset:NAME).

    Without FILES, from the training split of SUGAR's first fold. Use the result as
    rejoinder situate statements --writer FOLDER.
    """
    from rejoinder_lab.training.recipes import StatementRecipe
    from rejoinder_lab.training.train import train

    recipe = StatementRecipe(rank=rank, epochs=epochs, batch=batch, rate=rate, written=written, seed=seed)
    train(
        "statements",
        files,
        output,
        recipe=recipe,
        valid=valid,
        base=base,
        device=device,
        log=print_line,
        licence=licence,
    )
    print_line(f"{output}: written; use it: rejoinder situate statements SEEDS --writer {output}")
