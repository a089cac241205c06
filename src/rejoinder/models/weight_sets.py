"""Sets of weights: the same models trained on other data, chosen by name.

One set is part of this package. Others come with other distributions (``research`` with ``rejoinder-lab``). Each names
a Python package at the entry point ``rejoinder.weights``, which has one folder per model, like ``WEIGHTS`` here, and
none of its code is run. ``REJOINDER_WEIGHTS`` chooses the default set for everything. Signatures contain the digest
of the weights, so that another set is another signature, whatever chose it.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import orjson

from rejoinder.entry_points import find_entry_points
from rejoinder.errors import RejoinderError, SpecError
from rejoinder.spec import check_choice

WeightSet: TypeAlias = Literal["permissive", "research"]
WEIGHT_SETS: tuple[WeightSet, ...] = get_args(WeightSet)
PACKAGED: WeightSet = "permissive"  # the set in this package, and the default
DISTRIBUTIONS = {"permissive": "rejoinder", "research": "rejoinder-lab", "large": "rejoinder-large"}
WEIGHTS = Path(__file__).parent / "weights"
LARGE = "large"  # a set of its own: the adapter of aptness(model='large'), whatever the default set is
SHARED = ("comet", "statements")  # in WEIGHTS, but of no set: the same whichever is used
VARIABLE = "REJOINDER_WEIGHTS"
GROUP = "rejoinder.weights"  # of entry points

_chosen: ContextVar[WeightSet | None] = ContextVar("weights", default=None)


class WeightsMissingError(RejoinderError):
    """A set that is not installed, or one without the weights of a model."""


def default_set() -> WeightSet:
    """Return the set to use where none is named: that of ``REJOINDER_WEIGHTS``, else the package's."""
    if (chosen := _chosen.get()) is not None:
        return chosen
    value = os.environ.get(VARIABLE) or PACKAGED
    for name in WEIGHT_SETS:
        if value == name:
            return name
    raise SpecError(f"{VARIABLE} is {value!r}; set it to one of: {', '.join(WEIGHT_SETS)}")


@contextmanager
def use_weights(name: WeightSet | None) -> Iterator[None]:
    """Make a set the default one within a block; None changes nothing."""
    token = _chosen.set(_chosen.get() if name is None else name)
    try:
        yield
    finally:
        _chosen.reset(token)


def check_weights(metric: str, weights: WeightSet | None, folder: str | None) -> None:
    """Raise where a metric's parameters name a set that does not exist, or a set and a folder of the user's."""
    if weights is None:
        return
    check_choice(metric, "weights", weights, WeightSet)
    if folder is not None:
        raise SpecError(f"{metric}: folder and weights both say which weights to use; leave one out")


def find_set(name: str) -> Path | None:
    """Return the folder of a set, with one folder per model; None where it is not installed."""
    return WEIGHTS if name == PACKAGED else _find_installed(name, tuple(sys.path))


@lru_cache(maxsize=8)
def _find_installed(name: str, path: tuple[str, ...]) -> Path | None:
    """The folder of a set in another distribution, looked up once for each ``sys.path``: it reads all metadata."""
    for entry in find_entry_points(GROUP):
        if entry.name == name and (spec := importlib.util.find_spec(entry.module)) is not None:
            return next(map(Path, spec.submodule_search_locations or ()), None)
    return None


def weights_folder(model: str, weights: WeightSet | None = None) -> Path:
    """Return the folder of a model in a set, by default the default one; raise where the set lacks it."""
    name = weights or default_set()
    folder = find_set(name)
    if folder is None:
        raise WeightsMissingError(
            f"the weights {name!r} are not installed; they come in the distribution {DISTRIBUTIONS[name]} "
            "(docs/aptness.md says more), or name your own with the parameter folder"
        )
    if name != PACKAGED and not (folder / model).is_dir():
        raise WeightsMissingError(
            f"the weights {name!r} have none for {model}; use those called {PACKAGED!r}, or train your own with: "
            f"rejoinder train {model} -o FOLDER"
        )
    return folder / model


def list_weights(name: str) -> dict[str, str]:
    """Return the models of a set and the licence on the card of each; none where the set is not installed."""
    root = find_set(name)
    folders = sorted(path for path in root.iterdir() if path.is_dir()) if root is not None else []
    licences = {folder.name: _read_licence(folder) for folder in folders if folder.name not in SHARED}
    return {model: licence for model, licence in licences.items() if licence is not None}


def _read_licence(folder: Path) -> str | None:
    """Return the licence on the card of a model's folder; None where it has no card."""
    for path in sorted(folder.glob("*.json")):
        try:
            content = orjson.loads(path.read_bytes())
        except (OSError, ValueError):  # opening the model will report what is wrong
            continue
        if isinstance(content, dict) and isinstance(about := content.get("about"), dict):
            return str(about.get("licence", ""))
    return None


def set_of(folder: Path) -> WeightSet | None:
    """Return the set that a model's folder belongs to; None for a folder of the user's."""
    return next((name for name in WEIGHT_SETS if find_set(name) == folder.parent), None)
