"""The papers and what is measured of them: one folder per paper, behind ``rejoinder reproduce``.

A folder names its reproductions in ``REPRODUCTIONS``; each is a module with ``SUMMARY`` and ``reproduce()``.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Sequence
from types import ModuleType

from rejoinder.errors import SpecError, nearest
from rejoinder.papers.base import Reproduction
from rejoinder.registry import Registry

_PAPERS: Registry[Sequence[str]] = Registry(__name__, "paper", lambda module: module.REPRODUCTIONS, packages=True)


def reproduction_names() -> list[str]:
    """Every reproduction, as it is typed."""
    return sorted(name.replace("_", "-") for name in _folders())


def reproduce(name: str, *, metrics: Sequence[str] = (), adapt: int | None = None) -> Reproduction:
    """A paper's table measured again, each figure beside the published one.

    - ``name``: one of ``list_("reproductions")``; the published sets are read from ``$REJOINDER_DATA``.
    - ``metrics``: measure these instead of the usual ones, where the reproduction takes others.
    - ``adapt``: adapt only so many texts to their contexts, where it adapts any.

    >>> import rejoinder
    >>> reproduction = rejoinder.reproduce("scarce-overlap")
    >>> [(figure.published, figure.measured) for figure in reproduction.figures]
    """
    measure = load_reproduction(name).reproduce
    takes = inspect.signature(measure).parameters
    if metrics and "metrics" not in takes:
        raise SpecError(f"{name} measures the metrics of its paper and no others; leave out -m")
    if adapt is not None and "adapt" not in takes:
        raise SpecError(f"{name} adapts no texts; leave out --adapt")
    chosen = {**({"metrics": list(metrics)} if metrics else {}), **({} if adapt is None else {"adapt": adapt})}
    measured: Reproduction = measure(**chosen)
    return measured


def load_reproduction(name: str) -> ModuleType:
    """The module of a reproduction, by the name a user typed."""
    folders = _folders()
    module = name.replace("-", "_")
    if module not in folders:
        raise SpecError(f"no reproduction is called {name!r}; {nearest(name, reproduction_names())}")
    return importlib.import_module(f"{__name__}.{folders[module]}.{module}")


def _folders() -> dict[str, str]:
    """The folder of each reproduction."""
    return {name: paper for paper in _PAPERS.names() for name in _PAPERS.load(paper)}
