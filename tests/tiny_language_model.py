"""A tiny chat model of random weights under the name of the embedded one; needs torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from made_once import made_once
from tiny_models import WORDS

from rejoinder.files import sha256_of
from rejoinder.models.catalog.manifest import ModelManifest, write_model_manifest

NAME = "smollm2-135m"
TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def install(cache: Path, window: int = 2048) -> Path:
    """Put the model where the catalog looks for the embedded one."""
    folder = cache / "models" / NAME
    write_language_model(folder, window)
    files = {path.name: sha256_of(path) for path in sorted(folder.iterdir())}
    write_model_manifest(folder, ModelManifest(NAME, "made by a test", "none", files))
    return folder


@made_once
def write_language_model(folder: Path, window: int = 2048, seed: int = 0) -> None:
    """Two layers with large random weights, so that every token before a token matters to it."""
    import torch
    import transformers

    folder.mkdir(parents=True, exist_ok=True)
    tokens = _tokenizer()
    tokens.save_pretrained(folder)
    shape: dict[str, Any] = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "initializer_range": 0.3,
    }
    config = transformers.LlamaConfig(
        vocab_size=len(tokens), max_position_embeddings=window, bos_token_id=1, eos_token_id=0, **shape
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        transformers.LlamaForCausalLM(config).save_pretrained(folder)


def _tokenizer() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    core: Any = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    marks = ["<|end|>", "<|begin|>", "<|user|>", "<|assistant|>", "<|system|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, show_progress=False, special_tokens=marks, initial_alphabet=alphabet)
    core.train_from_iterator([" ".join(WORDS)] * 3, trainer)
    made: Any = PreTrainedTokenizerFast
    return made(
        tokenizer_object=core,
        eos_token="<|end|>",
        bos_token="<|begin|>",
        additional_special_tokens=marks[2:],
        chat_template=TEMPLATE,
        clean_up_tokenization_spaces=False,
    )
