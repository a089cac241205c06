"""``rejoinder doctor``: what is installed, what is missing, and whether this machine gives the expected scores."""

from __future__ import annotations

import click

from rejoinder.cli import _help

GROUP = _help.SERVING


@click.command(short_help="Check the installation and its scores")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for programs.")
def command(as_json: bool) -> None:
    """Show versions, what is missing for which command, folders and models; test the scores of ten known pairs.

    Exit status 0: the base install is complete, and this machine gives the expected scores. 1: it is not, or it does
    not.
    """
    from rejoinder.reports.doctor import doctor

    diagnosis = doctor()
    if as_json:
        import orjson

        click.echo(orjson.dumps(diagnosis.to_object(), option=orjson.OPT_INDENT_2).decode())
    else:
        click.echo(str(diagnosis))
    if not diagnosis.passed:
        raise click.exceptions.Exit(1)
