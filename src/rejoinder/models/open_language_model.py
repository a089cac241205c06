"""Language models that stay open: one process reads a model's folder once, whichever metrics ask for it."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from rejoinder.models.catalog import MODELS
from rejoinder.models.language_model import LanguageModel, load_language_model
from rejoinder.models.machine import threads
from rejoinder.models.manifest import folder_of


def open_language_model(name: str) -> LanguageModel:
    """The language model of a folder or of a catalog's name, opened once as long as its folder does not change."""
    folder = folder_of(MODELS[name]) if name in MODELS else Path(name)
    try:
        changed = (folder / "config.json").stat().st_mtime_ns
    except OSError:
        changed = 0  # opening it will say what is wrong
    return _open(name, folder, changed)


@lru_cache(maxsize=1)  # they are large
def _open(name: str, folder: Path, changed: int) -> LanguageModel:
    model = load_language_model(name)
    import torch

    torch.set_num_threads(threads())
    return model
