"""COMET as a sequence model: a tiny one that the test makes itself; needs torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tiny_models import byte_pairs

from rejoinder.augmentation.inference import GeneratedKnowledge
from rejoinder.errors import RejoinderError, SpecError
from rejoinder.models.comet.model import GENERATION_MARK, load_sequence_comet
from rejoinder.types import Item, Turn


def write_sequence_model(folder: Path) -> Path:
    """A random BART of one layer, as transformers saves it."""
    import torch
    import transformers

    core = byte_pairs(False)
    made: Any = transformers.PreTrainedTokenizerFast
    marks = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    made(tokenizer_object=core, model_max_length=64, **marks).save_pretrained(folder)
    config = transformers.BartConfig(
        vocab_size=core.get_vocab_size(),
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        max_position_embeddings=64,
        init_std=0.5,
        bos_token_id=0,
        pad_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=2,
        forced_eos_token_id=2,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        transformers.BartForConditionalGeneration(config).save_pretrained(folder)
    return folder


def test_a_sequence_model_gives_the_same_tails_each_time_and_each_once(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    model = load_sequence_comet(str(write_sequence_model(tmp_path / "model")))
    (found, _) = model.tails(["PersonX asks for help", "PersonX eats"], "oWant", 4)
    assert 1 <= len(found) <= 4
    assert len(set(found)) == len(found)
    assert [found] == model.tails(["PersonX asks for help"], "oWant", 4)
    assert len(model.tails(["word " * 500], "oWant", 1)) == 1  # longer than the model's window
    with pytest.raises(SpecError, match="n must be at least 1"):
        model.tails(["PersonX eats"], "oWant", 0)


def test_the_prompt_is_event_relation_mark(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    model = load_sequence_comet(str(write_sequence_model(tmp_path / "model")))
    given: list[str] = []
    inner = model.tokenizer

    class Listening:
        model_max_length = 64

        def __call__(self, text: str, **options: Any) -> Any:
            given.append(text)
            return inner(text, **options)

        def batch_decode(self, *found: Any, **options: Any) -> Any:
            return inner.batch_decode(*found, **options)

    object.__setattr__(model, "tokenizer", Listening())
    GeneratedKnowledge(model, ("oWant",)).infer([Item("i", (Turn("I lost my keys."),))])
    assert given == [f"PersonX lost PersonX's keys. oWant {GENERATION_MARK}"]


def test_a_model_that_is_not_here_or_is_another_is_named(tmp_path: Path) -> None:
    with pytest.raises(RejoinderError, match="rejoinder models get comet"):
        load_sequence_comet()
    with pytest.raises(SpecError, match="not a sequence model"):
        load_sequence_comet("minilm")
    with pytest.raises(SpecError, match="no folder with a config"):
        load_sequence_comet(str(tmp_path))
