"""``rejoinder trust``: which metric of a run to believe."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from rejoinder.cli._options import seed, table_form


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
    help="How two metrics are compared; permutation swaps items and systems and takes longer.",
)
@click.option(
    "--resamples", type=click.IntRange(min=100), default=1000, show_default=True, help="How often to draw again."
)
@seed
@table_form
def command(
    run: Path,
    aspect: str | None,
    method: Literal["spearman", "pearson", "kendall"],
    test: Literal["bootstrap", "permutation"],
    resamples: int,
    seed: int,
    form: str,
) -> None:
    """Hold every metric of RUN (a run folder) against the ratings that people gave, beside trivial baselines."""
    from rejoinder.report.table import FORMATS
    from rejoinder.scoring.loading import load_data
    from rejoinder.scoring.run import load
    from rejoinder.verdict.advice import agreement_table, sentence
    from rejoinder.verdict.evidence import aspects
    from rejoinder.verdict.trust import trust

    scores, data = load(run), load_data(run)
    wanted: list[str | None] = [aspect] if aspect else [*aspects(data)]
    for one in wanted or [None]:  # where there are no ratings, trust says so
        found = trust(scores, data, one, method, test, resamples, seed)
        click.echo(FORMATS[form](agreement_table(found)))
        if form in ("text", "markdown"):
            click.echo("\n" + sentence(found) + "\n")
