"""Entry points of installed distributions, by which plug-ins add commands, metrics, lists and weights.

They are read from the metadata files themselves: ``importlib.metadata`` takes longer to import than Python to start,
and the first screen of the help needs them.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
from typing import Any, NamedTuple

_GROUPS = ("rejoinder.", "rejoinder_lab.")
_METADATA = (".dist-info", ".egg-info")


class EntryPoint(NamedTuple):
    """What a distribution offers under a name: a module, or something in it (``module:name``)."""

    group: str
    name: str
    value: str

    @property
    def module(self) -> str:
        """The module that holds it."""
        return self.value.partition(":")[0].strip()

    def load(self) -> Any:
        """Import it."""
        found: Any = importlib.import_module(self.module)
        for part in filter(None, self.value.partition(":")[2].strip().split(".")):
            found = getattr(found, part)
        return found


def find_entry_points(group: str) -> list[EntryPoint]:
    """Return the entry points of a group, by name; of several with one name, the first on ``sys.path``."""
    return _read_all(tuple(sys.path)).get(group, [])


@functools.lru_cache(maxsize=8)
def _read_all(path: tuple[str, ...]) -> dict[str, list[EntryPoint]]:
    groups: dict[str, dict[str, EntryPoint]] = {}
    for folder in dict.fromkeys(path):
        for file in _list_files(folder or os.curdir):
            for entry in _read_file(file):
                groups.setdefault(entry.group, {}).setdefault(entry.name, entry)
    return {group: sorted(entries.values()) for group, entries in groups.items()}


def _list_files(folder: str) -> list[str]:
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(_METADATA))
    except OSError:  # a folder that is not there, or a zip file
        return []
    return [os.path.join(folder, name, "entry_points.txt") for name in names]


def _read_file(path: str) -> list[EntryPoint]:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError):
        return []
    if "rejoinder" not in text:
        return []
    entries, group = [], ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            group = line.strip("[] ")
        elif "=" in line and not line.startswith("#") and group.startswith(_GROUPS):
            name, _, value = line.partition("=")
            entries.append(EntryPoint(group, name.strip(), value.partition("[")[0].strip()))
    return entries
