"""``rejoinder propose``: candidates for every item of a file, from one source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from rejoinder.cli import _help
from rejoinder.cli._options import records_output_option, seed_option

if TYPE_CHECKING:
    from rejoinder.types import Candidate, Dialogue, Item, Question

GROUP = _help.TEST_SETS


@click.command(short_help="Propose candidates for every item, from one source")
@click.argument("items")
@click.option(
    "--corpus", required=True, metavar="FILE", help="The dialogues to take candidates from: JSONL or dataset:NAME."
)
@click.option("--source", "spec", required=True, metavar="SPEC", help="The source, e.g. random, bm25 or same_partner.")
@click.option("-k", type=click.IntRange(min=1), default=5, show_default=True, help="The most candidates per item.")
@records_output_option(required=False)
@seed_option
def command(items: str, corpus: str, spec: str, k: int, output: str, seed: int) -> None:
    """Propose candidates from a source for every item in ITEMS, and write questions (items with candidates).

    Texts that repeat the context or a known reply are not proposed. Candidates have no grades: people or a metric give
    those. `rejoinder list sources` shows the sources.
    """
    from rejoinder.data.writer import write
    from rejoinder.sources import Corpus, parse_source

    source = parse_source(spec)
    wanted = list(_read_items(items))
    proposed = source.over(Corpus.of(_read_dialogues(corpus))).propose(wanted, k, seed)
    questions = [
        _make_question(item, candidates) for item, candidates in zip(wanted, proposed, strict=True) if candidates
    ]
    n = write(questions, output)
    short = sum(len(candidates) < k for candidates in proposed)
    click.echo(
        f"{n:,} questions; {len(wanted) - n:,} of {len(wanted):,} items got no candidate from {source}, "
        f"{short:,} got fewer than {k}",
        err=True,
    )


def _read_items(file: str) -> Iterator[Item]:
    from rejoinder.data.inputs import read
    from rejoinder.errors import InputError

    items = read(file, allow_empty=True).items
    if not items:
        raise InputError(f"{file}: there are no items; make some from dialogues with: rejoinder import NAME --as items")
    yield from items.values()


def _read_dialogues(file: str) -> Iterator[Dialogue]:
    from rejoinder.data.inputs import Input
    from rejoinder.types import Dialogue

    data = Input(file)
    try:
        yield from (record for record, _ in data.records(allow_empty=True) if isinstance(record, Dialogue))
    finally:
        data.close()


def _make_question(item: Item, candidates: list[Candidate]) -> Question:
    from rejoinder.types import Question

    return Question(item.id, item.context, tuple(candidates), item.situation, item.dialogue, None, item.meta)
