"""``rejoinder demo``: example files to try the other commands on."""

from __future__ import annotations

import click

from rejoinder.cli import _help

GROUP = _help.MODELS_AND_DATA


@click.command(short_help="Write example files to try it on")
@click.argument("folder", default="demo", required=False)
def command(folder: str) -> None:
    """Write example files into FOLDER (demo by default).

    old.jsonl and new.jsonl are the replies of one bot before and after a change of its prompt, chats.jsonl those of four
    bots, with references and ratings. All conversations and ratings are made up.
    """
    from rejoinder.data.demo import demo

    for path in demo(folder):
        click.echo(str(path))
