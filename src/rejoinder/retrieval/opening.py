"""Opening an index of whichever kind it is."""

from __future__ import annotations

from pathlib import Path

from rejoinder.errors import InputError, brief
from rejoinder.models.contract import Encoder
from rejoinder.retrieval._folder import read_manifest, settings_of
from rejoinder.retrieval.bm25 import Bm25Index
from rejoinder.retrieval.dense import DenseIndex, Settings


def open_index(folder: str | Path, encoder: Encoder | None = None) -> Bm25Index | DenseIndex:
    """An index; a dense one is opened with the encoder given, else with the one of the name it was made with."""
    manifest = read_manifest(Path(folder))
    match manifest.kind:
        case "bm25":
            return Bm25Index.open(folder)
        case "dense":
            if encoder is None:
                from rejoinder.models.encoder import load_encoder

                encoder = load_encoder(settings_of(manifest, Path(folder), Settings).encoder)
            return DenseIndex.open(folder, encoder)
    raise InputError(
        f"{folder}: holds an index of an unknown kind {brief(manifest.kind)}; is rejoinder too old for it?"
    )
