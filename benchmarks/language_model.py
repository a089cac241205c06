"""Replies to one context: the context read once for all of them, against a whole pass for each."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.models.catalog.manifest import ModelMissingError
from rejoinder.models.device import Device, silence_transformers
from rejoinder.models.language_model.model import LanguageModel, load_language_model
from rejoinder.models.language_model.prompt_format import context_ids
from rejoinder.types import Turn

CONTEXT = tuple(
    Turn(text)
    for text in (
        "Hi there, I have not seen you for quite a while. Tell me, how was your weekend?",
        "It was great. I went hiking with my sister near the big lake in the north.",
        "That sounds lovely. Was it very cold up there, and did you stay the night in a tent or in a hut by the water?",
    )
)
WORDS = "yes we had warm jackets and slept in a small hut by the water because it was raining most of the day".split()


def replies(count: int) -> list[str]:
    """Made-up replies of about 16 words, no two alike."""
    random = np.random.default_rng(0)
    return [" ".join(random.choice(WORDS, 16)) for _ in range(count)]


def a_model(device: Device = "cpu") -> LanguageModel:
    """SmolLM2-135M where it is in the cache, else a smaller network of random weights."""
    try:
        return load_language_model("smollm2-135m", device=device)
    except ModelMissingError:
        with tempfile.TemporaryDirectory() as folder, silence_transformers():
            save_random(Path(folder) / "random-12-layers")
            return load_language_model(Path(folder) / "random-12-layers", device=device)


def save_random(folder: Path) -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    core: Any = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    lines = [turn.text for turn in CONTEXT] + replies(20)
    core.train_from_iterator(
        lines, trainers.BpeTrainer(vocab_size=1000, special_tokens=["<|end|>"], show_progress=False)
    )
    tokens: Any = PreTrainedTokenizerFast
    tokens(tokenizer_object=core, eos_token="<|end|>").save_pretrained(folder)
    shape: Any = {"hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 12, "num_attention_heads": 9}
    network: Any = LlamaForCausalLM
    config = LlamaConfig(vocab_size=49152, num_key_value_heads=3, max_position_embeddings=2048, **shape)
    network(config).save_pretrained(folder)


def one_by_one(model: LanguageModel, texts: list[str]) -> list[float]:
    """The mean log-probability of each reply from transformers' own loss, context and all."""
    import torch

    found = []
    for text in texts:
        before = context_ids(model.tokenizer, CONTEXT, model.join)
        first, after = [*before.start, *before.body], list(model.reply_ids(text))
        labels = torch.tensor([[-100] * len(first) + after])
        with torch.no_grad():
            found.append(-float(model.network(input_ids=torch.tensor([first + after]), labels=labels).loss))
    return found


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    begun = time.perf_counter()
    found = work()
    return time.perf_counter() - begun, found


def measure(count: int = 20, rounds: int = 3) -> list[dict[str, Any]]:
    """Seconds for the replies to one context, the best of some rounds in which both ways take turns."""
    texts = replies(count)
    model = a_model()
    shared, alone = [], []
    for _ in range(rounds):
        seconds, expected = timed(lambda: one_by_one(model, texts))
        alone.append(seconds)
        seconds, found = timed(lambda: model.log_probabilities([CONTEXT] * count, texts))
        shared.append(seconds)
        if not np.allclose([one.mean for one in found], expected, atol=1e-4):
            raise RuntimeError("the two ways differ")
    tokens = round(float(np.mean([len(one.tokens) for one in found])))
    name = f"{count} replies of {tokens} tokens to one context of {found[0].context_tokens}, {model.name}"
    return [
        {
            "name": name,
            "value": round(min(shared), 2),
            "unit": "s",
            "against": f"one by one with transformers, {min(alone):.2f} s",
            "ratio": round(min(alone) / min(shared), 2),
            "floor": 3.0,
        }
    ]
