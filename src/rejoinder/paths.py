"""Where rejoinder keeps things: every location can be moved by an environment variable."""

from __future__ import annotations

import os
from pathlib import Path


def cache_home() -> Path:
    """The cache, which may be deleted at any time: $REJOINDER_CACHE, else the user's cache folder."""
    moved = os.environ.get("REJOINDER_CACHE")
    if moved:
        return Path(moved)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "rejoinder"


def data_home() -> Path:
    """The published sets: $REJOINDER_DATA, else the user's data folder."""
    moved = os.environ.get("REJOINDER_DATA")
    if moved:
        return Path(moved)
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "rejoinder" / "data"


def printable(path: str | Path) -> str:
    """A path as it may be printed and stored: bytes of it that are not UTF-8 are written as \\xNN."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
