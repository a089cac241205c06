"""``rejoinder trust``: which metric of a run agrees best with people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from rejoinder.cli import _help
from rejoinder.cli._options import choose_engine, engine_options, seed_option, table_format_option

if TYPE_CHECKING:
    from rejoinder.cli._progress import Progress

GROUP = _help.SCORING
COMMON = 3


@click.command(short_help="Show which metric agrees best with people")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--aspect", metavar="A", help="The aspect that people rated [all].")
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
    help="How two metrics are compared; permutation swaps their scores for whole dialogues and takes longer.",
)
@click.option(
    "--resamples", type=click.IntRange(min=100), default=1000, show_default=True, help="How many resamples to draw."
)
@seed_option
@engine_options("1 on this machine, all of a cluster")
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
    """Compare every metric of RUN (a run folder) with people's ratings, beside trivial baselines.

    Workers share the resamples of a large run; the numbers do not depend on how many there are.
    """
    from rejoinder.cli._progress import show_progress
    from rejoinder.comparison.rated_scores import list_rated_aspects
    from rejoinder.comparison.trust import LEVELS, trust
    from rejoinder.comparison.trust_tables import metric_agreement_table, trust_advice
    from rejoinder.scoring.reader import load_data
    from rejoinder.scoring.run import load
    from rejoinder.table import FORMATS, format_tables

    scores, data = load(run), load_data(run)
    wanted: list[str | None] = [aspect] if aspect else [*list_rated_aspects(data, scores)]
    computing = choose_engine(engine, processes, address)
    results = []
    with show_progress("resampling", "resamples", computing) as reporter:
        for done, name in enumerate(wanted or [None]):  # without ratings, trust raises the error
            progress = _share_progress(reporter.progress, done, max(1, len(wanted)))
            results.append(trust(scores, data, name, method, test, resamples, seed, computing, progress))
    if form in ("text", "markdown"):
        for result in results:
            click.echo(FORMATS[form](metric_agreement_table(result)) + "\n\n" + trust_advice(result) + "\n")
    else:
        click.echo(format_tables([metric_agreement_table(result) for result in results], form))
    n = sum(len(result.evidence.mean) for result in results)
    reporter.print_summary(len(results) * resamples * len(LEVELS), "resamples", note=f" of {n:,} rated replies")


def _share_progress(progress: Progress | None, part: int, parts: int) -> Progress | None:
    """Return a function that shows the progress of one part of the work as progress of all of it."""
    if progress is None:
        return None

    def show(done: int, total: int) -> None:
        progress(part * total + done, parts * total)

    return show
