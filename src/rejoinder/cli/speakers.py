"""``rejoinder speakers``: the speaker sets of a corpus, and how similar their utterances are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from rejoinder.cli import _help
from rejoinder.cli._options import OutputPath, output_option, seed_option, table_format_option

if TYPE_CHECKING:
    from rejoinder.indexes.speaker_sets import Design

GROUP = _help.MODELS_AND_DATA


@click.command(short_help="Show the speaker sets of a corpus")
@click.argument("file")
@click.option(
    "--corpus", metavar="NAME", help="Only the dialogues of this corpus [each corpus of the file on its own]."
)
@click.option("--split", metavar="NAME", help="Only the dialogues of this split [all; no set spans two splits].")
@click.option(
    "--encoder",
    default="aptness",
    show_default=True,
    metavar="NAME",
    help="How utterances are compared: aptness, tfidf, glove-6b-50d, minilm or a folder.",
)
@click.option("--sets", type=click.IntRange(min=2), default=1000, show_default=True, help="The most sets of each kind.")
@click.option("--size", type=click.IntRange(min=2), default=10, show_default=True, help="The most utterances per set.")
@click.option(
    "--permanent-labels",
    type=click.Choice(["auto", "yes", "no"]),
    default="auto",
    show_default=True,
    help="Whether a label names the same speaker in every dialogue; auto looks for roles such as A, B, user.",
)
@seed_option
@output_option(OutputPath("an SVG image", ".svg", path_type=Path), "Also draw the similarities.", metavar="FILE.svg")
@table_format_option
def command(
    file: str,
    corpus: str | None,
    split: str | None,
    encoder: str,
    sets: int,
    size: int,
    permanent_labels: Literal["auto", "yes", "no"],
    seed: int,
    output: Path | None,
    form: str,
) -> None:
    """Show the speaker sets of SSREM in FILE, and how similar the utterances within each are.

    FILE is JSONL with dialogues (gzip or not), - for standard input, or dataset:NAME for a published set, for example
    dataset:corpus/dialogues.
    """
    from rejoinder.files import atomic_write
    from rejoinder.indexes.speaker_similarity import speakers
    from rejoinder.reports.speakers import coverage_table, plot_similarity, similarity_table
    from rejoinder.table import join_tables

    reports = speakers(
        file,
        corpus=corpus,
        split=split,
        encoder=encoder,
        sets=sets,
        size=size,
        permanent_labels=permanent_labels,
        seed=seed,
    )
    tables, similarities, vectors = [], {}, ""
    design: Design
    for name, report in reports.items():
        vectors = report.vectors
        tables.append(coverage_table(report.coverage, name))
        tables += [similarity_table(kinds, design, name, vectors) for design, kinds in report.similarity.items()]
        design = "matched" if report.similarity["matched"][0].n_sets else "each set once"
        similarities[f"{name}, {design}"] = report.similarity[design]
    click.echo(join_tables(tables, form))
    if output is not None:
        with atomic_write(output) as target:
            target.write(plot_similarity(similarities, vectors).encode())
        click.echo(f"written: {output}", err=True)
