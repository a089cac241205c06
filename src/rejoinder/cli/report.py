"""``rejoinder report``: a finished run as a page to read, or its tables in other forms."""

from __future__ import annotations

from pathlib import Path

import click

from rejoinder.cli._options import Output

_FORMS = ("html", "text", "markdown", "latex", "csv", "json")


@click.command(short_help="One HTML page of a run")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), help="The file to write, - to print [RUN.html beside RUN]."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMS),
    help="html is the whole page; the others are its tables, printed unless -o names a file [as -o ends, or html].",
)
@click.option("--aspect", metavar="A", help="Only this aspect of the ratings [all of them].")
@click.option("--seed", default=0, show_default=True, help="The seed of what is drawn again.")
def command(run: Path, out: Path | None, form: str | None, aspect: str | None, seed: int) -> None:
    """Make a page of RUN (a run folder) that stands alone: systems, agreement with people, replies, signatures."""
    from rejoinder.reports.output import REPORT_ENDINGS, choose_form, default_report_file, render_report, save_report

    form = form or choose_form(out)
    if out is not None:
        Output(form, REPORT_ENDINGS[form]).check(str(out))
    file = out or (default_report_file(run) if form == "html" else Path("-"))
    told = render_report(run, form, aspect, seed)
    if str(file) == "-":
        click.echo(told, nl=not told.endswith("\n"))
        return
    save_report(told, file, run)
    click.echo(f"report: {file}", err=True)
