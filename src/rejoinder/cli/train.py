"""``rejoinder train``: make a model of your own, or follow the recipe of one that the package ships."""

from __future__ import annotations

from pathlib import Path

import click

from rejoinder.cli._train_language_models import generator, statements
from rejoinder.cli._train_scorers import ranker, rsrem, ruber, ssrem


@click.group("train", short_help="Train a model from dialogues")
def command() -> None:
    """Train a model from dialogues; idk, ssrem, rsrem and ruber need nothing more, the others rejoinder[torch]."""


for other in (ssrem, rsrem, ruber, generator, statements, ranker):
    command.add_command(other)


@command.command("aptness")
@click.argument("files", nargs=-1)
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FOLDER", help="Where to.")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    default=0,
    show_default=True,
    help="The seed of everything that is drawn.",
)
@click.option("--corpus", "corpora", multiple=True, metavar="NAME", help="Only this corpus of the files (repeatable).")
@click.option("--permissive", is_flag=True, help="Only the corpora whose licences allow commercial use.")
@click.option("--base", default="minilm", show_default=True, metavar="NAME", help="The encoder to start from.")
@click.option("--bi-steps", type=click.IntRange(min=1), help="Steps of the bi-encoder [those of the recipe].")
@click.option("--cross-steps", type=click.IntRange(min=1), help="Steps of the cross-encoder [those of the recipe].")
@click.option("--batch", type=click.FloatRange(min=0, min_open=True), default=1.0, show_default=True,
              help="A step's size, as a share of the recipe's: smaller ones for a CPU.")  # fmt: skip
@click.option("--places", type=click.IntRange(min=1), help="Held-out places a corpus [those of the recipe].")
@click.option("--device", metavar="NAME", help="cuda or cpu [cuda where there is one].")
def aptness(
    files: tuple[str, ...],
    output: Path,
    seed: int,
    corpora: tuple[str, ...],
    permissive: bool,
    base: str,
    bi_steps: int | None,
    cross_steps: int | None,
    batch: float,
    places: int | None,
    device: str | None,
) -> None:
    """Train the two networks of aptness on FILES of dialogues with a split (JSONL, or dataset:NAME).

    Without FILES, on the corpora that the shipped networks were trained on (dataset:corpus/dialogues and
    dataset:corpus/assistant). Use what comes out as -m "aptness(folder='FOLDER')".
    """
    from importlib.util import find_spec

    from rejoinder.errors import InputError, MissingExtraError

    if permissive and corpora:
        raise InputError("--permissive and --corpus both choose the corpora; give one of them")
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise InputError(f"{output}: is there already and not empty; name a new folder")
    for module in ("torch", "transformers", "onnx"):
        if find_spec(module) is None:
            raise MissingExtraError(module, "torch", "training")
    from rejoinder.data.inputs import DEFAULT_CORPORA, read_dialogues
    from rejoinder.training.aptness.recipe import scale_recipe, train_aptness
    from rejoinder.training.licence import PERMISSIVE
    from rejoinder.training.recipes import AptnessRecipe

    recipe = scale_recipe(
        AptnessRecipe(seed=seed, corpora=PERMISSIVE if permissive else corpora), bi_steps, cross_steps, batch, places
    )
    train_aptness(
        read_dialogues(files or DEFAULT_CORPORA), output, recipe, base, device, lambda line: click.echo(line, err=True)
    )
    click.echo(f'{output}: written; score with it: -m "aptness(folder={str(output)!r})"', err=True)


@command.command("idk")
@click.argument("files", nargs=-1)
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FOLDER", help="Where to.")
@click.option("--corpus", metavar="NAME", help="Only this corpus of the files [cornell of the published ones].")
@click.option("--encoder", default="aptness", show_default=True, metavar="NAME",
              help="What reads context and reply together: aptness, a folder of it, bert-base-uncased.")  # fmt: skip
@click.option("--mode", type=click.Choice(["paper", "exact"]), default="paper", show_default=True,
              help="The paper's optimiser, or the exact optimum.")  # fmt: skip
@click.option("--negative", type=click.Choice(["idk", "ics", "ok", "random"]), default="idk", show_default=True,
              help='"i don\'t know.", "i couldn\'t say", "i\'m ok.", or replies of other dialogues.')  # fmt: skip
