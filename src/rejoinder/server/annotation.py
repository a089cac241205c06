"""An annotation project, opened: its links, its server, and how judgements leave and come in."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from rejoinder.annotation.exports import ExportFile, ImportSummary, export, import_judgements
from rejoinder.annotation.progress import read_ratings_and_checks
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
        """New links by name: for so many raters or for names with commas, a common entrance, somebody, the owner."""
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
        """Serve the judging on this machine until Ctrl+C."""
        try:
            from rejoinder.server.server import listen, serve, socket_url
        except ModuleNotFoundError as error:
            raise MissingExtraError(error.name or "starlette", "web", "annotate") from None
        listening = listen(host, port)
        serve(self.project, self.store, listening, url or socket_url(listening))

    def ratings(self) -> list[Rating | Preference]:
        """What the raters have said so far."""
        return list(read_ratings_and_checks(self.store)[0])

    def export(self, form: str) -> ExportFile:
        """The judgements in a format such as ``ratings``, ``csv`` or ``labelstudio``."""
        return export(self.store, form)

    def import_(self, form: str, file: str | Path) -> ImportSummary:
        """Put judgements that were made elsewhere into the store; what is there already is passed over."""
        try:
            content = Path(file).read_bytes()
        except OSError as error:
            raise InputError(f"{file}: cannot be read ({error.strerror})") from None
        return import_judgements(self.store, form, content)

    def close(self) -> None:
        """Let go of the store."""
        self.store.close()

    def __enter__(self) -> Annotation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def annotate(project: str | Path, *, database: str | None = None) -> Annotation:
    """An annotation project, opened: its links, its server, its judgements.

    - ``project``: the TOML file that describes it.
    - ``database``: another database than the project's: a file, or ``postgresql://...``.

    >>> import rejoinder
    >>> with rejoinder.annotate("project.toml", database="judgements.sqlite") as annotation:
    ...     rater = annotation.store.who(annotation.store.add_rater("ann"))
    ...     unit = annotation.store.next_unit(rater)
    ...     annotation.ratings()
    []
    """
    described = read_project(Path(project))
    store = open_store(described, database)
    try:
        store.load(make_units(described))
    except BaseException:
        store.close()
        raise
    return Annotation(described, store)
