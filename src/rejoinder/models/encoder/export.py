"""Export of a transformers encoder to a folder that needs no torch: graph, tokeniser, card, and the measured loss."""

from __future__ import annotations

import shutil
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.errors import InputError, MissingExtraError
from rejoinder.files import put_in_place, sha256_of
from rejoinder.models.device import silence_transformers
from rejoinder.models.encoder import card as cards
from rejoinder.models.encoder.architecture import read_encoder_shape, weights_digest
from rejoinder.models.encoder.card import EncoderCard, Weights

_OPSET = 17


def export_encoder(
    source: Path, target: Path, name: str, licence: str = "", base: str = "", weights: Weights = "float32"
) -> EncoderCard:
    """Write the encoder of a transformers folder into ``target``, and the loss of the export into its card.

    The card is the last file: a folder with a card is complete.
    """
    from rejoinder.models.encoder.transformers import TransformersEncoder, load_tokenizer, open_network

    _check_libraries()
    shape = read_encoder_shape(source)
    tokenizer = load_tokenizer(source, shape.max_tokens)
    network = open_network(source, attn_implementation="eager")
    target.mkdir(parents=True, exist_ok=True)
    part = target / f"{cards.GRAPH}.part"
    try:
        export_graph(network, part)
    except Exception as error:  # an operation that ONNX lacks; the exporter has many error classes
        part.unlink(missing_ok=True)
        raise InputError(f"{source}: cannot be exported ({' '.join(str(error).split())[:200]})") from None
    if weights == "int8":
        from rejoinder.models.onnx.quantization import quantize_weights

        quantize_weights(part, part)
    put_in_place(part, target / cards.GRAPH)
    (target / cards.TOKENIZER).unlink(missing_ok=True)  # it may link to the published file
    (target / cards.TOKENIZER).write_text(tokenizer.serialized, encoding="utf-8", newline="")
    card = EncoderCard(
        name=name,
        dimensions=int(network.config.hidden_size),
        max_tokens=shape.max_tokens,
        pooling=shape.pooling,
        padding=shape.padding,
        weights=weights,
        base=base or name,
        licence=licence,
        source=weights_digest(source),
        graph=sha256_of(target / cards.GRAPH),
    )
    cards.write_encoder_card(target, card)
    card = replace(card, measured=measure_export_loss(TransformersEncoder(source, name), target))
    cards.write_encoder_card(target, card)
    return card


def measure_export_loss(original: Any, folder: Path) -> dict[str, float]:
    """Return how close the exported encoder is to the original, on sample utterances, and how large its graph is."""
    from rejoinder.models.encoder.onnx import OnnxEncoder
    from rejoinder.models.encoder.probe_sentences import probe_texts

    texts = probe_texts()
    cosines = (original.encode(texts) * OnnxEncoder(folder).encode(texts)).sum(axis=1)
    return {
        "mean_cosine": round(float(np.mean(cosines)), 6),
        "min_cosine": round(float(np.min(cosines)), 6),
        "texts": len(texts),
        "graph_bytes": (folder / cards.GRAPH).stat().st_size,
    }


def export_graph(network: Any, path: Path) -> None:
    """Write an encoder's network as an ONNX graph, from ids and mask to the last layer's token vectors."""
    import torch

    class Tokens(torch.nn.Module):
        """The network without its other outputs."""

        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            return self.network(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state

    ids = torch.full((2, 7), 3)
    mask = torch.ones_like(ids)
    mask[1, 4:] = 0
    axes = {0: "rows", 1: "tokens"}
    with torch.no_grad(), silence_transformers(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the tracer's remarks on constants and on its own deprecation
        torch.onnx.export(
            Tokens().eval(),
            (ids, mask),
            str(path),
            input_names=["input_ids", "attention_mask"],
            output_names=["token_vectors"],
            dynamic_axes={"input_ids": axes, "attention_mask": axes, "token_vectors": axes},
            opset_version=_OPSET,
            dynamo=False,
        )


def _check_libraries() -> None:
    for module in ("torch", "transformers", "onnx"):
        try:
            __import__(module)
        except ImportError:
            raise MissingExtraError(module, "torch", "exporting an encoder") from None


def export_by_name(name: str, target: Path, weights: Weights = "int8") -> EncoderCard:
    """Export an encoder by name (see ``load_encoder``) into a new folder."""
    from rejoinder.models.catalog.entries import MODELS
    from rejoinder.models.encoder.factory import HUB_PREFIX, find_encoder_folder

    _check_libraries()
    plain = name.removeprefix(HUB_PREFIX)
    source, _ = find_encoder_folder(HUB_PREFIX + plain)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target}: already exists and is not empty; choose a new folder")
    model = MODELS.get(plain)
    part = target.with_name(f".{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    licence, base = (model.licence, str(model.origin)) if model else ("", plain)
    card = export_encoder(source, part, model.name if model else target.name, licence, base, weights)
    put_in_place(part, target)
    return card
