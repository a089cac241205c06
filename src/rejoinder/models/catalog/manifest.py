"""The manifest of a model's folder in the cache: written last, so that a folder with a manifest is complete.

A model is stored in ``<cache>/models/NAME``. The manifest lists its files with their sha256, where they came from, and
which digests were not known in advance.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from rejoinder.errors import RejoinderError
from rejoinder.models.catalog.entries import MODELS, find_model
from rejoinder.models.catalog.entry import CatalogModel, Shipped
from rejoinder.models.weight_sets import WeightsMissingError, default_set, list_weights, weights_folder
from rejoinder.paths import cache_home

MANIFEST_FILE = "manifest.json"
VERSION = 1  # of the folder's layout: a model with another version is downloaded and converted again


@dataclass(frozen=True)
class ModelManifest:
    """The contents of a model's folder."""

    model: str
    origin: str
    licence: str
    files: dict[str, str]  # name: sha256
    trusted: tuple[str, ...] = ()  # files whose digest was not known before their first download
    version: int = VERSION


class ModelMissingError(RejoinderError):
    """A model of the catalog that is not in the cache."""

    def __init__(self, name: str) -> None:
        cure = f"get it with: rejoinder models get {name}"
        if name in MODELS and isinstance(MODELS[name].origin, Shipped):
            cure = "it comes with rejoinder; install rejoinder again"
        super().__init__(f"the model {name!r} is missing; {cure}")


def models_home() -> Path:
    """Return the folder of all models."""
    return cache_home() / "models"


def model_folder(model: CatalogModel) -> Path:
    """Return the folder of a model, whether or not it exists; of a shipped one, that of the default weights."""
    if isinstance(model.origin, Shipped):
        return weights_folder(model.origin.folder)
    return models_home() / model.name


def is_model_available(model: CatalogModel) -> bool:
    """Whether a model can be used."""
    if isinstance(model.origin, Shipped):
        try:
            return (model_folder(model) / model.origin.card).is_file()
        except WeightsMissingError:
            return False
    return read_model_manifest(model_folder(model)) is not None


def is_from_origin(name: str) -> bool:
    """Whether a model in the cache came from its origin in the catalog, whose files are checked by their sha256."""
    manifest = read_model_manifest(model_folder(MODELS[name])) if name in MODELS else None
    return manifest is not None and manifest.origin == str(MODELS[name].origin)


def find_licence(model: CatalogModel) -> str:
    """Return the licence of a model; of a shipped one, that on the card of the default weights."""
    if isinstance(model.origin, Shipped):
        return list_weights(default_set()).get(model.origin.folder, model.licence)
    return model.licence


def require_model(name: str) -> Path:
    """Return the folder of a model; raise if the model is not available."""
    model = find_model(name)
    folder = model_folder(model)  # raises where the chosen weights are not installed
    if not is_model_available(model):
        raise ModelMissingError(name)
    return folder


def read_model_manifest(folder: Path) -> ModelManifest | None:
    """Return the manifest of a folder; None if there is no complete model of this layout."""
    try:
        content = orjson.loads((folder / MANIFEST_FILE).read_bytes())
        manifest = ModelManifest(**{**content, "trusted": tuple(content["trusted"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None
    is_complete = manifest.version == VERSION and all((folder / name).is_file() for name in manifest.files)
    return manifest if is_complete else None


def write_model_manifest(folder: Path, manifest: ModelManifest) -> None:
    """Write the manifest, which marks the folder as complete."""
    (folder / MANIFEST_FILE).write_bytes(orjson.dumps(asdict(manifest), option=orjson.OPT_INDENT_2))
