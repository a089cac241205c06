"""The papers and what is measured of them: one folder per paper, behind ``rejoinder reproduce``.

A folder names its reproductions in ``REPRODUCTIONS``; each is a module with ``SUMMARY`` and ``reproduce()``.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from rejoinder.errors import SpecError, nearest
from rejoinder.registry import list_packages


def reproduction_names() -> list[str]:
    """Every reproduction, as it is typed."""
    return sorted(name.replace("_", "-") for name in _folders())


def load_reproduction(name: str) -> ModuleType:
    """The module of a reproduction, by the name a user typed."""
    folders = _folders()
    module = name.replace("-", "_")
    if module not in folders:
        raise SpecError(f"no reproduction is called {name!r}; {nearest(name, reproduction_names())}")
    return importlib.import_module(f"{__name__}.{folders[module]}.{module}")


def _folders() -> dict[str, str]:
    """The folder of each reproduction."""
    papers = list_packages(__name__)
    return {name: paper for paper in papers for name in importlib.import_module(f"{__name__}.{paper}").REPRODUCTIONS}
