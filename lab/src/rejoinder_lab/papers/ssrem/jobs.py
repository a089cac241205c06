"""The slow part of ``reproduce ssrem``: train every scorer, score held-out places and rated replies, store the scores.

python -m rejoinder_lab.papers.ssrem.jobs train                   trains what is not in the cache
python -m rejoinder_lab.papers.ssrem.jobs score -o FOLDER         scores with what is in the cache, and adds the scores
python -m rejoinder_lab.papers.ssrem.jobs similarity -o FOLDER    measures Table 2, and stores its figures
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from rejoinder.data.datasets import read_dataset
from rejoinder.errors import InputError, RejoinderError
from rejoinder.models.speaker.vectors import open_turn_encoder
from rejoinder.types import Dialogue
from rejoinder_lab.papers.requirements import use_paper_weights
from rejoinder_lab.papers.ssrem import speakers
from rejoinder_lab.papers.ssrem.example import answer_example, read_example
from rejoinder_lab.papers.ssrem.rows import answer_ratings
from rejoinder_lab.papers.ssrem.scorers import (
    CORPORA,
    ENCODERS,
    TrainedScorer,
    digest_dialogues,
    list_scorers,
    load_trained,
    train_or_load,
)
from rejoinder_lab.papers.ssrem.scores import score_held_out, select_test_dialogues
from rejoinder_lab.papers.ssrem.stored import (
    EXAMPLE,
    FOLDER,
    RATINGS,
    add_stored,
    encoder_file,
    write_places,
    write_similarity,
)
from rejoinder_lab.papers.ssrem.tables import similarity_figures

# Of the ways to measure Table 2: the paper's, and the two that compare sets of the same size.
TABLE_2_METHODS = tuple(speakers.SIMILARITY_METHODS[i] for i in (0, 3, 1))

_encoders = click.option(
    "--encoder",
    "encoders",
    multiple=True,
    type=click.Choice(ENCODERS),
    default=ENCODERS,
    help="Only with these vectors.",
)
_output = click.option(
    "-o", "--output", type=click.Path(path_type=Path, file_okay=False), default=FOLDER, help="The folder to write to."
)


@click.group(help=__doc__)
def commands() -> None:
    """The commands of this file."""


@commands.command()
@_encoders
@click.option("--only", multiple=True, help="Only scorers with this in their name, such as 'seed 1'; may be repeated.")
def train(encoders: tuple[str, ...], only: tuple[str, ...]) -> None:
    """Train what is not in the cache."""
    check_vectors(encoders)
    dialogues = read_dialogues()
    for scorer in list_scorers():
        if scorer.reading.encoder in encoders and (not only or any(part in scorer.name for part in only)):
            train_or_load(scorer, dialogues)


@commands.command()
@_output
def similarity(output: Path) -> None:
    """Measure Table 2 as rejoinder reproduce speakers does, and store its figures."""
    found = speakers.reproduce(TABLE_2_METHODS).figures
    click.echo(f"written: {write_similarity(similarity_figures(found), output)}", err=True)


@commands.command()
@_encoders
@_output
@click.option("--text", type=click.Path(path_type=Path, dir_okay=False), help="The paper's text, for its Table 1.")
def score(encoders: tuple[str, ...], output: Path, text: Path | None) -> None:
    """Score held-out places and rated replies with every scorer that is in the cache.

    What is stored already of other scorers stays.
    """
    example = read_example(text.read_text(encoding="utf-8")) if text else None
    check_vectors(encoders)
    dialogues = read_dialogues()
    measured = select_test_dialogues(dialogues)
    for encoder in encoders:
        scorers = _load_scorers(encoder, dialogues)
        paths = write_places(score_held_out(scorers, measured), digest_dialogues(measured), output)
        compared = [one for one in scorers if not (one.scorer.seed or one.scorer.on or one.scorer.copies)]
        if compared and example:
            paths.append(add_stored(encoder_file(EXAMPLE, encoder), answer_example(example, compared), output))
        if compared:
            paths.append(add_stored(encoder_file(RATINGS, encoder), answer_ratings(compared), output))
        for path in paths:
            click.echo(f"written: {path}", err=True)


def _load_scorers(encoder: str, dialogues: Sequence[Dialogue]) -> list[TrainedScorer]:
    loaded = []
    for scorer in list_scorers():
        if scorer.reading.encoder == encoder:
            if trained := load_trained(scorer, dialogues):
                loaded.append(trained)
            else:
                click.echo(f"not trained, so not scored: {scorer.name}", err=True)
    return loaded


def check_vectors(encoders: Iterable[str]) -> None:
    """Name all vectors that are missing, before any work begins."""
    missing = []
    for encoder in encoders:
        try:
            open_turn_encoder(encoder)
        except RejoinderError as error:
            missing.append(str(error))
    if missing:
        raise InputError(" ".join(missing))


def read_dialogues() -> list[Dialogue]:
    """The dialogues of the two corpora."""
    return [one for one in read_dataset("corpus/dialogues") if isinstance(one, Dialogue) and one.corpus in CORPORA]


if __name__ == "__main__":
    try:
        with use_paper_weights():
            commands()
    except RejoinderError as problem:
        raise SystemExit(f"error: {problem}") from None
