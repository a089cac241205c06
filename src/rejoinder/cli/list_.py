"""``rejoinder list``: everything that can be named on the command line."""

from __future__ import annotations

import click

from rejoinder.cli import _help
from rejoinder.cli._options import table_format_option
from rejoinder.entry_points import find_entry_points
from rejoinder.lab import DISTRIBUTION, LISTS

GROUP = _help.MODELS_AND_DATA

DESCRIPTIONS = {
    "metrics": "Every metric: what it needs, what it is, and more on request: parameters, range, citation.",
    "rubrics": "Every rubric for judges: what it rates and needs, and on request what it was tried on and is not for.",
    "prices": "The prices of models by which the cost of judges is computed, and where to write your own.",
    "sources": "Every source of candidates.",
    "systems": "Every kind of system that can choose among candidates.",
    "importers": "Every format that can be imported.",
    "datasets": "Every published set: its licence and citation, and whether its files are on this machine.",
}


@click.group("list", short_help="List metrics, systems, datasets and more")
def command() -> None:
    """List metrics, rubrics, prices, sources, systems, importers, datasets, and what plug-ins add."""


def _add_list(name: str, description: str) -> None:
    @command.command(name, help=description)
    @table_format_option
    def show(form: str) -> None:
        from rejoinder.reports.listing import list_
        from rejoinder.table import FORMATS

        click.echo(FORMATS[form](list_(name)))


def _add_long_list(name: str, description: str) -> None:
    @command.command(name, help=description)
    @click.option(
        "--long", "is_long", is_flag=True, help="All columns; formats other than text always have all of them."
    )
    @table_format_option
    def show(is_long: bool, form: str) -> None:
        from rejoinder.reports.listing import SHORT_LISTS, list_
        from rejoinder.table import FORMATS

        click.echo(FORMATS[form](list_(name) if is_long or form != "text" else SHORT_LISTS[name]()))


for _name, _description in DESCRIPTIONS.items():
    (_add_long_list if _name in ("metrics", "rubrics") else _add_list)(_name, _description)
for _entry in find_entry_points("rejoinder.reports.listing"):
    _add_list(_entry.name, f"What {_entry.module.partition('.')[0]} adds: {_entry.name}.")
for _name in sorted(LISTS - command.commands.keys()):
    _add_list(_name, f"Comes with {DISTRIBUTION}.")
