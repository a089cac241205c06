"""``rejoinder import``: convert a file or folder in another format to records."""

from __future__ import annotations

from typing import Literal

import click

from rejoinder.cli import _help
from rejoinder.cli._options import records_output_option

GROUP = _help.MODELS_AND_DATA


class _FormatsCommand(click.Command):
    """A command whose help ends with a list of the formats, which are loaded only then."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the formats by name, each with its summary."""
        from rejoinder.data.importers import importer, importer_names

        with formatter.section("Formats (NAME)"):
            formatter.write_dl([(name, importer(name).SUMMARY) for name in importer_names()])


def _parse_fields(ctx: click.Context, param: click.Parameter, options: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    pairs = []
    for pair in options:
        key, equals, column = pair.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"{pair!r} must be written KEY=COLUMN, e.g. text=reply", ctx, param)
        pairs.append((key, column))
    return tuple(pairs)


@click.command("import", short_help="Convert chat logs, CSV and other formats", cls=_FormatsCommand)
@click.argument("name", metavar="NAME")
@click.argument("path", metavar="PATH")
@records_output_option(required=False)
@click.option("--system", metavar="NAME", help="The system that wrote the replies, if the file does not name it.")
@click.option(
    "--field",
    "fields",
    multiple=True,
    callback=_parse_fields,
    metavar="KEY=COLUMN",
    help="The column or key of the file that holds KEY: context, reference, response (or response:SYSTEM), system, "
    "item, dialogue or rating:ASPECT; may be repeated.",
)
@click.option("--separator", metavar="TEXT", help=r"The text between the turns of a context in one cell, e.g. '\n'.")
@click.option("--rater", metavar="NAME", help="The rater [the name of the column].")
@click.option("--as", "form", type=click.Choice(["dialogues", "items"]), help="What to make of a dialogue [dialogues].")
@click.option("--max-turns", type=int, metavar="N", help="Keep the last N turns of each context (marked truncated).")
@click.option(
    "--empty",
    type=click.Choice(["error", "keep", "drop"]),
    default="error",
    show_default=True,
    help="What to do with an empty reply in a table.",
)
@click.option("--split", metavar="NAME", help="Which split of a saved dataset to read.")
@click.option("--delimiter", metavar="CHAR", help="The character between the cells of a CSV row [,].")
@click.option(
    "--no-quotes", "quotes", flag_value=False, type=bool, default=True, help="Treat quotes as part of the text."
)
@click.option(
    "--with",
    "companion",
    metavar="FILE",
    help="A file that belongs to PATH: the requests of a batch, or message_feedback.json of ChatGPT's export.",
)
def command(
    name: str,
    path: str,
    output: str,
    system: str | None,
    fields: tuple[tuple[str, str], ...],
    separator: str | None,
    rater: str | None,
    form: Literal["dialogues", "items"] | None,
    max_turns: int | None,
    empty: Literal["error", "keep", "drop"],
    split: str | None,
    delimiter: str | None,
    quotes: bool,
    companion: str | None,
) -> None:
    """Convert PATH, a file or folder in the format NAME, to records of rejoinder's schema.

    What was imported, and what was left out and why, is printed on standard error.
    """
    from rejoinder.data.importers import ImportOptions, ImportTally, import_
    from rejoinder.data.writer import write

    tally = ImportTally()
    options = ImportOptions(
        system=system,
        fields=fields,
        separator=separator,
        rater=rater,
        form=form,
        empty=empty,
        split=split,
        delimiter=delimiter,
        quotes=quotes,
        max_turns=max_turns,
        companion=companion,
    )
    write(import_(name, path, options, tally), output)
    click.echo(tally.summary(name), err=True)
