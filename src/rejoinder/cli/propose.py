"""``rejoinder propose``: candidates for every item of a file, from any source."""

from __future__ import annotations

import click

from rejoinder.cli._options import records_output, seed_option


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
    from rejoinder.sources import parse_source
    from rejoinder.sources.proposal import propose

    source = parse_source(spec)
    made = propose(items, corpus, source, k, seed)
    n = write(made.questions, out)
    click.echo(
        f"{n:,} questions; {made.n_items - n:,} of {made.n_items:,} items got no candidate from {source}, "
        f"{made.n_short:,} fewer than {k}",
        err=True,
    )
