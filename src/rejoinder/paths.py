"""The folders that rejoinder uses; each can be moved with an environment variable."""

from __future__ import annotations

import os
from pathlib import Path

from rejoinder.errors import RejoinderError


def cache_home() -> Path:
    """The folder of the cache, which may be deleted at any time: $REJOINDER_CACHE, else the user's cache folder."""
    folder = os.environ.get("REJOINDER_CACHE")
    if folder:
        return Path(folder)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else _home_folder("REJOINDER_CACHE") / ".cache") / "rejoinder"


def data_home() -> Path:
    """The folder of published sets: $REJOINDER_DATA, else the user's data folder."""
    folder = os.environ.get("REJOINDER_DATA")
    if folder:
        return Path(folder)
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else _home_folder("REJOINDER_DATA") / ".local" / "share") / "rejoinder" / "data"


def config_home() -> Path:
    """The folder of the user's own settings: $REJOINDER_CONFIG, else the user's folder of settings."""
    folder = os.environ.get("REJOINDER_CONFIG")
    if folder:
        return Path(folder)
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else _home_folder("REJOINDER_CONFIG") / ".config") / "rejoinder"


def _home_folder(variable: str) -> Path:
    try:
        return Path.home()
    except RuntimeError:
        raise RejoinderError(
            f"no home folder was found (HOME is not set, and the user has none); set {variable} to a folder"
        ) from None


def printable(path: str | Path) -> str:
    """Return a path for printing and storing: bytes that are not UTF-8 are written as \\xNN."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
