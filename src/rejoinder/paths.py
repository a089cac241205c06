"""Where rejoinder keeps things: every location can be moved by an environment variable."""

from __future__ import annotations

import os
from pathlib import Path

from rejoinder.errors import RejoinderError


def cache_home() -> Path:
    """The cache, which may be deleted at any time: $REJOINDER_CACHE, else the user's cache folder."""
    moved = os.environ.get("REJOINDER_CACHE")
    if moved:
        return Path(moved)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else _home_folder("REJOINDER_CACHE") / ".cache") / "rejoinder"


def data_home() -> Path:
    """The published sets: $REJOINDER_DATA, else the user's data folder."""
    moved = os.environ.get("REJOINDER_DATA")
    if moved:
        return Path(moved)
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else _home_folder("REJOINDER_DATA") / ".local" / "share") / "rejoinder" / "data"


def _home_folder(instead: str) -> Path:
    try:
        return Path.home()
    except RuntimeError:
        raise RejoinderError(
            f"there is no home folder (HOME is not set, and the user has none); set {instead} to a folder"
        ) from None


def printable(path: str | Path) -> str:
    """A path as it may be printed and stored: bytes of it that are not UTF-8 are written as \\xNN."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
