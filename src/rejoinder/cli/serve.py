"""``rejoinder serve``: pages to look at, and an API to ask."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rejoinder.errors import MissingExtraError

if TYPE_CHECKING:
    from starlette.types import ASGIApp


@click.command(short_help="Look at everything in a browser, and ask over HTTP")
@click.argument("folders", nargs=-1, metavar="[FOLDER ...]")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen; only this machine by default.")
@click.option("--port", type=click.IntRange(0, 65535), default=8701, show_default=True, help="0 takes a free one.")
@click.option("--url", metavar="URL", help="How it is reached, where a proxy (https) stands before it.")
@click.option("--token", metavar="TOKEN", envvar="REJOINDER_TOKEN", help="The token [a new one at each start].")
@click.option("--corpus", metavar="FILE", help="Dialogues that /augment retrieves from [the items themselves].")
@click.option("--allow", multiple=True, metavar="SPEC", help="Also offer this metric or system; may be repeated.")
@click.option(
    "--annotate",
    "project",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="PROJECT",
    help="Also serve the judging of a project file (rejoinder annotate), with its own links.",
)
@click.option("--seconds", type=click.FloatRange(1, 3600), default=60.0, show_default=True, help="Most for one answer.")
@click.option("--body", type=click.IntRange(1, 1024), default=4, show_default=True, help="Largest request, in MiB.")
@click.option("--concurrent", type=click.IntRange(1, 10_000), default=256, show_default=True, help="Requests at once.")
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

    The link that is printed lets a browser in; programs send its token as Authorization: Bearer TOKEN.
    """
    try:
        from rejoinder.server.api.auth import TokenAuth
        from rejoinder.server.api.limits import MIB, LoadLimits, serving_limits
        from rejoinder.server.api.service import ApiService
        from rejoinder.server.api.specs import Offer
        from rejoinder.server.dispatch import AppDispatcher
        from rejoinder.server.pages.app import make_explore_app
        from rejoinder.server.pages.context import PageContext
        from rejoinder.server.pages.library import Library
        from rejoinder.server.server import is_loopback, listen, run_app, socket_url
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or "starlette", "web", "serve") from None

    library = Library(folders)
    desk = ApiService(Offer(allow), LoadLimits(concurrent=concurrent, seconds=seconds), corpus)
    gate = TokenAuth(token, url or "")
    listening = listen(host, port)
    gate.url = reached = (url or socket_url(listening)).rstrip("/")
    click.echo(f"owner\t{gate.link}")
    if not is_loopback(listening) and not reached.startswith("https:"):
        click.echo("The token travels unencrypted: put a proxy with https before it and name it with --url.", err=True)
    app = make_explore_app(PageContext(desk, gate, library), serving_limits(body * MIB, seconds))
    with ExitStack() as closing:
        closing.callback(desk.close)
        if project is not None:
            app = AppDispatcher(app, _open_annotation(project, reached, closing.callback), gate)
        click.echo("Ctrl+C stops the server.", err=True)
        run_app(app, listening, reached)


def _open_annotation(path: Path, url: str, when_over: Callable[[Callable[[], None]], object]) -> ASGIApp:
    """The app of a project; the link of its owner is printed, as ``rejoinder annotate`` does."""
    from rejoinder.annotation.project_file import read_project
    from rejoinder.annotation.store import open_store
    from rejoinder.annotation.units import make_units
    from rejoinder.server.annotation_app import make_annotation_app
    from rejoinder.server.login import renew_owner_link

    project = read_project(path)
    store = open_store(project)
    when_over(store.close)
    store.load(make_units(project))
    click.echo(f"annotation\t{renew_owner_link(store, url)}")
    return make_annotation_app(project, store, url)
