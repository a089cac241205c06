"""``rejoinder annotate``: people judge in a browser."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rejoinder.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from rejoinder.server.annotation import Annotation


@click.command(short_help="Collect ratings, grades, preferences and texts from people")
@click.argument("project", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--raters", metavar="N|NAMES", help="Make links for so many raters, or for these names (with commas).")
@click.option("--entrance", metavar="NAME", help="Make one common link; participants enter with their PROLIFIC_PID.")
@click.option("--renew", metavar="NAME", help="Make a new link for somebody; the old one ends.")
@click.option("--days", type=click.IntRange(1, 3650), help="How long new links are valid [without end].")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen; only this machine by default.")
@click.option("--port", type=click.IntRange(0, 65535), default=8700, show_default=True, help="0 takes a free one.")
@click.option("--url", metavar="URL", help="How raters reach it, where a proxy (https) stands before it.")
@click.option("--database", metavar="URL", help="Another database: a file, or postgresql://... [the project's].")
@click.option("--keep-owner-link", is_flag=True, help="Make no new link for the owner at this start.")
@click.option("--no-serve", is_flag=True, help="Make links, then stop.")
@click.option("--export", "exported", metavar="FORMAT", help="Write the judgements in a format, then stop.")
@click.option("--import", "imported", metavar="FORMAT", help="Take in judgements in a format (--file), then stop.")
@click.option(
    "--file",
    type=click.Path(path_type=Path),
    help="The file of --export or --import; else where raters' links go, as CSV [standard output].",
)
def command(
    project: Path,
    raters: str | None,
    entrance: str | None,
    renew: str | None,
    days: int | None,
    host: str,
    port: int,
    url: str | None,
    database: str | None,
    keep_owner_link: bool,
    no_serve: bool,
    exported: str | None,
    imported: str | None,
    file: Path | None,
) -> None:
    """Serve the judging that PROJECT (a TOML file) describes, on this machine, until Ctrl+C.

    The owner's link is printed at every start. Judgements are kept in the project's database.
    """
    from rejoinder.server.annotation import annotate

    with annotate(project, database=database) as opened:
        if exported or imported:
            _export_or_import(opened, exported, imported, file)
        elif no_serve:
            address = url or f"http://{host}:{port}"
            _print_links(opened, address, raters, entrance, renew, days, not keep_owner_link, file)
        else:
            _serve(opened, host, port, url, (raters, entrance, renew, days, not keep_owner_link, file))


def _serve(opened: Annotation, host: str, port: int, url: str | None, links: tuple[Any, ...]) -> None:
    try:
        from rejoinder.server.server import is_loopback, listen, serve, socket_url
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or "starlette", "web", "annotate") from None

    listening = listen(host, port)
    reached = url or socket_url(listening)
    _print_links(opened, reached, *links)
    if not is_loopback(listening) and not reached.startswith("https:"):
        click.echo(
            "Links and answers travel unencrypted: put a proxy with https before it and name it with --url.", err=True
        )
    if not opened.project.redact:
        click.echo("Nothing is redacted: see that raters may read what is in the data (docs/annotating.md).", err=True)
    click.echo("Ctrl+C stops the server; nothing that was sent is lost.", err=True)
    serve(opened.project, opened.store, listening, reached)


def _print_links(
    opened: Annotation,
    url: str,
    raters: str | None,
    entrance: str | None,
    renew: str | None,
    days: int | None,
    owner: bool,
    file: Path | None,
) -> None:
    """Print links, name and address with a tab between them; they are shown this once."""
    from rejoinder.server.login import write_links

    if raters and file is not None:
        write_links(file, lambda: opened.links(url, raters=raters, days=days, owner=False))
        raters = None
    links = opened.links(url, raters=raters, entrance=entrance, renew=renew, days=days, owner=owner)
    for name, address in links.items():
        click.echo(f"{name}\t{address}")


def _export_or_import(opened: Annotation, exported: str | None, imported: str | None, file: Path | None) -> None:
    """Take judgements in, or write them out; one of them."""
    from rejoinder.files import atomic_write

    if imported:
        if file is None or exported:
            raise InputError("--import needs --file with what is to be taken in, and no --export beside it")
        taken = opened.import_(imported, file)
        click.echo(f"{taken.added} judgements taken in, {taken.already} were there already")
        for reason, count in taken.left_out.items():
            click.echo(f"{count} left out: {reason}")
    elif exported:
        made = opened.export(exported)
        if file is None:
            sys.stdout.buffer.write(made.content)
        else:
            with atomic_write(file, private=True) as out:
                out.write(made.content)
