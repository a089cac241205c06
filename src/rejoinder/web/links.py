"""Personal links: for the owner at every start, for raters as they are wanted."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from rejoinder.annotation.errors import AnnotationError
from rejoinder.annotation.exports.prolific import links_csv, study_link
from rejoinder.annotation.store.contract import Role, Store
from rejoinder.errors import InputError

MOST_NEW = 500
OWNER = "owner"


def link(url: str, token: str) -> str:
    """The address that lets somebody in."""
    return f"{url.rstrip('/')}/r/{token}"


def owner_link(store: Store, url: str) -> str:
    """A new link for the owner; the one before ends, since tokens are not kept and cannot be shown again."""
    known = any(rater.name == OWNER for rater in store.raters())
    return link(url, store.renew(OWNER) if known else store.add_rater(OWNER, "owner"))


def new_links(
    store: Store, url: str, wanted: str, role: Role = "rater", expires: float | None = None
) -> dict[str, str]:
    """Links by name for the names that are wanted; all of them are looked at before the first is entered.

    An entrance's link has the places where Prolific puts a participant's id.
    """
    names = new_names(wanted, [rater.name for rater in store.raters()])
    made = {name: link(url, store.add_rater(name, role, expires)) for name in names}
    return {name: study_link(one) for name, one in made.items()} if role == "entrance" else made


def write_links(file: Path, make: Callable[[], dict[str, str]]) -> None:
    """Make links straight into a new CSV file that its owner alone can read; none is made where it cannot be had."""
    try:
        handle = os.open(file, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600)
    except OSError as error:
        raise InputError(f"{file}: links cannot be written there ({error.strerror}); name a new file") from None
    try:
        with open(handle, "wb") as out:
            out.write(links_csv(make()))
    except BaseException:
        file.unlink()
        raise


def new_names(wanted: str, known: Sequence[str]) -> list[str]:
    """The names that were written, one a line or with commas; of a number, so many names that nobody has."""
    if re.fullmatch("[0-9]{1,5}", wanted.strip()):
        free = (name for n in range(1, len(known) + 2 * MOST_NEW) if (name := f"rater-{n}") not in known)
        names = [name for name, _ in zip(free, range(min(int(wanted), MOST_NEW + 1)), strict=False)]
    else:
        names = [name.strip() for name in re.split(r"[\n,]", wanted) if name.strip()]
    if not 1 <= len(names) <= MOST_NEW:
        raise AnnotationError(f"write names, one a line, or how many raters there shall be, at most {MOST_NEW}")
    for place, name in enumerate(names):
        if name in known or name in names[:place]:
            raise AnnotationError(f"there is a rater called {name} already; nobody was entered")
    return names
