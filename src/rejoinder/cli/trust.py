"""``rejoinder trust``: which metric of a run to believe."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from rejoinder.cli._options import choose_engine, engine_options, seed_option, table_format_option


@click.command(short_help="Which metric to believe")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--aspect", metavar="A", help="The aspect that was rated [all of them].")
@click.option(
    "--method",
    type=click.Choice(["spearman", "pearson", "kendall"]),
    default="spearman",
    show_default=True,
    help="The correlation.",
)
@click.option(
    "--test",
    type=click.Choice(["bootstrap", "permutation"]),
    default="bootstrap",
    show_default=True,
    help="How two metrics are compared; permutation swaps them for whole dialogues and takes longer.",
)
@click.option(
    "--resamples", type=click.IntRange(min=100), default=1000, show_default=True, help="How often to draw again."
)
@seed_option
@engine_options("1 here, all of a cluster")
@table_format_option
def command(
    run: Path,
    aspect: str | None,
    method: Literal["spearman", "pearson", "kendall"],
    test: Literal["bootstrap", "permutation"],
    resamples: int,
    seed: int,
    processes: int | None,
    engine: str,
    address: str | None,
    form: str,
) -> None:
    """Hold every metric of RUN (a run folder) against the ratings that people gave, beside trivial baselines.

    Workers share the resamples of a large run; the numbers are the same.
    """
    from rejoinder.cli._progress import show_progress
    from rejoinder.comparison.rated_scores import list_rated_aspects
    from rejoinder.comparison.trust import LEVELS, trust
    from rejoinder.comparison.trust_tables import agreement_table, sentence
    from rejoinder.reports.output import format_tables
    from rejoinder.scoring.reader import load_data
    from rejoinder.scoring.run import load
    from rejoinder.table import FORMATS

    scores, data = load(run), load_data(run)
    wanted: list[str | None] = [aspect] if aspect else [*list_rated_aspects(data)]
    computing = choose_engine(engine, processes, address)
    tables = []
    for one in wanted or [None]:  # where there are no ratings, trust says so
        with show_progress("drawing again", "resamples", computing) as watch:
            found = trust(scores, data, one, method, test, resamples, seed, computing, watch.progress)
        if form in ("text", "markdown"):
            click.echo(FORMATS[form](agreement_table(found)) + "\n\n" + sentence(found) + "\n")
        else:
            tables.append(agreement_table(found))
        watch.tell(resamples * len(LEVELS), "resamples", note=f" of {len(found.evidence.mean):,} rated replies")
    if tables:
        click.echo(format_tables(tables, form))
