"""The one-time conversion of a model's published files into the form that is used here."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from rejoinder.errors import MissingExtraError
from rejoinder.models.catalog.entry import CatalogModel, Preparation

# What each conversion needs: the extra, its modules, and what they are needed for.
_REQUIREMENTS: dict[Preparation, tuple[str, tuple[str, ...], str]] = {
    "onnx": ("torch", ("torch", "transformers", "onnx"), "to export it once; no torch is needed afterwards"),
    "bert": ("torch", ("torch", "transformers", "onnx"), "to convert it once; no torch is needed afterwards"),
    "gguf": ("torch", ("torch", "transformers", "gguf", "accelerate"), "to convert it once"),
    "marian": ("torch", ("torch", "transformers", "google.protobuf"), "to convert it once"),
    "vocabulary": ("arrow", ("pyarrow",), "to read its words once"),
}

_BERT_GRAPH = "onnx/model.onnx"


def check_libraries(model: CatalogModel) -> None:
    """Raise if a library for the conversion is missing, before anything is downloaded."""
    if model.preparation == "none":
        return
    extra, modules, purpose = _REQUIREMENTS[model.preparation]
    for module in modules:
        if find_spec(module) is None:
            raise MissingExtraError(module, extra, f"the model {model.name!r} ({purpose})")


def prepare_model(model: CatalogModel, published: Path, whole: Path) -> None:
    """Convert the model in the folder ``published`` into the empty folder ``whole``."""
    if model.preparation == "gguf":
        from rejoinder.models.language_model.folder import convert_gguf

        convert_gguf(next(published.glob("*.gguf")), whole)
    elif model.preparation == "marian":
        from rejoinder.models.translation.marian import convert_marian

        for folder in sorted(path for path in published.iterdir() if path.is_dir()):
            convert_marian(folder, whole / folder.name)
    elif model.preparation == "vocabulary":
        _write_vocabulary(published, whole)
    else:
        _link_all(published, whole)
        if model.preparation == "bert":
            _write_bert_weights(published / _BERT_GRAPH, published / "model.safetensors")
            _link_or_copy(published / "model.safetensors", whole / "model.safetensors")
            shutil.rmtree((whole / _BERT_GRAPH).parent)  # its weights are in the other file now
        if model.preparation in ("onnx", "bert"):
            from rejoinder.models.encoder.export import export_encoder

            export_encoder(published, whole, name=model.name, licence=model.licence, base=str(model.origin))


def _write_bert_weights(graph: Path, target: Path) -> None:
    """Write the weights of a BERT that was published as a graph under the names that transformers gives them.

    The exporter stores matrices transposed and without a name; the bias that is added to their product has one.
    """
    import onnx
    from onnx import numpy_helper
    from safetensors.numpy import save_file

    model = onnx.load(str(graph))
    constants = {constant.name: numpy_helper.to_array(constant) for constant in model.graph.initializer}
    consumers = {name: node for node in model.graph.node for name in node.input}
    words = "embeddings.word_embeddings.weight"
    prefix = next(name for name in constants if name.endswith(words)).removesuffix(words)  # of all names
    weights = {
        name.removeprefix(prefix): values
        for name, values in constants.items()
        if name.startswith((f"{prefix}embeddings.", f"{prefix}encoder.")) and not name.endswith("position_ids")
    }
    for node in model.graph.node:
        if node.op_type == "MatMul" and node.input[1] in constants:
            bias = next(name for name in consumers[node.output[0]].input if name in constants)
            weights[f"{bias.removeprefix(prefix).removesuffix('.bias')}.weight"] = constants[node.input[1]].T
    save_file({name: np.ascontiguousarray(values) for name, values in weights.items()}, target, {"format": "pt"})


def _write_vocabulary(published: Path, whole: Path) -> None:
    """Write word vectors as a matrix and a list of words, which were published as a Parquet file with one column."""
    from pyarrow import parquet

    from rejoinder.models.word_vectors.model import MATRIX, VOCABULARY

    words = parquet.read_table(next(published.glob("*.parquet"))).column(0).to_pylist()
    (whole / VOCABULARY).write_text("\n".join(words) + "\n", encoding="utf-8", newline="\n")
    _link_or_copy(next(published.glob("*.npy")), whole / MATRIX)


def _link_all(source: Path, target: Path) -> None:
    for path in sorted(p for p in source.rglob("*") if p.is_file()):
        _link_or_copy(path, target / path.relative_to(source))


def _link_or_copy(source: Path, target: Path) -> None:
    """Link a file under another name, or copy it if the file system has no links."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
