"""Encoding 10,000 utterances with nothing in the cache, against sentence-transformers with the same weights."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.models.catalog.manifest import ModelMissingError, require_model
from rejoinder.models.device import count_threads, silence_transformers
from rejoinder.models.encoder.cache import CachedEncoder
from rejoinder.models.encoder.export import export_encoder
from rejoinder.models.encoder.onnx import OnnxEncoder
from rejoinder.models.encoder.probe_sentences import probe_texts

ROUNDS = 4
WORDS_OF_AN_UTTERANCE = 11.5  # the mean of DailyDialog's, which are mostly short and sometimes long


def made_up(count: int) -> list[str]:
    """Distinct utterances of English words, as long as people's are."""
    random = np.random.default_rng(0)
    words = sorted({word for text in probe_texts() for word in text.split()})
    lengths = np.clip(random.lognormal(np.log(WORDS_OF_AN_UTTERANCE) - 0.32, 0.8, 2 * count), 1, 80).astype(int)
    found = dict.fromkeys(" ".join(random.choice(words, length)) for length in lengths)
    return list(found)[:count]


def said(count: int) -> tuple[list[str], str]:
    """Utterances as people made them, repetitions and all, where the dialogue corpus is here; else made up."""
    from rejoinder.data.datasets import read_dataset
    from rejoinder.errors import InputError
    from rejoinder.types import Dialogue

    found: list[str] = []
    try:
        for record in read_dataset("corpus/dialogues"):
            if isinstance(record, Dialogue) and record.split == "valid":
                found += [turn.text for turn in record.turns]
    except InputError:
        return made_up(count), "made up, all different"
    order = np.random.default_rng(0).permutation(len(found))[:count]
    return [found[i] for i in order], "of twelve corpora, as they were said"


def folder_of_minilm(spare: Path) -> Path:
    """The model where it is in the cache, else a network of the same shape with random weights."""
    try:
        return require_model("minilm")
    except ModelMissingError:
        save_random(spare)
        export_encoder(spare, spare, "random")
        return spare


def save_random(folder: Path) -> None:
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertConfig, BertModel

    tokenizer: Any = BertWordPieceTokenizer()
    tokenizer.train_from_iterator(probe_texts(), vocab_size=2_000, show_progress=False)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    shape: Any = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536}
    network: Any = BertModel
    network(BertConfig(**shape)).save_pretrained(folder)


def seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def measure(count: int = 10_000, compared: int = 2_000) -> list[dict[str, Any]]:
    """Utterances a second, tokenising and writing the cache included, the two in turns."""
    import torch
    from sentence_transformers import SentenceTransformer

    texts, kind = said(count)
    with tempfile.TemporaryDirectory() as scratch:
        folder = folder_of_minilm(Path(scratch) / "random")
        with silence_transformers():
            other = SentenceTransformer(str(folder), device="cpu")
        torch.set_num_threads(count_threads())
        plain = OnnxEncoder(folder)
        for encode in (plain.encode, other.encode):  # neither is measured while it warms up
            encode(texts[:64])
        ours, theirs = 0.0, 0.0
        cached = CachedEncoder(plain, Path(scratch) / "embeddings")
        for turn in range(ROUNDS):
            mine = texts[turn * count // ROUNDS : (turn + 1) * count // ROUNDS]
            yours = mine[: compared // ROUNDS]
            ours += seconds(partial(cached.encode, mine))
            theirs += seconds(partial(other.encode, yours, batch_size=32, show_progress_bar=False))
        check = np.abs(cached.encode(texts[:200]) - other.encode(texts[:200], normalize_embeddings=True)).max()
        again = seconds(lambda: cached.encode(texts))
    if check > 1e-4:
        raise RuntimeError(f"the two do not encode the same: they differ by {check}")
    rate, their_rate = count / ours, compared / theirs
    return [
        {
            "name": f"encoding {count:,} utterances ({kind}), nothing cached, MiniLM in float32",
            "value": round(rate),
            "unit": "utterances/s",
            "against": f"sentence-transformers on torch float32, {their_rate:.0f} utterances/s",
            "ratio": round(rate / their_rate, 2),
            "floor": 1.8,
        },
        {
            "name": f"the same {count:,} utterances from the cache",
            "value": round(count / again),
            "unit": "utterances/s",
            "against": "encoding them",
            "ratio": round(ours / again, 1),
            "floor": 20,
        },
    ]
