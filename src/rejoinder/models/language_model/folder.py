"""The folder of a causal language model: safetensors, a configuration and a tokeniser, opened without downloads."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from rejoinder.errors import InputError, MissingExtraError
from rejoinder.models.card import folder_digest
from rejoinder.models.device import Device, silence_transformers, torch_device
from rejoinder.models.language_model.network import is_causal
from rejoinder.models.text_model import load_text_model

Precision: TypeAlias = Literal["float32", "float64", "bfloat16", "float16"]


class ModelFolder(NamedTuple):
    """The contents of a folder, ready to use."""

    network: Any
    tokenizer: Any
    window: int
    digest: str


def open_language_model_folder(folder: Path, device: Device | None, dtype: Precision) -> ModelFolder:
    """Open the network of a folder in evaluation mode with frozen weights, and its tokeniser."""
    try:
        import torch
        import transformers
    except ImportError as error:
        raise MissingExtraError(error.name or "torch", "torch", "a language model") from None
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder}: is not a model folder (it has no config.json)")
    precision = getattr(torch, dtype, None)
    if not isinstance(precision, torch.dtype) or not precision.is_floating_point:
        raise InputError(f"dtype must be float32, float64, bfloat16 or float16, not {dtype!r}")
    target = torch_device(device)
    network, tokenizer = load_text_model(folder, "AutoModelForCausalLM", "a causal language model", precision)
    settings: Any = transformers.GenerationConfig
    # Settings that a model was released with (a penalty, a temperature) must not affect the requested ones.
    network.generation_config = settings(eos_token_id=network.generation_config.eos_token_id)
    network.to(target)
    if not is_causal(network):
        raise InputError(f"{folder}: {type(network).__name__} sees later tokens, so it is not a causal language model")
    return ModelFolder(network, tokenizer, _read_window(network, tokenizer, folder), folder_digest(folder))


def _read_window(network: Any, tokenizer: Any, folder: Path) -> int:
    """Return how many tokens the model can read: its number of positions."""
    named = getattr(network.config.get_text_config(), "max_position_embeddings", None)
    window = int(named or tokenizer.model_max_length)
    if not 2 <= window <= 10**7:  # transformers writes a huge number if it does not know
        raise InputError(
            f"{folder}: does not say how many tokens the model reads; set the tokeniser's model_max_length"
        )
    return window


def convert_gguf(source: Path, target: Path) -> None:
    """Convert the model of a GGUF file and write it into a folder."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    form: dict[str, Any] = {"gguf_file": source.name, "local_files_only": True}
    with silence_transformers():
        plain = GgufConfig(dequantize=True)
        model: Any = AutoModelForCausalLM.from_pretrained(
            source.parent, dtype=torch.float32, quantization_config=plain, **form
        )
        # The converted weights are not quantised: the configuration must not say so.
        if hasattr(model.config, "quantization_config"):
            del model.config.quantization_config
        model.to(torch.bfloat16).save_pretrained(target)
        AutoTokenizer.from_pretrained(source.parent, **form).save_pretrained(target)


def language_model_digest(folder: Path) -> str:
    """Return the digest of a folder, computed once per process unless its configuration changes."""
    return _compute_digest(folder, (folder / "config.json").stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _compute_digest(folder: Path, changed: int) -> str:
    return folder_digest(folder)
