"""A folder as a registry: a module in it is what a user can name; nothing else needs to be written down."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

from rejoinder.errors import SpecError, nearest


def list_modules(package: str) -> list[str]:
    """The names in a folder that acts as a registry; a leading underscore keeps a module out of it."""
    folder = importlib.import_module(package).__path__
    return sorted(m.name for m in pkgutil.iter_modules(folder) if not m.name.startswith("_"))


def list_packages(package: str) -> list[str]:
    """The folders in a folder that acts as a registry."""
    folder = importlib.import_module(package).__path__
    return sorted(m.name for m in pkgutil.iter_modules(folder) if m.ispkg)


def load_module(package: str, name: str, kind: str) -> ModuleType:
    """One module of a registry folder, by the name a user typed."""
    known = list_modules(package)
    if name not in known:
        raise SpecError(f"no {kind} is called {name!r}; {nearest(name, known)}")
    return importlib.import_module(f"{package}.{name}")
