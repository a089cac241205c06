"""``rejoinder speakers``: what a corpus offers for speaker-sensitive sampling, and whether speakers are alike."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from rejoinder.cli._options import Output, table_format_option

if TYPE_CHECKING:
    from rejoinder.indexes.corpus import Corpus
    from rejoinder.indexes.speaker_sets import Design
    from rejoinder.types import Dialogue


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
    from rejoinder.indexes.speaker_coverage import measure_coverage
    from rejoinder.indexes.speaker_sets import SetSampling
    from rejoinder.indexes.speaker_similarity import measure_similarity, open_vectorizer
    from rejoinder.reports.output import join_tables
    from rejoinder.reports.speakers import coverage_table, plot_similarity, similarity_table

    corpora = _read_corpora(file, corpus, split, lasting)
    vectors = open_vectorizer(encoder)
    tables, drawn = [], {}
    design: Design
    for name, one in corpora.items():
        found = measure_similarity(one, vectors, SetSampling(sets, size, seed))
        tables.append(coverage_table(measure_coverage(one), name))
        tables += [similarity_table(kinds, design, name, vectors.name) for design, kinds in found.items()]
        design = "matched" if found["matched"][0].n_sets else "each set once"
        drawn[f"{name}, {design}"] = found[design]
    click.echo(join_tables(tables, form))
    if out is not None:
        with atomic_write(out) as target:
            target.write(plot_similarity(drawn, vectors.name).encode())
        click.echo(f"written: {out}", err=True)


def _read_corpora(
    file: str, corpus: str | None, split: str | None, lasting: Literal["auto", "yes", "no"]
) -> dict[str, Corpus]:
    """The corpora of a file by name; one that has none goes by the file's."""
    from rejoinder.data.inputs import Input
    from rejoinder.errors import InputError, nearest
    from rejoinder.indexes.corpus import group_by_corpus
    from rejoinder.types import Dialogue

    opened = Input(file)
    seen: dict[str, set[str]] = {"corpus": set(), "split": set()}

    def wanted() -> Iterator[Dialogue]:
        for record, _ in opened.records(allow_empty=True):
            if isinstance(record, Dialogue):
                seen["corpus"].add(record.corpus or "")
                seen["split"].add(record.split or "")
                if corpus in (None, record.corpus) and split in (None, record.split):
                    yield record

    try:
        found = group_by_corpus(wanted(), lasting)
    finally:
        opened.close()
    for kind, asked in (("corpus", corpus), ("split", split)):
        if asked is not None and seen["corpus"] and asked not in seen[kind]:
            raise InputError(f"{opened.called} has no {kind} {asked!r}; {nearest(asked, seen[kind] - {''})}")
    if not found:
        what = "dialogues of that corpus and split" if seen["corpus"] else "dialogues"
        raise InputError(f"{opened.called} holds no {what}; name a file with dialogues (see docs/formats.md)")
    return {name or opened.stem: one for name, one in found.items()}
