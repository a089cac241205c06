"""Marian translation models (Junczys-Dowmunt et al. 2018; Tiedemann and Thottingal 2020) in the form that is used here.

They are published as torch weights with two SentencePiece files and a shared vocabulary. Converted once, a folder has
safetensors and one ``tokenizer.json`` that splits texts like the source file and numbers pieces like the vocabulary, so
that reading it needs no further library.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from rejoinder.models.translation.checkpoint import read_checkpoint_weights

_COPIED = ("config.json", "generation_config.json")
_UNUSED = -1e4  # the log-probability of a piece that no source text is split into
_END, _UNKNOWN, _PAD = "</s>", "<unk>", "<pad>"


def convert_marian(published: Path, target: Path) -> None:
    """Write a folder with the weights and the tokenizer of a published model."""
    from safetensors.torch import save_file

    target.mkdir(parents=True, exist_ok=True)
    for name in _COPIED:
        shutil.copyfile(published / name, target / name)
    weights = read_checkpoint_weights(published / "pytorch_model.bin")
    own = {name: value.clone().contiguous() for name, value in weights.items()}  # no two share their memory
    save_file(own, target / "model.safetensors", {"format": "pt"})
    _write_tokenizer(published, target)


def _write_tokenizer(published: Path, target: Path) -> None:
    from transformers import PreTrainedTokenizerFast

    tokenizer = _make_tokenizer(published / "source.spm", json.loads((published / "vocab.json").read_bytes()))
    config = json.loads((published / "config.json").read_bytes())
    wrap: Any = PreTrainedTokenizerFast
    wrapped = wrap(
        tokenizer_object=tokenizer,
        eos_token=_END,
        unk_token=_UNKNOWN,
        pad_token=_PAD,
        model_max_length=config["max_position_embeddings"],
        clean_up_tokenization_spaces=False,
    )
    wrapped.save_pretrained(target)


def _make_tokenizer(source: Path, vocabulary: dict[str, int]) -> Any:
    """Return a tokenizer that splits as a SentencePiece file says, with the numbers of the vocabulary."""
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    from transformers.convert_slow_tokenizer import import_protobuf

    protobuf: Any = import_protobuf
    read = protobuf().ModelProto()
    read.ParseFromString(source.read_bytes())
    scores = {piece.piece: piece.score for piece in read.pieces}
    pieces = sorted(vocabulary, key=vocabulary.__getitem__)
    tokenizer = Tokenizer(
        models.Unigram([(piece, scores.get(piece, _UNUSED)) for piece in pieces], unk_id=vocabulary[_UNKNOWN])
    )
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Precompiled(read.normalizer_spec.precompiled_charsmap),
            normalizers.Strip(),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"$A {_END}", special_tokens=[(_END, vocabulary[_END])]
    )
    return tokenizer
