"""``rejoinder propose``: candidates for every item of a file, from any source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from rejoinder.cli._options import records_output, seed_option

if TYPE_CHECKING:
    from rejoinder.types import Candidate, Dialogue, Item, Question


@click.command(short_help="Candidates for every item, from any source")
@click.argument("items")
@click.option("--corpus", required=True, metavar="FILE", help="The dialogues to draw from: JSONL or dataset:NAME.")
@click.option("--source", "spec", required=True, metavar="SPEC", help="e.g. random, bm25 or same_partner.")
@click.option("-k", type=click.IntRange(min=1), default=5, show_default=True, help="Candidates an item at most.")
@click.option(
    "-o", "--out", default="-", type=records_output(), metavar="FILE", help="Where the questions go [standard output]."
)
@seed_option
def command(items: str, corpus: str, spec: str, k: int, out: str, seed: int) -> None:
    """Let a source propose candidates for every item in ITEMS, and write questions (items with candidates).

    Nothing that says the same as the context or a known reply is proposed, and nothing is graded: that is for people or
    a metric to do. `rejoinder list sources` shows the sources.
    """
    from rejoinder.data.writer import write
    from rejoinder.sources import Corpus, parse_source

    source = parse_source(spec)
    wanted = list(_read_items(items))
    proposed = source.over(Corpus.of(_read_dialogues(corpus))).propose(wanted, k, seed)
    questions = [
        _make_question(item, candidates) for item, candidates in zip(wanted, proposed, strict=True) if candidates
    ]
    n = write(questions, out)
    short = sum(len(candidates) < k for candidates in proposed)
    click.echo(
        f"{n:,} questions; {len(wanted) - n:,} of {len(wanted):,} items got no candidate from {source}, "
        f"{short:,} fewer than {k}",
        err=True,
    )


def _read_items(given: str) -> Iterator[Item]:
    from rejoinder.data.inputs import read
    from rejoinder.errors import InputError

    found = read(given, allow_empty=True).items
    if not found:
        raise InputError(f"{given}: there are no items; make some of dialogues with: rejoinder import NAME --as items")
    yield from found.values()


def _read_dialogues(given: str) -> Iterator[Dialogue]:
    from rejoinder.data.inputs import Input
    from rejoinder.types import Dialogue

    opened = Input(given)
    try:
        yield from (record for record, _ in opened.records(allow_empty=True) if isinstance(record, Dialogue))
    finally:
        opened.close()


def _make_question(item: Item, candidates: list[Candidate]) -> Question:
    from rejoinder.types import Question

    return Question(item.id, item.context, tuple(candidates), item.situation, item.dialogue, None, item.meta)
