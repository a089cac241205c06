"""``rejoinder speakers``: the speaker sets of a corpus, and how similar their utterances are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from rejoinder.cli import _help
from rejoinder.cli._options import Output, output_option, seed_option, table_format_option

if TYPE_CHECKING:
    from rejoinder.indexes.corpus import Corpus
    from rejoinder.indexes.speaker_sets import Design
    from rejoinder.types import Dialogue

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
    "--lasting",
    type=click.Choice(["auto", "yes", "no"]),
    default="auto",
    show_default=True,
    help="Whether a label names the same speaker in every dialogue; auto looks for roles such as A, B, user.",
)
@seed_option
@output_option(Output("an SVG image", ".svg", path_type=Path), "Also draw the similarities.", metavar="FILE.svg")
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
    output: Path | None,
    form: str,
) -> None:
    """Show the speaker sets of SSREM in FILE, and how similar the utterances within each are.

    FILE is JSONL with dialogues (gzip or not), - for standard input, or dataset:NAME for a published set, for example
    dataset:corpus/dialogues.
    """
    from rejoinder.files import atomic_write
    from rejoinder.indexes.speaker_coverage import measure_coverage
    from rejoinder.indexes.speaker_sets import SetSampling
    from rejoinder.indexes.speaker_similarity import measure_similarity, open_vectorizer
    from rejoinder.reports.output import join_tables
    from rejoinder.reports.speakers import coverage_table, plot_similarity, similarity_table

    corpora = _read_corpora(file, corpus, split, lasting)
    vectors = open_vectorizer(encoder)
    tables, plotted = [], {}
    design: Design
    for name, dialogues in corpora.items():
        similarity = measure_similarity(dialogues, vectors, SetSampling(sets, size, seed))
        tables.append(coverage_table(measure_coverage(dialogues), name))
        tables += [similarity_table(kinds, design, name, vectors.name) for design, kinds in similarity.items()]
        design = "matched" if similarity["matched"][0].n_sets else "each set once"
        plotted[f"{name}, {design}"] = similarity[design]
    click.echo(join_tables(tables, form))
    if output is not None:
        with atomic_write(output) as target:
            target.write(plot_similarity(plotted, vectors.name).encode())
        click.echo(f"written: {output}", err=True)


def _read_corpora(
    file: str, corpus: str | None, split: str | None, lasting: Literal["auto", "yes", "no"]
) -> dict[str, Corpus]:
    """The corpora of a file by name; dialogues without a corpus go by the name of the file."""
    from rejoinder.data.inputs import Input
    from rejoinder.errors import InputError, nearest
    from rejoinder.indexes.corpus import group_by_corpus
    from rejoinder.types import Dialogue

    data = Input(file)
    seen: dict[str, set[str]] = {"corpus": set(), "split": set()}

    def chosen() -> Iterator[Dialogue]:
        for record, _ in data.records(allow_empty=True):
            if isinstance(record, Dialogue):
                seen["corpus"].add(record.corpus or "")
                seen["split"].add(record.split or "")
                if corpus in (None, record.corpus) and split in (None, record.split):
                    yield record

    try:
        corpora = group_by_corpus(chosen(), lasting)
    finally:
        data.close()
    for kind, name in (("corpus", corpus), ("split", split)):
        if name is not None and seen["corpus"] and name not in seen[kind]:
            raise InputError(f"{data.called} has no {kind} {name!r}; {nearest(name, seen[kind] - {''})}")
    if not corpora:
        missing = "dialogues of that corpus and split" if seen["corpus"] else "dialogues"
        raise InputError(f"{data.called} has no {missing}; name a file with dialogues (see docs/formats.md)")
    return {name or data.stem: dialogues for name, dialogues in corpora.items()}
