"""``rejoinder annotate``: collect judgements from people in a browser."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from rejoinder.cli import _help
from rejoinder.cli._options import output_option
from rejoinder.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from rejoinder.server.annotation import Annotation

GROUP = _help.PEOPLE
COMMON = 5


class LinkOptions(NamedTuple):
    """Which links to make, for how long, and the file for those of raters."""

    raters: str | None
    entrance: str | None
    renew: str | None
    days: int | None
    owner: bool
    file: Path | None


@click.command(short_help="Collect ratings, preferences and texts from people")
@click.argument("project", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--raters", metavar="N|NAMES", help="Make links for N raters, or for these names (separated by commas).")
@click.option(
    "--entrance",
    metavar="NAME",
    help="Make one link for all participants, who identify themselves with their PROLIFIC_PID.",
)
@click.option("--renew", metavar="NAME", help="Make a new link for this rater; the old one stops working.")
@click.option("--days", type=click.IntRange(1, 3650), help="For how many days new links are valid [no limit].")
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The address to listen on; by default only this machine can connect.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8700, show_default=True, help="The port; 0 takes a free one."
)
@click.option("--url", metavar="URL", help="The public address, if a proxy (https) is in front of the server.")
@click.option("--database", metavar="URL", help="Another database: a file, or postgresql://... [that of the project].")
@click.option("--keep-owner-link", is_flag=True, help="Do not make a new link for the owner.")
@click.option("--no-serve", is_flag=True, help="Make links, then exit.")
@click.option("--export", "export_format", metavar="FORMAT", help="Write the judgements in this format, then exit.")
@click.option("--import", "import_format", metavar="FORMAT", help="Read judgements in this format (--file), then exit.")
@output_option(
    click.Path(path_type=Path), "The file for --export, or for the links of raters, as CSV [standard output]."
)
@click.option("--file", type=click.Path(path_type=Path), metavar="FILE", help="The file that --import reads.")
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
    export_format: str | None,
    import_format: str | None,
    output: Path | None,
    file: Path | None,
) -> None:
    """Serve the annotation project PROJECT (a TOML file) on this machine, until Ctrl+C.

    The owner's link is printed at every start. Judgements are kept in the project's database.
    """
    from rejoinder.server.annotation import annotate

    links = LinkOptions(raters, entrance, renew, days, not keep_owner_link, output or file)
    with annotate(project, database=database) as annotation:
        if import_format:
            if file is None or export_format:
                raise InputError("--import needs --file with the judgements to read, and no --export")
            _import_judgements(annotation, import_format, file)
        elif export_format:
            _export_judgements(annotation, export_format, output or file)
        elif no_serve:
            _print_links(annotation, url or f"http://{host}:{port}", links)
        else:
            _serve_project(annotation, host, port, url, links)


def _serve_project(annotation: Annotation, host: str, port: int, url: str | None, links: LinkOptions) -> None:
    try:
        from rejoinder.server.server import is_loopback, open_listening_socket, serve_project, socket_url
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or "starlette", "web", "annotate") from None

    sock = open_listening_socket(host, port)
    public_url = url or socket_url(sock)
    _print_links(annotation, public_url, links)
    if not is_loopback(sock) and not public_url.startswith("https:"):
        click.echo(
            "Links and answers are sent unencrypted: put a proxy with https in front, and give its address with --url.",
            err=True,
        )
    if not annotation.project.redact:
        click.echo("Nothing is redacted: make sure that raters may read the data (docs/annotating.md).", err=True)
    click.echo("Ctrl+C stops the server; no answer that was sent is lost.", err=True)
    serve_project(annotation.project, annotation.store, sock, public_url)


def _print_links(annotation: Annotation, url: str, options: LinkOptions) -> None:
    """Print links, name and address separated by a tab; they are shown only once."""
    from rejoinder.server.login import write_links

    raters, days = options.raters, options.days
    if raters and options.file is not None:
        names = raters
        write_links(options.file, lambda: annotation.links(url, raters=names, days=days, owner=False))
        raters = None
    links = annotation.links(
        url, raters=raters, entrance=options.entrance, renew=options.renew, days=days, owner=options.owner
    )
    for name, address in links.items():
        click.echo(f"{name}\t{address}")


def _import_judgements(annotation: Annotation, form: str, file: Path) -> None:
    """Read judgements from a file."""
    result = annotation.import_(form, file)
    noun = "judgement" if result.added == 1 else "judgements"
    click.echo(f"{result.added} {noun} imported, {result.already} already there")
    for reason, count in result.left_out.items():
        click.echo(f"{count} left out: {reason}")


def _export_judgements(annotation: Annotation, form: str, file: Path | None) -> None:
    """Write the judgements to a file, or to standard output."""
    from rejoinder.files import atomic_write

    exported = annotation.export(form)
    if file is None:
        sys.stdout.buffer.write(exported.content)
    else:
        with atomic_write(file, private=True) as target:
            target.write(exported.content)
