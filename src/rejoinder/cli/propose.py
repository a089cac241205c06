"""``rejoinder propose``: candidates for every item of a file, from one source."""

from __future__ import annotations

import click

from rejoinder.cli import _help
from rejoinder.cli._options import input_options, records_output_option, seed_option

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
@input_options()
def command(items: str, corpus: str, spec: str, k: int, output: str, seed: int) -> None:
    """Propose candidates from a source for every item in ITEMS, and write questions (items with candidates).

    Texts that repeat the context or a known reply are not proposed. Candidates have no grades: people or a metric give
    those. `rejoinder list sources` shows the sources.
    """
    from rejoinder.data.writer import write
    from rejoinder.sources import parse_source, propose

    source = parse_source(spec)
    result = propose(items, corpus, source, k, seed)
    n = write(result.questions, output)
    click.echo(
        f"{n:,} questions; {result.n_items - n:,} of {result.n_items:,} items got no candidate from {source}, "
        f"{result.n_short:,} got fewer than {k}",
        err=True,
    )
