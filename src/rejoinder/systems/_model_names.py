"""Which model a name means: a folder, an entry of the catalog, or a model in the local cache of a model hub."""

from __future__ import annotations

from pathlib import Path

from rejoinder.errors import InputError, SpecError, nearest
from rejoinder.models.catalog.entries import MODELS
from rejoinder.models.catalog.entry import CatalogModel, Hub, Kind
from rejoinder.models.catalog.hub import find_in_hub_cache
from rejoinder.models.catalog.manifest import is_model_available, require_model

_KINDS: dict[Kind, str] = {"language-model": "language model", "sequence-model": "sequence-to-sequence model"}


def find_model_folder(name: str, kind: Kind) -> str:
    """Return the folder of a model on this machine; else raise an error with what to do. Nothing is downloaded."""
    if not name.strip():  # an empty path would mean the working folder
        raise SpecError(f"no {_KINDS[kind]} is named; name a folder, a model of the catalog or a model of the hub")
    entry = _find_entry(name)
    if entry is None and Path(name).is_dir():  # a name of the catalog means the same whatever is in the working folder
        return name
    if entry is not None and entry.kind != kind:
        raise SpecError(f"{name} is not a {_KINDS[kind]}: the catalog lists it for {entry.purpose}")
    if entry is not None and is_model_available(entry):
        return str(require_model(entry.name))
    names = [name] if entry is None or not isinstance(entry.origin, Hub) else [entry.origin.repository, name]
    for one in names:
        if (folder := find_in_hub_cache(one)) is not None:
            return str(folder)
    if entry is not None:
        return str(require_model(entry.name))  # says how to get it
    known = [model.name for model in MODELS.values() if model.kind == kind]
    raise InputError(
        f"there is no {_KINDS[kind]} {name!r}: it is not a folder, not in the catalog ({nearest(name, known)}) and not "
        "in the hub's local cache; nothing is downloaded automatically, so get it with the hub's own command (hf "
        "download NAME), or name a folder"
    )


def _find_entry(name: str) -> CatalogModel | None:
    """Return the catalog's entry with that name, or with that repository."""
    if name in MODELS:
        return MODELS[name]
    hubs = ((model, model.origin) for model in MODELS.values())
    return next((model for model, origin in hubs if isinstance(origin, Hub) and origin.repository == name), None)
