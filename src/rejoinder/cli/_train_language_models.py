"""``rejoinder train generator``: a small system that writes replies, of the paper's ten or of another size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


@click.command("generator")
@click.argument("files", nargs=-1)
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FOLDER", help="Where to.")
@click.option("--arch", type=click.Choice(["gru", "lstm", "transformer"]), default="gru", show_default=True)
@click.option("--layers", type=click.IntRange(min=1), default=1, show_default=True, help="Of encoder and decoder each.")
@click.option("--dim", type=click.IntRange(min=2), default=256, show_default=True, help="Of words and hidden vectors.")
@click.option("--heads", type=click.IntRange(min=1), default=4, show_default=True, help="Of a transformer.")
@click.option("--no-attention", is_flag=True, help="A recurrent decoder sees the context's last state only.")
@click.option("--vocabulary", "pieces", metavar="N|FOLDER", default="16000", show_default=True,
              help="How many pieces to learn, or a generator whose vocabulary to share.")  # fmt: skip
@click.option("--steps", type=click.IntRange(min=1), default=30_000, show_default=True)
@click.option("--tokens", type=click.IntRange(min=1), default=6_000, show_default=True, help="A step.")
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), default=1e-4, show_default=True)
@click.option("--fraction", type=click.FloatRange(0, 1, min_open=True), default=1.0, show_default=True,
              help="Of the dialogues to train on; a smaller part lies within a larger one.")  # fmt: skip
@click.option("--check", type=click.IntRange(min=1), default=2_000, show_default=True,
              help="Steps between two looks at the held-out loss, each with a checkpoint.")  # fmt: skip
@click.option("--snapshot", "snapshots", type=click.IntRange(min=1), multiple=True, metavar="STEP",
              help="Also keep the network of this step, in FOLDER/step-STEP (repeatable).")  # fmt: skip
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True)
@click.option("--device", metavar="NAME", help="cuda or cpu [cuda where there is one].")
def generator(
    files: tuple[str, ...],
    output: Path,
    no_attention: bool,
    pieces: str,
    snapshots: tuple[int, ...],
    device: str | None,
    **chosen: Any,
) -> None:
    """Train a system that writes replies on FILES of dialogues with a split (JSONL, or dataset:NAME).

    Without FILES, on dataset:corpus/dialogues. A large GPU does a thousand steps in 20 to 50 seconds, a CPU in hours;
    started again with the same options, a training goes on where it was. Test what comes out with
    rejoinder select SET --system generator:FOLDER.
    """
    from importlib.util import find_spec

    from rejoinder.errors import InputError, MissingExtraError
    from rejoinder.models.generator.text import GeneratorLimits

    if find_spec("torch") is None:
        raise MissingExtraError("torch", "torch", "training")
    shape = {key: chosen.pop(key) for key in ("arch", "layers", "dim", "heads")}
    if shape["dim"] % (2 * shape["heads"] if shape["arch"] == "transformer" else 1):
        raise InputError(f"--dim {shape['dim']} cannot be shared by {shape['heads']} heads of even size")
    from rejoinder.data.inputs import DEFAULT_CORPORA, read_dialogues
    from rejoinder.models.generator.model import CARD_FILE
    from rejoinder.models.generator.shape import GeneratorShape
    from rejoinder.training.generator.recipe import train_generator
    from rejoinder.training.recipes import GeneratorRecipe

    if (output / CARD_FILE).exists() and not (output / "checkpoint.json").exists():
        raise InputError(f"{output}: holds a finished generator; name a new folder")
    shared, size = _parse_vocabulary(pieces)
    recipe = GeneratorRecipe(
        GeneratorShape(**shape, vocabulary=size, attention=not no_attention), GeneratorLimits(), **chosen
    )
    train_generator(
        read_dialogues(files or DEFAULT_CORPORA[:1]),
        output,
        recipe,
        pieces=shared,
        snapshots=snapshots,
        device=device,
        say=lambda line: click.echo(line, err=True),
    )
    click.echo(f"{output}: written; test it: rejoinder select SET --system generator:{output}", err=True)


def _parse_vocabulary(given: str) -> tuple[str | None, int]:
    """The vocabulary of another generator, and how many pieces there are or shall be."""
    from rejoinder.errors import InputError

    if given.isdecimal():
        if int(given) < 300:
            raise InputError(f"--vocabulary {given} has hardly room for letters; take 300 pieces or more")
        return None, int(given)
    from rejoinder.models.generator.model import TOKENIZER, read_card

    card = read_card(Path(given))
    return (Path(given) / TOKENIZER).read_text(encoding="utf-8"), card.shape.vocabulary


UNKNOWN_LICENCE = "not known"


@click.command("statements")
@click.argument("files", nargs=-1)
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FOLDER", help="Where to.")
@click.option("--valid", multiple=True, metavar="FILE", help="Held-out seeds (repeatable) [dataset:sugar/0/dev].")
@click.option("--licence", metavar="NAME", help="Of the weights [that of a published set].")
@click.option("--base", default="smollm2-135m", show_default=True, metavar="NAME", help="The language model.")
@click.option("--rank", type=click.IntRange(min=1), default=8, show_default=True, help="Of the additions.")
@click.option("--epochs", type=click.IntRange(min=1), default=4, show_default=True)
@click.option("--batch", type=click.IntRange(min=1), default=64, show_default=True, help="Statements a step.")
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), default=1e-3, show_default=True)
@click.option("--written", type=click.IntRange(min=0), default=200, show_default=True,
              help="Held-out requests and categories to write for, to see how many statements are right.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True)
@click.option("--device", type=click.Choice(["cuda", "cpu"]), help="[cuda where there is one]")
def statements(
    files: tuple[str, ...],
    output: Path,
    valid: tuple[str, ...],
    licence: str | None,
    base: str,
    device: str | None,
    **chosen: int | float,
) -> None:
    """Teach a language model to write statements about a situation, from FILES of seeds or questions (or dataset:NAME).

    Without FILES, from the training split of SUGAR's first fold. Use what comes out as
    rejoinder situate statements --writer FOLDER.
    """
    from importlib.util import find_spec

    from rejoinder.errors import InputError, MissingExtraError

    if files and not valid:
        raise InputError("no held-out seeds are named; give some with --valid FILE")
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise InputError(f"{output}: is there already and not empty; name a new folder")
    for module in ("torch", "transformers", "safetensors"):
        if find_spec(module) is None:
            raise MissingExtraError(module, "torch", "training")
    from rejoinder.data.seeds import read_seeds
    from rejoinder.training.recipes import StatementRecipe
    from rejoinder.training.statements import train_statements

    given, held = files or ("dataset:sugar/0/train",), valid or ("dataset:sugar/0/dev",)
    licences = {name: _read_licence(name) for name in given}
    typed: dict[str, Any] = chosen
    train_statements(
        read_seeds(*given),
        read_seeds(*held),
        output,
        StatementRecipe(**typed),
        {Path(name).name if not name.startswith("dataset:") else name: told for name, told in licences.items()},
        licence or (licences[given[0]] if len(given) == 1 else UNKNOWN_LICENCE),
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
