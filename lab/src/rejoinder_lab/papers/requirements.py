"""What a reproduction needs (published sets, models, libraries, stored answers) and what of it is missing here.

A paper's folder names it beside ``REPRODUCTIONS``::

    REQUIREMENTS = {"sugar": Requirements(datasets=("sugar",), answers=("cross",))}
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import NamedTuple

from rejoinder.data.dataset import missing_file_hint
from rejoinder.data.datasets import datasets_under
from rejoinder.models.catalog.entries import find_model
from rejoinder.models.catalog.manifest import ModelMissingError, is_model_available
from rejoinder.models.weight_sets import VARIABLE, WeightSet
from rejoinder.paths import data_home
from rejoinder_lab.papers.stored_answers import find_stored_answers


@dataclass(frozen=True)
class Requirements:
    """The parts of a reproduction.

    - ``datasets`` and ``models``: without one of them, nothing is measured.
    - ``row_models``: without one of them, some rows are not measured.
    - ``row_libraries``: a library that is an extra of the same name, and the rows that are not measured without it.
    - ``answers``: stored answers, one file per row or group of rows; without one, these rows are not measured.
    - ``weights``: the set of weights that its figures stand on; None for the default set. Where a user has set
      ``REJOINDER_WEIGHTS``, that one is used instead.
    """

    datasets: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    row_models: tuple[str, ...] = ()
    row_libraries: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    answers: tuple[str, ...] = ()
    weights: WeightSet | None = None


class MissingPart(NamedTuple):
    """A part that is not here: what it is, its name, what to do, and what cannot be measured without it."""

    kind: str
    name: str
    remedy: str
    needed: bool  # for everything
    rows: tuple[str, ...] = ()  # otherwise, if they can be named

    def __str__(self) -> str:
        rows = f"without it these rows are not measured: {', '.join(self.rows)}" if self.rows else "some rows need it"
        return f"{self.kind} {self.name}: {'needed' if self.needed else rows}; {self.remedy}"


def find_missing_parts(paper: str, requirements: Requirements) -> list[MissingPart]:
    """Return what a reproduction of the folder ``paper`` (``sugar``, ``own/modern``) needs and this machine lacks."""
    parts = list(_find_missing_datasets(requirements))
    for name in (*requirements.models, *requirements.row_models):
        if not is_model_available(find_model(name)):
            remedy = str(ModelMissingError(name)).partition("; ")[2]
            parts.append(MissingPart("model", name, remedy, name in requirements.models))
    for name, rows in requirements.row_libraries.items():
        if find_spec(name) is None:
            parts.append(MissingPart("library", name, f'install it with: pip install "rejoinder[{name}]"', False, rows))
    for name in requirements.answers:
        if find_stored_answers(paper, name) is None:
            module = f"rejoinder_lab.papers.{paper.replace('/', '.')}.jobs"
            remedy = f"python -m {module} --help says how they are computed, on a machine with a GPU"
            parts.append(MissingPart("stored answers", name, remedy, False))
    return parts


def _find_missing_datasets(requirements: Requirements) -> Iterator[MissingPart]:
    """One part per name that is required, for the first of its files that is not in the data folder."""
    root = data_home()
    for name in requirements.datasets:
        absent = ((one, file) for one in datasets_under(name) for file in one.files if not (root / file.path).is_file())
        if (first := next(absent, None)) is not None:
            remedy = missing_file_hint(*first).replace(f"data get {first[0].name}", f"data get {name}")
            yield MissingPart("dataset", name, remedy, True)


@contextmanager
def use_paper_weights(weights: WeightSet | None = "research") -> Iterator[None]:
    """Use a set within a block, in processes that start there too, unless the user has chosen one for everything."""
    if weights is None or os.environ.get(VARIABLE):
        yield
        return
    os.environ[VARIABLE] = weights
    try:
        yield
    finally:
        del os.environ[VARIABLE]
