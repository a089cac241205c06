"""An open annotation project: its links, its server, and the import and export of judgements."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from rejoinder.annotation.analysis.judgements import read_ratings_and_checks
from rejoinder.annotation.exports import ExportFile, ImportSummary, export_judgements, import_judgements
from rejoinder.annotation.project import Project
from rejoinder.annotation.project_file import read_project
from rejoinder.annotation.store import open_store
from rejoinder.annotation.store.base import Store
from rejoinder.annotation.units import make_units
from rejoinder.errors import InputError, MissingExtraError
from rejoinder.types import Preference, Rating


@dataclass(frozen=True)
class Annotation:
    """An annotation project with its store; close it, or use it with ``with``."""

    project: Project
    store: Store

    def links(
        self,
        url: str = "http://127.0.0.1:8700",
        *,
        raters: str | None = None,
        entrance: str | None = None,
        renew: str | None = None,
        days: int | None = None,
        owner: bool = True,
    ) -> dict[str, str]:
        """Create links and return them by name.

        - ``raters``: a number of raters, or names separated by commas.
        - ``entrance``: the name of a link that many participants share.
        - ``renew``: the rater who gets a new link; the old one ends.
        - ``days``: how many days the links are valid; without it they do not expire.
        - ``owner``: whether to make a new link for the owner, which ends the old one.
        """
        from rejoinder.server.login import make_link, make_links, renew_owner_link

        expires = time.time() + days * 24 * 3600 if days else None
        links: dict[str, str] = {}
        if raters:
            links |= make_links(self.store, url, raters, "rater", expires)
        if entrance:
            links |= make_links(self.store, url, entrance, "entrance", expires)
        if renew:
            links[renew] = make_link(url, self.store.renew(renew, expires))
        if owner:
            links["owner"] = renew_owner_link(self.store, url)
        return links

    def serve(self, host: str = "127.0.0.1", port: int = 8700, url: str | None = None) -> None:
        """Serve the annotation pages until Ctrl+C."""
        try:
            from rejoinder.server.server import open_listening_socket, serve_project, socket_url
        except ModuleNotFoundError as error:
            raise MissingExtraError(error.name or "starlette", "web", "annotate") from None
        sock = open_listening_socket(host, port)
        serve_project(self.project, self.store, sock, url or socket_url(sock))

    def ratings(self) -> list[Rating | Preference]:
        """Return the ratings and preferences collected so far."""
        return list(read_ratings_and_checks(self.store)[0])

    def export(self, form: str) -> ExportFile:
        """Return the judgements in a format such as ``ratings``, ``csv`` or ``labelstudio``."""
        return export_judgements(self.store, form)

    def import_(self, form: str, file: str | Path) -> ImportSummary:
        """Add judgements that were made elsewhere to the store; those already in it are skipped."""
        try:
            content = Path(file).read_bytes()
        except OSError as error:
            raise InputError(f"{file}: cannot be read ({error.strerror})") from None
        return import_judgements(self.store, form, content)

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def __enter__(self) -> Annotation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def annotate(project: str | Path, *, database: str | None = None) -> Annotation:
    """Open an annotation project: its links, its server, its judgements.

    - ``project``: the TOML file that describes it.
    - ``database``: a database to use instead of the project's: a file, or ``postgresql://...``.

    >>> import rejoinder
    >>> with rejoinder.annotate("project.toml", database="judgements.sqlite") as annotation:
    ...     rater = annotation.store.who(annotation.store.add_rater("ann"))
    ...     unit = annotation.store.next_unit(rater)
    ...     annotation.ratings()
    []
    """
    parsed_project = read_project(Path(project))
    store = open_store(parsed_project, database)
    try:
        store.load(make_units(parsed_project))
    except BaseException:
        store.close()
        raise
    return Annotation(parsed_project, store)
