"""``rejoinder serve``: web pages and an HTTP API."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rejoinder.cli import _help
from rejoinder.errors import MissingExtraError

if TYPE_CHECKING:
    from starlette.types import ASGIApp

GROUP = _help.SERVING
COMMON = 7


@click.command(short_help="Browse runs in a web browser, and score over HTTP")
@click.argument("folders", nargs=-1, metavar="[FOLDER ...]")
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The address to listen on; by default only this machine can connect.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8701, show_default=True, help="The port; 0 takes a free one."
)
@click.option("--url", metavar="URL", help="The public address, if a proxy (https) is in front of the server.")
@click.option("--token", metavar="TOKEN", envvar="REJOINDER_TOKEN", help="The token [a new one at each start].")
@click.option("--corpus", metavar="FILE", help="Dialogues that /augment retrieves from [the items themselves].")
@click.option("--allow", multiple=True, metavar="SPEC", help="Also offer this metric or system; may be repeated.")
@click.option(
    "--annotate",
    "project",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="PROJECT",
    help="Also serve an annotation project (as rejoinder annotate does), with its own links.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(1, 3600),
    default=60.0,
    show_default=True,
    help="The longest time for one answer.",
)
@click.option("--body", type=click.IntRange(1, 1024), default=4, show_default=True, help="The largest request, in MiB.")
@click.option(
    "--concurrent", type=click.IntRange(1, 10_000), default=256, show_default=True, help="The most requests at once."
)
def command(
    folders: tuple[str, ...],
    host: str,
    port: int,
    url: str | None,
    token: str | None,
    corpus: str | None,
    allow: tuple[str, ...],
    project: Path | None,
    seconds: float,
    body: int,
    concurrent: int,
) -> None:
    """Serve pages and an API over the runs and test sets in each FOLDER (runs/ by default), until Ctrl+C.

    Open the printed link in a browser; programs send its token as Authorization: Bearer TOKEN.
    """
    try:
        from rejoinder.server.api.auth import TokenAuth
        from rejoinder.server.api.limits import MIB, LoadLimits, serving_limits
        from rejoinder.server.api.service import ApiService
        from rejoinder.server.api.specs import ServedSpecs
        from rejoinder.server.pages.app import make_explore_app
        from rejoinder.server.pages.context import PageContext
        from rejoinder.server.pages.dispatch import AppDispatcher
        from rejoinder.server.pages.library import RunLibrary
        from rejoinder.server.server import is_loopback, open_listening_socket, run_app, socket_url
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or "starlette", "web", "serve") from None

    library = RunLibrary(folders)
    service = ApiService(ServedSpecs(allow), LoadLimits(concurrent=concurrent, seconds=seconds), corpus)
    auth = TokenAuth(token, url or "")
    sock = open_listening_socket(host, port)
    auth.url = public_url = (url or socket_url(sock)).rstrip("/")
    click.echo(f"owner\t{auth.link}")
    if not is_loopback(sock) and not public_url.startswith("https:"):
        click.echo(
            "The token is sent unencrypted: put a proxy with https in front, and give its address with --url.", err=True
        )
    app = make_explore_app(PageContext(service, auth, library), serving_limits(body * MIB, seconds))
    with ExitStack() as stack:
        stack.callback(service.close)
        if project is not None:
            app = AppDispatcher(app, _open_annotation(project, public_url, stack.callback), auth)
        click.echo("Ctrl+C stops the server.", err=True)
        run_app(app, sock, public_url)


def _open_annotation(path: Path, url: str, at_exit: Callable[[Callable[[], None]], object]) -> ASGIApp:
    """Return the app of an annotation project, and print the link of its owner, as ``rejoinder annotate`` does."""
    from rejoinder.annotation.project_file import read_project
    from rejoinder.annotation.store import open_store
    from rejoinder.annotation.units import make_units
    from rejoinder.server.annotation_app import make_annotation_app
    from rejoinder.server.login import renew_owner_link

    project = read_project(path)
    store = open_store(project)
    at_exit(store.close)
    store.load(make_units(project))
    click.echo(f"annotation\t{renew_owner_link(store, url)}")
    return make_annotation_app(project, store, url)
