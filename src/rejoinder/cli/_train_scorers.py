"""``rejoinder train ssrem``, ``rsrem`` and ``ruber``: scorers that learn from dialogues, without torch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from rejoinder.data.questions import INPUTS, WHOLE


def _scorer_options(loss: bool) -> Callable[[Callable[..., None]], Callable[..., None]]:
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
@_scorer_options(loss=True)
def ssrem(**given: Any) -> None:
    """Train ssrem on FILES of dialogues with speakers (JSONL, or dataset:NAME); needs no torch.

    Without FILES, on the published corpora with lasting speakers, as the shipped one. Dialogues without a split are
    split 80/10/10. Use what comes out as -m "ssrem(folder='FOLDER')".
    """
    _train_scorer("ssrem", **given)


@click.command("rsrem")
@_scorer_options(loss=False)
def rsrem(**given: Any) -> None:
    """Train rsrem, SSREM with four random negatives, on FILES of dialogues; needs no torch.

    FILES and options are those of rejoinder train ssrem; speakers are not needed.
    """
    _train_scorer("rsrem", **given)


@click.command("ruber")
@_scorer_options(loss=False)
def ruber(**given: Any) -> None:
    """Train ruber's unreferenced part, with one random negative and a margin, on FILES of dialogues; needs no torch.

    FILES and options are those of rejoinder train ssrem; speakers are not needed.
    """
    _train_scorer("ruber", **given)


def _train_scorer(
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
    from rejoinder.data.inputs import DEFAULT_CORPORA, read_dialogues
    from rejoinder.errors import InputError
    from rejoinder.training.speaker.trainer import CORPORA, make_recipe, train_scorer

    named = [name for name in corpora if not _is_file(name)]
    given = (*files, *(name for name in corpora if _is_file(name)))
    if not resume and output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise InputError(f"{output}: is there already and not empty; name a new folder, or go on with --resume")
    recipe = make_recipe(
        kind, encoder, copies=copies, **{key: value for key, value in chosen.items() if value is not None}
    )
    dialogues = read_dialogues(given or DEFAULT_CORPORA[:1])
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


@click.command("ranker")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FOLDER", help="Where to.")
@click.option("--train", "train", multiple=True, metavar="FILE", help="Questions with graded candidates "
              "(repeatable) [dataset:sugar/0/train].")  # fmt: skip
@click.option("--valid", "valid", multiple=True, metavar="FILE", help="Held-out ones [dataset:sugar/0/dev].")
@click.option("--kind", type=click.Choice(["situated", "cross"]), default="situated", show_default=True,
              help="Read the few statements that matter, or every statement.")  # fmt: skip
@click.option("--input", "given", type=click.Choice(INPUTS), default="u+S", show_default=True,
              help="What a cross ranker is trained with.")  # fmt: skip
@click.option("--encoder", default="embedded", show_default=True, metavar="NAME",
              help="What a cross ranker starts from: the embedded networks, or hf:NAME.")  # fmt: skip
@click.option("--epochs", type=click.IntRange(min=1), default=8, show_default=True)
@click.option("--batch", type=click.IntRange(min=1), default=32, show_default=True, help="Questions a step.")
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), help="[1e-4 embedded, 5e-5 otherwise]")
@click.option("--margin", type=click.FloatRange(min=0, min_open=True), default=1.0, show_default=True)
@click.option("--negatives", type=click.IntRange(min=0), default=2, show_default=True,
              help="Replies to other requests, a question, that count as bad.")  # fmt: skip
@click.option("--goal", type=click.FloatRange(0, 1), default=0.0, show_default=True,
              help="Share of the questions that are asked by their goal.")  # fmt: skip
@click.option("--read", "most", type=click.IntRange(min=1), default=3, show_default=True,
              help="Statements that are read for a candidate, where a situation has more than eight.")  # fmt: skip
@click.option("--likeness", type=click.FloatRange(min=0), default=4.0, show_default=True,
              help="What a statement gains for words like the candidate's, in log-odds.")  # fmt: skip
@click.option("--all-candidates", is_flag=True,
              help="Also train on candidates that are the references of other splits' questions.")  # fmt: skip
@click.option("--no-distractors", is_flag=True, help="Do not mix statements of other questions in.")
@click.option("--mined", "knowledge", multiple=True, metavar="FILE",
              help="First learn from pursuits mined from ATOMIC or ConceptNet (repeatable).")  # fmt: skip
@click.option("--mined-corpus", default="dataset:corpus/dialogues", show_default=True, metavar="FILE",
              help="Where requests are counted.")  # fmt: skip
@click.option("--mined-steps", type=click.IntRange(min=1), default=500, show_default=True)
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True)
@click.option("--device", metavar="NAME", help="cuda or cpu [cuda where there is one].")
def ranker(
    output: Path,
    train: tuple[str, ...],
    valid: tuple[str, ...],
    rate: float | None,
    most: int,
    likeness: float,
    all_candidates: bool,
    no_distractors: bool,
    knowledge: tuple[str, ...],
    mined_corpus: str,
    mined_steps: int,
    device: str | None,
    **chosen: Any,
) -> None:
    """Train a ranker on questions with graded candidates and, for a situated one, statements.

    Without --train, on the training split of SUGAR's first fold. The epoch with the best nDCG@3 on the held-out
    questions is kept. Use what comes out as rejoinder rank FILE --ranker "ranker(folder='FOLDER')".
    """
    from importlib.util import find_spec

    from rejoinder.errors import InputError, MissingExtraError

    if train and not valid:
        raise InputError("no held-out questions are named; give some with --valid FILE")
    if chosen["kind"] == "situated" and chosen["given"] != WHOLE:
        raise InputError("--input is for a cross ranker: a situated one reads several inputs; leave it out")
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise InputError(f"{output}: is there already and not empty; name a new folder")
    for module in ("torch", "transformers", "onnx"):
        if find_spec(module) is None:
            raise MissingExtraError(module, "torch", "training")
    from rejoinder.models.ranker.card import EMBEDDED, StatementChoice
    from rejoinder.training.ranker.recipe import RankerRecipe
    from rejoinder.training.ranker.trainer import train_ranker

    given, held = train or ("dataset:sugar/0/train",), valid or ("dataset:sugar/0/dev",)
    recipe = RankerRecipe(
        rate=rate or (1e-4 if chosen["encoder"] == EMBEDDED else 5e-5),
        own=not all_candidates,
        distractors=not no_distractors,
        mined=mined_steps if knowledge else 0,
        choice=StatementChoice(most=most, likeness=likeness),
        **chosen,
    )
    say = lambda line: click.echo(line, err=True)  # noqa: E731
    mined = _mine_examples(knowledge, mined_corpus, say) if knowledge else None
    about: dict[str, Any] = {
        "train": [_named(name) for name in given],
        "valid": [_named(name) for name in held],
        "licence": _data_licence(given),
    }
    if recipe.encoder == EMBEDDED:
        about |= _base_licence(about["licence"])
    train_ranker(_read_questions(given), _read_questions(held), output, recipe, about, mined, device, say)
    click.echo(f"{output}: written; use it: rejoinder rank FILE --ranker \"ranker(folder='{output}')\"", err=True)


def _read_questions(names: tuple[str, ...]) -> list[Any]:
    """The questions of files."""
    from rejoinder.data.inputs import Input
    from rejoinder.types import Question

    found = []
    for name in names:
        opened = Input(name)
        try:
            found += [record for record, _ in opened.records() if isinstance(record, Question)]
        finally:
            opened.close()
    return found


def _mine_examples(knowledge: tuple[str, ...], corpus: str, say: Any) -> Any:
    from rejoinder.data.inputs import read_dialogues
    from rejoinder.data.knowledge import find_knowledge_files
    from rejoinder.training.ranker.mining import mine_pursuits

    paths = [path for name in knowledge for path in find_knowledge_files(name)]
    found = mine_pursuits(paths, (one for one in read_dialogues([corpus]) if one.split in (None, "train")))
    say(f"{len(found):,} pursuits mined")
    return found


def _named(name: str) -> str:
    return name if name.startswith("dataset:") else Path(name).name


def _base_licence(data: str) -> dict[str, str]:
    """What the embedded networks add to a card: the licence of their weights holds for what starts from them."""
    from rejoinder.models.aptness.card import read_card
    from rejoinder.models.catalog.manifest import require_model

    base = read_card(require_model("aptness"))
    return {"base": f"aptness ({base.licence})", "licence": f"{base.licence} (the base), {data} (the data)"}


def _data_licence(names: tuple[str, ...]) -> str:
    """That of the published sets that were trained on; where a file is not one of them, nobody told."""
    from rejoinder.data.datasets import dataset

    found = {dataset(n.removeprefix("dataset:")).licence if n.startswith("dataset:") else "not known" for n in names}
    return ", ".join(sorted(found))
