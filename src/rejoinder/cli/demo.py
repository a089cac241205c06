"""``rejoinder demo``: example files to try the other commands on."""

from __future__ import annotations

from pathlib import Path

import click

from rejoinder.cli import _help
from rejoinder.cli._options import folder_output_option

GROUP = _help.MODELS_AND_DATA


@click.command(short_help="Write example files to try it on")
@folder_output_option(required=False, usual="demo")
def command(output: Path | None) -> None:
    """Write example files to try the other commands on.

    old.jsonl and new.jsonl are the replies of one bot before and after a change of its prompt, chats.jsonl those of
    four bots, with references and ratings. All conversations and ratings are made up.
    """
    from rejoinder.data.demo import demo

    for path in demo(output or "demo"):
        click.echo(str(path))
