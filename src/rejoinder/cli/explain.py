"""``rejoinder explain``: which part of the context a reply answers, and which of its words lower its score most."""

from __future__ import annotations

import sys

import click

from rejoinder.cli import _help
from rejoinder.cli._options import input_options, table_format_option

GROUP = _help.SCORING


@click.command(short_help="Show why a reply got its score")
@click.argument("file", required=False)
@click.option("--response", metavar="ID", help="The reply in FILE to explain.")
@click.option(
    "--context", multiple=True, metavar="TEXT", help="An utterance before the reply; may be repeated, oldest first."
)
@click.option("--reply", metavar="TEXT", help="The reply, if no FILE is given.")
@click.option("-m", "--metric", default="aptness", show_default=True, metavar="SPEC", help="The metric to explain.")
@table_format_option
@input_options()
def command(
    file: str | None, response: str | None, context: tuple[str, ...], reply: str | None, metric: str, form: str
) -> None:
    """Show which part of the context a reply answers and which of its words lower its score most.

    Every utterance (and every sentence or clause of the last two) and every word of the reply is left out once; the
    change of the score is its share. Give FILE and --response ID, or --context and --reply.
    """
    from rejoinder.probes.explanation_view import (
        explanation_table,
        explanation_to_json,
        print_explanation,
        render_plain,
    )
    from rejoinder.probes.occlusion import explain
    from rejoinder.table import FORMATS

    if (file is None) == (reply is None):
        raise click.UsageError("give either FILE (with --response ID) or --reply TEXT (with --context TEXT)")
    if file is not None and context:
        raise click.UsageError("--context goes with --reply; a FILE has its own contexts")
    if reply is not None and response is not None:
        raise click.UsageError("--response names a reply of FILE; --reply is the reply itself")
    explanation = explain(file, response, metric=metric, context=context, reply=reply)
    if form == "json":
        click.echo(explanation_to_json(explanation))
    elif form != "text":
        click.echo(FORMATS[form](explanation_table(explanation)))
    elif sys.stdout.isatty():
        print_explanation(explanation)
    else:
        click.echo(render_plain(explanation))
    click.echo(f"{explanation.metric}: {explanation.signature}", err=True)
