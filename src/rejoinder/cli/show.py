"""``rejoinder show``: the replies of a run with their contexts and scores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from rejoinder.cli import _help
from rejoinder.cli._options import OutputPath, by_option, output_option

if TYPE_CHECKING:
    from rejoinder.reports.reply_listing import Form

GROUP = _help.SCORING

_FORMS = ("text", "markdown", "html", "latex", "csv", "json", "jsonl", "parquet")


@click.command(short_help="Read the replies of a run: the worst, the best, any that you describe")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--worst", type=click.IntRange(min=1), metavar="N", help="Only the N worst replies, the worst first.")
@click.option("--best", type=click.IntRange(min=1), metavar="N", help="Only the N best replies, the best first.")
@click.option(
    "--sort",
    metavar="NAME",
    help="What decides: a metric, rating:ASPECT, length, turns, meta.KEY [the first metric that has a direction].",
)
@click.option(
    "--where",
    multiple=True,
    metavar="CONDITION",
    help="Only replies that meet this, e.g. 'aptness<0.3 and not meta.topic=\"refund\"'; may be repeated.",
)
@click.option("--system", multiple=True, metavar="S", help="Only replies of this system; may be repeated.")
@click.option("--search", metavar="TEXT", help="Only replies with this text, in them or in their context.")
@click.option(
    "--ids", type=click.File(encoding="utf-8"), help="Only the replies in this file, one id per line (next -o ids.txt)."
)
@click.option("-m", "--metric", "metrics", multiple=True, metavar="SPEC", help="Only this column; may be repeated.")
@by_option
@click.option("-n", "count", type=click.IntRange(min=1), help="How many replies [20 to read, all in CSV and the like].")
@click.option("--references", is_flag=True, help="Also the references of each item.")
@click.option("--full", is_flag=True, help="Do not cut long contexts and replies.")
@click.option("--format", "form", type=click.Choice(_FORMS), help="The format [as -o ends, or text].")
@click.option("--csv", "form", flag_value="csv", help="The same as --format csv.")
@click.option("--jsonl", "form", flag_value="jsonl", help="The same as --format jsonl.")
@click.option("--parquet", "form", flag_value="parquet", help="The same as --format parquet; needs -o.")
@output_option(click.Path(path_type=Path), "Write the replies to this file instead of printing them.")
def command(
    run: Path,
    worst: int | None,
    best: int | None,
    sort: str | None,
    where: tuple[str, ...],
    system: tuple[str, ...],
    search: str | None,
    ids: TextIO | None,
    metrics: tuple[str, ...],
    by: str | None,
    count: int | None,
    references: bool,
    full: bool,
    form: Form | None,
    output: Path | None,
) -> None:
    """Show the replies of RUN (a run folder) with their contexts, scores and mean ratings.

    A condition compares metrics, rating:ASPECT, length (in words), turns (of the context), system, item, dialogue and
    meta.KEY with numbers and quoted texts: = != < <= > >=, joined by and, or, not and brackets.
    """
    from rejoinder.reports.reply_listing import FORM_ENDINGS, choose_form
    from rejoinder.reports.show import PRINTED, show

    if output is not None and str(output) == "-":
        output = None
    form = form or ("text" if output is None else choose_form(output))
    if output is not None:
        OutputPath(form, FORM_ENDINGS[form]).check(str(output))
    if count is None and worst is None and best is None and ids is None and output is None and form in _FORMS[:4]:
        count = PRINTED
    wanted = None if ids is None else [line.strip() for line in ids if line.strip()]
    condition = where[0] if len(where) == 1 else " and ".join(f"({one})" for one in where) or None
    choice = {"worst": worst, "best": best, "count": count}
    listing = show(
        run, **choice, sort=sort, where=condition, system=system or None, search=search, ids=wanted,
        metrics=metrics or None, by=by, references=references,
    )  # fmt: skip
    if output is None:
        text = listing.render(form, full)
        click.echo(text, nl=not text.endswith("\n"))
        return
    listing.write(output, form)
    click.echo(f"written: {output} ({len(listing):,} replies)", err=True)
