"""``rejoinder list``: what there is by name."""

from __future__ import annotations

import click

from rejoinder.cli._options import table_format_option

ABOUT = {
    "metrics": "Every metric: what it needs, its range, which way is better, who proposed it.",
    "sources": "Every source of candidates.",
    "systems": "Every kind of system that can be asked to choose among candidates.",
    "importers": "Every format that can be imported.",
    "datasets": "Every published set: its licence and citation, and whether its files are here.",
    "reproductions": "Every table of a paper that can be reproduced.",
}


@click.group("list", short_help="What there is by name")
def command() -> None:
    """List metrics, sources, systems, importers, datasets or reproductions."""


def _add_list(what: str, about: str) -> None:
    @command.command(what, help=about)
    @table_format_option
    def show(form: str) -> None:
        from rejoinder.reports.listing import list_
        from rejoinder.table import FORMATS

        click.echo(FORMATS[form](list_(what)))


for _what, _about in ABOUT.items():
    _add_list(_what, _about)
