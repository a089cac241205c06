"""``rejoinder import``: convert a file or folder in another format to records."""

from __future__ import annotations

from typing import Literal

import click

from rejoinder.cli import _help
from rejoinder.cli._options import records_output_option, table_options

GROUP = _help.MODELS_AND_DATA


class _FormatsCommand(click.Command):
    """A command whose help ends with a list of the formats, which are loaded only then."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the formats by name, each with its summary."""
        from rejoinder.data.importers import importer, importer_names

        with formatter.section("Formats (NAME)"):
            formatter.write_dl([(name, importer(name).SUMMARY) for name in importer_names()])


@click.command("import", short_help="Convert chat logs, CSV and other formats", cls=_FormatsCommand)
@click.argument("arguments", nargs=-1, required=True, metavar="[NAME] PATH")
@records_output_option(required=False)
@table_options
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
@click.option("--delimiter", metavar="CHAR", help="The character between the cells of a CSV row [found from the file].")
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
    arguments: tuple[str, ...],
    output: str,
    system: str | None,
    fields: tuple[tuple[str, str], ...],
    separator: str | None,
    sheet: str | None,
    bots: tuple[str, ...],
    repeats: Literal["same", "apart"] | None,
    chain: bool,
    markup: Literal["strip", "keep"],
    last_turn: Literal["drop", "keep"] | None,
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

    Without NAME, the format of a file is found from its content.
    What was imported, and what was left out and why, is printed on standard error.
    """
    from rejoinder.data.importers import ImportOptions, ImportTally
    from rejoinder.data.inputs import import_
    from rejoinder.data.writer import write
    from rejoinder.errors import SpecError

    if len(arguments) > 2:
        raise SpecError(f"import takes one file or folder; import the others by themselves: {arguments[2]}")
    name, path = arguments if len(arguments) == 2 else (None, arguments[0])
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
        sheet=sheet,
        bots=bots,
        repeats=repeats,
        chain=chain,
        markup=markup,
        last_turn=last_turn,
        companion=companion,
    )
    write(import_(name, path, options, tally), output)
    click.echo(tally.summary(name or path), err=True)
