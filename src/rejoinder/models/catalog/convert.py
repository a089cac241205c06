"""What is done once to the published files of a model, so that it can be used without what it was published in."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

from rejoinder.errors import MissingExtraError
from rejoinder.models.catalog.entries import Model, Preparation

# What each preparation needs: the extra, its modules, and what they are needed for.
_REQUIREMENTS: dict[Preparation, tuple[str, tuple[str, ...], str]] = {
    "onnx": ("torch", ("torch", "transformers", "onnx"), "to export it once; no torch is needed afterwards"),
    "gguf": ("torch", ("torch", "transformers", "gguf", "accelerate"), "to convert it once"),
    "vocabulary": ("arrow", ("pyarrow",), "to read its words once"),
}


def check_libraries(model: Model) -> None:
    """Raise where a library for the preparation is absent, before anything is downloaded."""
    if model.preparation == "none":
        return
    extra, modules, purpose = _REQUIREMENTS[model.preparation]
    for module in modules:
        if find_spec(module) is None:
            raise MissingExtraError(module, extra, f"the model {model.name!r} ({purpose})")


def prepare_model(model: Model, published: Path, whole: Path) -> None:
    """Make the model of the folder ``published`` usable in the empty folder ``whole``."""
    if model.preparation == "gguf":
        from rejoinder.models.language_model.folder import convert_gguf

        convert_gguf(next(published.glob("*.gguf")), whole)
    elif model.preparation == "vocabulary":
        _write_vocabulary(published, whole)
    else:
        _link_all(published, whole)
        if model.preparation == "onnx":
            from rejoinder.models.encoder.export import export_encoder

            export_encoder(published, whole, name=model.name, licence=model.licence, base=str(model.origin))


def _write_vocabulary(published: Path, whole: Path) -> None:
    """Word vectors as a matrix and a list of words; the words are published as a parquet file of one column."""
    from pyarrow import parquet

    from rejoinder.models.word_vectors import MATRIX, VOCABULARY

    words = parquet.read_table(next(published.glob("*.parquet"))).column(0).to_pylist()
    (whole / VOCABULARY).write_text("\n".join(words) + "\n", encoding="utf-8", newline="\n")
    _link(next(published.glob("*.npy")), whole / MATRIX)


def _link_all(source: Path, target: Path) -> None:
    for path in sorted(p for p in source.rglob("*") if p.is_file()):
        _link(path, target / path.relative_to(source))


def _link(source: Path, target: Path) -> None:
    """The same file under another name; a copy where the file system knows no links."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
