"""``rejoinder speakers``: what a corpus offers for speaker-sensitive sampling, and whether speakers are alike."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from rejoinder.cli._options import Output, table_format_option

if TYPE_CHECKING:
    from rejoinder.indexes.speaker_sets import Design


@click.command(short_help="What a corpus offers of speaker sets")
@click.argument("file")
@click.option("--corpus", metavar="NAME", help="Only the dialogues of this corpus [each corpus of the file by itself].")
@click.option("--split", metavar="NAME", help="Only the dialogues of this split [all; sets never straddle splits].")
@click.option(
    "--encoder",
    default="aptness",
    show_default=True,
    metavar="NAME",
    help="How utterances are compared: aptness, tfidf, glove-6b-50d, minilm or a folder.",
)
@click.option("--sets", type=click.IntRange(min=2), default=1000, show_default=True, help="Sets of each kind at most.")
@click.option("--size", type=click.IntRange(min=2), default=10, show_default=True, help="Utterances of a set at most.")
@click.option(
    "--lasting",
    type=click.Choice(["auto", "yes", "no"]),
    default="auto",
    show_default=True,
    help="Whether a label names the same speaker in every dialogue; auto looks for roles such as A, B, user.",
)
@click.option("--seed", default=0, show_default=True, help="The seed of what is drawn.")
@click.option(
    "-o",
    "--out",
    type=Output("a drawing in SVG", ".svg", path_type=Path),
    metavar="FILE.svg",
    help="Draw the similarities to a file.",
)
@table_format_option
def command(
    file: str,
    corpus: str | None,
    split: str | None,
    encoder: str,
    sets: int,
    size: int,
    lasting: Literal["auto", "yes", "no"],
    seed: int,
    out: Path | None,
    form: str,
) -> None:
    """Say what FILE offers of SSREM's speaker sets, and how alike the utterances within each are.

    FILE is JSONL with dialogues (gzip or not), - for standard input, or dataset:NAME for a published set, for example
    dataset:corpus/dialogues.
    """
    from rejoinder.files import atomic_write
    from rejoinder.indexes.speaker_similarity import speakers
    from rejoinder.reports.output import join_tables
    from rejoinder.reports.speakers import coverage_table, plot_similarity, similarity_table

    reports = speakers(
        file, corpus=corpus, split=split, encoder=encoder, sets=sets, size=size, lasting=lasting, seed=seed
    )
    tables, drawn, vectors = [], {}, ""
    design: Design
    for name, one in reports.items():
        vectors = one.vectors
        tables.append(coverage_table(one.coverage, name))
        tables += [similarity_table(kinds, design, name, vectors) for design, kinds in one.similarity.items()]
        design = "matched" if one.similarity["matched"][0].n_sets else "each set once"
        drawn[f"{name}, {design}"] = one.similarity[design]
    click.echo(join_tables(tables, form))
    if out is not None:
        with atomic_write(out) as target:
            target.write(plot_similarity(drawn, vectors).encode())
        click.echo(f"written: {out}", err=True)
