"""``rejoinder train generator`` and ``statements``: small models that write replies, or statements."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from rejoinder.cli._options import check_new_folder, folder_output_option, require_modules


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
    from rejoinder.errors import InputError
    from rejoinder.models.generator.text import GeneratorLimits

    require_modules("torch")
    if arch == "transformer" and dim % (2 * heads):
        raise InputError(f"--dim {dim} cannot be split into {heads} heads of even size; use a multiple of {2 * heads}")
    from rejoinder.data.inputs import DEFAULT_CORPORA, read_dialogues
    from rejoinder.models.generator.model import CARD_FILE
    from rejoinder.models.generator.shape import GeneratorShape
    from rejoinder.training.generator.recipe import train_generator
    from rejoinder.training.recipes import GeneratorRecipe

    if (output / CARD_FILE).exists() and not (output / "checkpoint.json").exists():
        raise InputError(f"{output}: already has a finished generator; name a new folder")
    vocabulary, size = _parse_vocabulary(pieces)
    recipe = GeneratorRecipe(
        GeneratorShape(arch=arch, layers=layers, dim=dim, heads=heads, vocabulary=size, attention=not no_attention),
        GeneratorLimits(),
        steps=steps,
        tokens=tokens,
        rate=rate,
        fraction=fraction,
        check=check,
        seed=seed,
    )
    train_generator(
        read_dialogues(files or DEFAULT_CORPORA[:1]),
        output,
        recipe,
        pieces=vocabulary,
        snapshots=snapshots,
        device=device,
        say=lambda line: click.echo(line, err=True),
    )
    click.echo(f"{output}: written; test it: rejoinder select SET --system generator:{output}", err=True)


def _parse_vocabulary(text: str) -> tuple[str | None, int]:
    """The vocabulary of another generator (None: to be learned), and its size."""
    from rejoinder.errors import InputError

    if text.isdecimal():
        if int(text) < 300:
            raise InputError(f"--vocabulary {text} is too small for single letters; use 300 or more")
        return None, int(text)
    from rejoinder.models.generator.model import TOKENIZER, read_card

    card = read_card(Path(text))
    return (Path(text) / TOKENIZER).read_text(encoding="utf-8"), card.shape.vocabulary


UNKNOWN_LICENCE = "not known"


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
    from rejoinder.errors import InputError

    if files and not valid:
        raise InputError("no held-out seeds are named; name some with --valid FILE")
    check_new_folder(output)
    require_modules("torch", "transformers", "safetensors")
    from rejoinder.data.seeds import read_seeds
    from rejoinder.training.recipes import StatementRecipe
    from rejoinder.training.statements import train_statements

    training, held_out = files or ("dataset:sugar/0/train",), valid or ("dataset:sugar/0/dev",)
    licences = {name: _read_licence(name) for name in training}
    train_statements(
        read_seeds(*training),
        read_seeds(*held_out),
        output,
        StatementRecipe(rank=rank, epochs=epochs, batch=batch, rate=rate, written=written, seed=seed),
        {Path(name).name if not name.startswith("dataset:") else name: terms for name, terms in licences.items()},
        licence or (licences[training[0]] if len(training) == 1 else UNKNOWN_LICENCE),
        base,
        device,
        lambda line: click.echo(line, err=True),
    )
    click.echo(f"{output}: written; use it: rejoinder situate statements SEEDS --writer {output}", err=True)


def _read_licence(name: str) -> str:
    if not name.startswith("dataset:"):
        return UNKNOWN_LICENCE
    from rejoinder.data.datasets import dataset

    return dataset(name.removeprefix("dataset:")).licence.replace(" ", "-")  # as cards of weights write it
