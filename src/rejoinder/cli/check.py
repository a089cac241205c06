"""``rejoinder check``: pass or fail a run, for continuous integration."""

from __future__ import annotations

from pathlib import Path

import click

from rejoinder.cli import _help
from rejoinder.cli._options import OutputPath, ignore_signatures_option

GROUP = _help.SCORING
INCONCLUSIVE = 3  # the exit status


@click.command(short_help="Pass or fail a run, for continuous integration")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--min",
    "conditions",
    multiple=True,
    metavar="CONDITION",
    help="e.g. 'bleu>=0.1', or 'bleu@bot>=0.1' for one system; may be repeated.",
)
@click.option(
    "--no-worse-than",
    "older",
    type=click.Path(path_type=Path),
    metavar="OLD_RUN",
    help="An older run folder: RUN must not be worse by the margin.",
)
@click.option(
    "--margin",
    "margins",
    multiple=True,
    metavar="NUMBER",
    help="How much worse is still allowed: a number, a share of the metric's range such as 5%, or METRIC=NUMBER for "
    "one metric; may be repeated [5%].",
)
@click.option(
    "-m",
    "--metric",
    "metrics",
    multiple=True,
    metavar="SPEC",
    help="Compare with OLD_RUN under this metric only, or under rating:ASPECT; may be repeated.",
)
@click.option("--system", "systems", multiple=True, metavar="NAME", help="Compare only this system; may be repeated.")
@click.option(
    "--min-coverage",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="The least share, from 0 to 1, that must have a score: of a system's replies for --min [1], of the items "
    "scored in OLD_RUN for --no-worse-than [0.95].",
)
@click.option("--allow-inconclusive", is_flag=True, help="Pass where there are too few data to tell.")
@ignore_signatures_option("OLD_RUN")
@click.option(
    "--junit", type=OutputPath("JUnit XML", ".xml", path_type=Path), metavar="FILE", help="Also write JUnit XML."
)
@click.option(
    "--markdown",
    type=OutputPath("Markdown", ".md", path_type=Path),
    metavar="FILE",
    help="Also write Markdown, as for a comment on a pull request, with the replies that got worse most.",
)
def command(
    run: Path,
    conditions: tuple[str, ...],
    older: Path | None,
    margins: tuple[str, ...],
    metrics: tuple[str, ...],
    systems: tuple[str, ...],
    min_coverage: float | None,
    allow_inconclusive: bool,
    ignore_signatures: bool,
    junit: Path | None,
    markdown: Path | None,
) -> None:
    """Pass or fail RUN (a run folder).

    Exit status 0: every check passed. 1: one failed. 2: a mistake in the command or in the runs. 3: none failed, but
    one was inconclusive: there are too few data to tell whether RUN is worse by the margin.
    """
    from rejoinder.comparison.check import check
    from rejoinder.comparison.worse_replies import find_worse_replies
    from rejoinder.reports.check import write_check_report

    results = check(
        run,
        conditions,
        older,
        margins or None,
        metrics=metrics or None,
        systems=systems or None,
        min_coverage=min_coverage,
        allow_inconclusive=allow_inconclusive,
        ignore_signatures=ignore_signatures,
    )
    worse = find_worse_replies(run, older, results) if older is not None and markdown is not None else []
    write_check_report(results, junit, markdown, worse)
    for result in results:
        word = result.outcome if result.outcome == "pass" else result.outcome.upper()
        click.echo(f"{word}  {result.reason}")
    counts = {outcome: sum(one.outcome == outcome for one in results) for outcome in ("pass", "fail", "inconclusive")}
    ending = " (allowed)" if allow_inconclusive and counts["inconclusive"] else ""
    inconclusive = f", {counts['inconclusive']} inconclusive{ending}" if older else ""
    click.echo(f"{counts['pass']} passed, {counts['fail']} failed{inconclusive}")
    if counts["fail"]:
        raise click.exceptions.Exit(1)
    if not all(one.passed for one in results):
        raise click.exceptions.Exit(INCONCLUSIVE)
