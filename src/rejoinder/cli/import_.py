"""``rejoinder import``: a foreign file or folder as records of ours."""

from __future__ import annotations

from typing import Any

import click

from rejoinder.cli._options import records_output


class _FormatsCommand(click.Command):
    """A command whose help ends with the formats; they are looked up only then."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The formats by name, each with its summary."""
        from rejoinder.data.importers import importer
        from rejoinder.registry import list_modules

        with formatter.section("Formats (NAME)"):
            formatter.write_dl([(name, importer(name).SUMMARY) for name in list_modules("rejoinder.data.importers")])


def _parse_fields(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    pairs = []
    for pair in given:
        ours, equals, theirs = pair.partition("=")
        if not equals or not ours:
            raise click.BadParameter(f"{pair!r} must be written OUR=COLUMN, e.g. text=reply", ctx, param)
        pairs.append((ours, theirs))
    return tuple(pairs)


@click.command("import", short_help="Convert chat logs, CSV and more", cls=_FormatsCommand)
@click.argument("name", metavar="NAME")
@click.argument("path", metavar="PATH")
@click.option(
    "-o",
    "--out",
    type=records_output(),
    default="-",
    metavar="OUT",
    help="The JSONL file to write [standard output]; *.gz is zipped.",
)
@click.option("--system", metavar="NAME", help="Whose replies these are, where the file does not say it.")
@click.option(
    "--field",
    "fields",
    multiple=True,
    callback=_parse_fields,
    metavar="OUR=COLUMN",
    help="Which column or key holds context, reference, response (or response:SYSTEM), system, item, dialogue or "
    "rating:ASPECT; may be repeated.",
)
@click.option("--separator", metavar="TEXT", help=r"What stands between the turns of a context in one cell, e.g. '\n'.")
@click.option("--rater", metavar="NAME", help="Who gave the ratings [the column's name].")
@click.option("--as", "form", type=click.Choice(["dialogues", "items"]), help="What a dialogue becomes [dialogues].")
@click.option("--max-turns", type=int, metavar="N", help="Keep the last N turns of each context (marked truncated).")
@click.option(
    "--empty",
    type=click.Choice(["error", "keep", "drop"]),
    default="error",
    show_default=True,
    help="What an empty reply in a table is.",
)
@click.option("--split", metavar="NAME", help="Which split of a saved dataset to read.")
@click.option("--delimiter", metavar="CHAR", help="What stands between the cells of a CSV row [,].")
@click.option("--no-quotes", "quotes", flag_value=False, type=bool, default=True, help="Quotes are part of the text.")
def command(name: str, path: str, out: str, **given: Any) -> None:
    """Turn PATH, a file or folder in the format NAME, into records of rejoinder's schema.

    What was imported, and what was left out and why, is told on the error stream.
    """
    from rejoinder.data.importers import ImportOptions, ImportTally, import_
    from rejoinder.data.writer import write

    tally = ImportTally()
    write(import_(name, path, ImportOptions(**given), tally), out)
    click.echo(tally.summary(name), err=True)
