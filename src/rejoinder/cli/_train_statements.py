"""``rejoinder train statements``: teach a language model to write statements about a situation."""

from __future__ import annotations

from pathlib import Path

import click

UNKNOWN = "not known"


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
    from typing import Any

    from rejoinder.errors import InputError, MissingExtraError

    if files and not valid:
        raise InputError("no held-out seeds are named; give some with --valid FILE")
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise InputError(f"{output}: is there already and not empty; name a new folder")
    for module in ("torch", "transformers", "safetensors"):
        if find_spec(module) is None:
            raise MissingExtraError(module, "torch", "training")
    from rejoinder.data.seeds import read_seeds
    from rejoinder.training.statements import StatementRecipe, train_statements

    given, held = files or ("dataset:sugar/0/train",), valid or ("dataset:sugar/0/dev",)
    licences = {name: _licence(name) for name in given}
    typed: dict[str, Any] = chosen
    train_statements(
        read_seeds(*given),
        read_seeds(*held),
        output,
        StatementRecipe(**typed),
        {Path(name).name if not name.startswith("dataset:") else name: told for name, told in licences.items()},
        licence or (licences[given[0]] if len(given) == 1 else UNKNOWN),
        base,
        device,
        lambda line: click.echo(line, err=True),
    )
    click.echo(f"{output}: written; use it: rejoinder situate statements SEEDS --writer {output}", err=True)


def _licence(name: str) -> str:
    if not name.startswith("dataset:"):
        return UNKNOWN
    from rejoinder.data.datasets import dataset

    return dataset(name.removeprefix("dataset:")).licence.replace(" ", "-")  # as cards of weights write it
