"""The papers and what we measure of them: one folder per paper, behind ``rejoinder reproduce``.

A folder, or a folder in it, names its reproductions in ``REPRODUCTIONS``; each is a module with ``SUMMARY`` and
``reproduce()``. What they need, ``REQUIREMENTS`` says.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from rejoinder.errors import SpecError, nearest
from rejoinder.model_use import record_models
from rejoinder.registry import Registry
from rejoinder_lab.papers.base import Reproduction
from rejoinder_lab.papers.requirements import Requirements, use_paper_weights

if TYPE_CHECKING:
    from rejoinder_lab.papers.requirements import MissingPart


def reproduction_names() -> list[str]:
    """Return the names of all reproductions, as users type them."""
    return sorted(name.replace("_", "-") for name in _module_paths())


def reproduce(
    name: str, *, metrics: Sequence[str] = (), adapt: int | None = None, answers: str | Path | None = None
) -> Reproduction:
    """Measure a paper's tables again, each figure beside the published one.

    - ``name``: one of ``list_("reproductions")``; the published sets are read from ``$REJOINDER_DATA``.
    - ``metrics``: the metrics to measure instead of the usual ones, where the reproduction allows others.
    - ``adapt``: how many texts to adapt to their contexts at most, where it adapts any.
    - ``answers``: a file with the answers of a judge elsewhere, or with the verdicts read from them, where it asks one.

    >>> import rejoinder_lab
    >>> reproduction = rejoinder_lab.reproduce("scarce-overlap")
    >>> [(figure.published, figure.measured) for figure in reproduction.figures]
    """
    options = check_options(name, metrics, adapt, answers)
    with use_paper_weights(_find_requirements(name)[1].weights), record_models() as used:
        reproduction: Reproduction = load_reproduction(name).reproduce(**options)
    return replace(reproduction, models=tuple(used))


def check_options(
    name: str, metrics: Sequence[str] = (), adapt: int | None = None, answers: str | Path | None = None
) -> dict[str, Any]:
    """Return the parameters for a reproduction; raise if it has no such parameter."""
    parameters = inspect.signature(load_reproduction(name).reproduce).parameters
    if metrics and "metrics" not in parameters:
        raise SpecError(f"{name} measures only the metrics of its paper; leave out the parameter metrics")
    if adapt is not None and "adapt" not in parameters:
        raise SpecError(f"{name} adapts no texts; leave out the parameter adapt")
    if answers is not None and "answers" not in parameters:
        raise SpecError(f"{name} asks no judge at an endpoint; leave out the parameter answers")
    options: dict[str, Any] = {"metrics": list(metrics)} if metrics else {}
    options |= {} if adapt is None else {"adapt": adapt}
    return options | ({} if answers is None else {"answers": Path(answers)})


def list_requests(name: str) -> Iterator[bytes]:
    """Return the requests of a reproduction to a judge at an endpoint, one line of a batch each."""
    module = load_reproduction(name)
    if not hasattr(module, "list_requests"):
        raise SpecError(f"{name} asks no judge at an endpoint, so there are no requests to write")
    lines: Iterator[bytes] = module.list_requests()
    return lines


def load_reproduction(name: str) -> ModuleType:
    """Return the module of a reproduction, by the name that a user typed."""
    paths = _module_paths()
    module = name.replace("-", "_")
    if module not in paths:
        raise SpecError(f"no reproduction is called {name!r}; {nearest(name, reproduction_names())}")
    return importlib.import_module(paths[module])


def list_missing_parts(name: str) -> list[MissingPart]:
    """Return the datasets, models and stored answers that a reproduction needs and this machine lacks."""
    from rejoinder_lab.papers.requirements import find_missing_parts

    return find_missing_parts(*_find_requirements(name))


def _find_requirements(name: str) -> tuple[str, Requirements]:
    """Return the folder of a reproduction, below this one, and what it requires."""
    folder = load_reproduction(name).__name__.rpartition(".")[0]
    requirements = getattr(importlib.import_module(folder), "REQUIREMENTS", {})
    paper = folder.removeprefix(f"{__name__}.").replace(".", "/")
    return paper, requirements.get(name.replace("-", "_"), Requirements())


def _module_paths() -> dict[str, str]:
    """Return the module path of each reproduction, from the folders below this one and the folders in those."""
    folders = [f"{__name__}.{paper}" for paper in _paper_registry(__name__).names()]
    folders += [f"{folder}.{part}" for folder in folders for part in _paper_registry(folder).names()]
    return {name: f"{folder}.{name}" for folder in folders for name in importlib.import_module(folder).REPRODUCTIONS}


def _paper_registry(folder: str) -> Registry[Sequence[str]]:
    return Registry(folder, "paper", lambda module: module.REPRODUCTIONS, packages=True)