@click.option("--regularization", type=click.Choice(["l1", "l2", "none"]), default="l1", show_default=True)
@click.option("--loss", type=click.Choice(["bce", "triplet"]), default="bce", show_default=True)
@click.option("--contexts", type=click.IntRange(min=1), default=3_750, show_default=True, help="How many to train on.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True)
def idk(
    files: tuple[str, ...], output: Path, corpus: str | None, encoder: str, contexts: int, seed: int, **chosen: str
) -> None:
    """Train the regression of idk on FILES of dialogues (JSONL, or dataset:NAME); needs no torch.

    Without FILES, on 3,750 contexts of Cornell's films (dataset:corpus/dialogues), as the shipped one. Use what comes
    out as -m "idk(folder='FOLDER')".
    """
    from typing import Any

    from rejoinder.data.inputs import DEFAULT_CORPORA, read_dialogues
    from rejoinder.errors import InputError
    from rejoinder.training.idk import IdkRecipe, train_idk

    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise InputError(f"{output}: is there already and not empty; name a new folder")
    typed: dict[str, Any] = chosen
    recipe = IdkRecipe(contexts=contexts, seed=seed, **typed)
    given = read_dialogues(files or DEFAULT_CORPORA[:1])
    card = train_idk(given, output, recipe, corpus if files else corpus or "cornell", encoder)
    apart = card.about["measured"]["true_above_negative_in_training"]
    click.echo(f"the true reply is above the negative of its context in {100 * apart:.1f}% of {contexts:,}", err=True)
    click.echo(f'{output}: written; score with it: -m "idk(folder={str(output)!r})"', err=True)


@command.command("nup")
@click.argument("files", nargs=-1)
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FOLDER", help="Where to [the cache].")
@click.option("--corpus", metavar="NAME", help="Only this corpus of the files [cornell of the published ones].")
@click.option("--base", default="aptness", show_default=True, metavar="NAME",
              help="The encoder to start from: aptness, bert-base-uncased, minilm.")  # fmt: skip
@click.option("--contexts", type=click.IntRange(min=2), default=3_750, show_default=True, help="How many to train on.")
@click.option("--epochs", type=click.IntRange(min=1), default=2, show_default=True)
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), default=3e-5, show_default=True,
              help="The learning rate; published: 1e-5 for BERT-base.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True)
@click.option("--device", metavar="NAME", help="cuda or cpu [cuda where there is one].")
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
    """Fine-tune an encoder to tell next utterances on FILES of dialogues (JSONL, or dataset:NAME).

    Without FILES, on 3,750 contexts of Cornell's films (dataset:corpus/dialogues): some minutes on a CPU. Use what
    comes out as -m nup, or as -m "nup(folder='FOLDER')" where a folder was named.
    """
    from importlib.util import find_spec

    from rejoinder.errors import InputError, MissingExtraError
    from rejoinder.models.nup.model import default_folder

    target = output or default_folder()
    if output is not None and output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise InputError(f"{output}: is there already and not empty; name a new folder")
    for module in ("torch", "transformers", "onnx"):
        if find_spec(module) is None:
            raise MissingExtraError(module, "torch", "training")
    from rejoinder.data.inputs import DEFAULT_CORPORA, read_dialogues
    from rejoinder.training.nup import train_nup
    from rejoinder.training.recipes import NupRecipe

    recipe = NupRecipe(seed=seed, contexts=contexts, epochs=epochs, rate=rate)
    given = read_dialogues(files or DEFAULT_CORPORA[:1])
    chosen = corpus if files else corpus or "cornell"
    train_nup(given, target, recipe, chosen, base, device, lambda line: click.echo(line, err=True))
    spec = "nup" if output is None else f'"nup(folder={str(output)!r})"'
    click.echo(f"{target}: written; score with it: -m {spec}", err=True)


@command.command("comet")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path, dir_okay=False))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FOLDER", help="Where to.")
@click.option("--valid", multiple=True, required=True, type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Triples that are not trained on, nor their heads (repeatable).")  # fmt: skip
@click.option("--leave-out", multiple=True, type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="More triples whose heads are not trained on (repeatable).")  # fmt: skip
@click.option("--base", default="smollm2-135m", show_default=True, metavar="NAME", help="The language model.")
@click.option("--rank", type=click.IntRange(min=1), default=8, show_default=True, help="Of the additions.")
@click.option("--epochs", type=click.IntRange(min=1), default=3, show_default=True)
@click.option("--batch", type=click.IntRange(min=1), default=256, show_default=True, help="Triples a step.")
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), default=1e-3, show_default=True)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True)
@click.option("--device", type=click.Choice(["cuda", "cpu"]), help="[cuda where there is one]")
def comet(
    files: tuple[Path, ...],
    output: Path,
    valid: tuple[Path, ...],
    leave_out: tuple[Path, ...],
    base: str,
    device: str | None,
    **chosen: int | float,
) -> None:
    """Teach a language model to write the tails of knowledge FILES (ATOMIC's or ConceptNet's layout).

    Use what comes out as rejoinder augment ITEMS --comet-model FOLDER.
    """
    from importlib.util import find_spec
    from typing import Any

    from rejoinder.data.knowledge import read_triples
    from rejoinder.errors import InputError, MissingExtraError

    if not files:
        raise InputError("no knowledge file is named; give one or more, such as ATOMIC's dev.tsv")
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise InputError(f"{output}: is there already and not empty; name a new folder")
    for module in ("torch", "transformers", "safetensors"):
        if find_spec(module) is None:
            raise MissingExtraError(module, "torch", "training")
    from rejoinder.training.comet import train_comet
    from rejoinder.training.recipes import CometRecipe

    read = {path: list(read_triples(path)) for path in (*files, *valid, *leave_out)}  # what is wrong is told at once
    typed: dict[str, Any] = chosen
    train_comet(
        [triple for path in files for triple in read[path]],
        [triple for path in valid for triple in read[path]],
        output,
        CometRecipe(**typed),
        {path.name: "as the file's" for path in files},
        {triple.head for path in leave_out for triple in read[path]},
        base,
        device,
        lambda line: click.echo(line, err=True),
    )
    click.echo(f"{output}: written", err=True)
