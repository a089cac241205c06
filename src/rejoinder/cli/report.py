"""``rejoinder report``: a finished run as an HTML page, or its tables in other formats."""

from __future__ import annotations

from pathlib import Path

import click

from rejoinder.cli import _help
from rejoinder.cli._options import OutputPath, by_option, output_option, seed_option

GROUP = _help.SCORING
COMMON = 4

_FORMS = ("html", "text", "markdown", "latex", "csv", "json")


@click.command(short_help="Write one HTML page about a run")
@click.argument("run", type=click.Path(path_type=Path))
@output_option(click.Path(path_type=Path), "The file to write, - to print it [RUN.html beside RUN].")
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMS),
    help="html is the whole page; the others are its tables, printed unless -o names a file [as -o ends, or html].",
)
@click.option("--aspect", metavar="A", help="Only this aspect of the ratings [all].")
@by_option
@seed_option
def command(run: Path, output: Path | None, form: str | None, aspect: str | None, by: str | None, seed: int) -> None:
    """Make a self-contained page about RUN (a run folder): systems, agreement with people, replies, signatures."""
    from rejoinder.reports.output import REPORT_ENDINGS, choose_form, default_report_file, render_report, save_report

    form = form or choose_form(output)
    if output is not None:
        OutputPath(form, REPORT_ENDINGS[form]).check(str(output))
    file = output or (default_report_file(run) if form == "html" else Path("-"))
    page = render_report(run, form, aspect, seed, by)
    if str(file) == "-":
        click.echo(page, nl=not page.endswith("\n"))
        return
    save_report(page, file, run)
    click.echo(f"report: {file}", err=True)
