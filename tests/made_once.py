"""Folders that tests make of nothing but their arguments: computed once per process, and copied from then on."""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any


def made_once(write: Callable[..., Any]) -> Callable[..., Path]:
    """The same function of a folder and some arguments; the folder is computed the first time only."""
    folders: dict[Hashable, Path] = {}

    @functools.wraps(write)
    def write_or_copy(folder: Path, *given: Any, **named: Any) -> Path:
        key = (given, tuple(sorted(named.items())))
        if key not in folders:
            home = Path(tempfile.mkdtemp(prefix="rejoinder-made-"))
            atexit.register(shutil.rmtree, home, ignore_errors=True)
            write(home / folder.name, *given, **named)
            folders[key] = home / folder.name
        return Path(shutil.copytree(folders[key], folder, dirs_exist_ok=True))

    return write_or_copy
