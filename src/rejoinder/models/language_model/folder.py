"""The folder of a causal language model: safetensors, a configuration and a tokeniser, opened without any network."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from rejoinder.errors import InputError, MissingExtraError
from rejoinder.models.device import Device, silence_transformers, torch_device
from rejoinder.models.language_model.network import is_causal

Precision: TypeAlias = Literal["float32", "float64", "bfloat16", "float16"]
# What decides a number: weights, configuration, tokeniser and chat template; not cards, not licences.
_DIGEST_PATTERNS = (
    *("*.safetensors", "*.safetensors.index.json", "config.json", "generation_config.json"),
    *("tokenizer*.json", "special_tokens_map.json", "added_tokens.json", "vocab.*", "merges.txt", "*.model", "*.jinja"),
)
_CHUNK = 1 << 20


class ModelFolder(NamedTuple):
    """What a folder holds, ready to compute."""

    network: Any
    tokenizer: Any
    window: int
    digest: str


def open_folder(folder: Path, device: Device | None, dtype: Precision) -> ModelFolder:
    """The network in evaluation mode with frozen weights, and its tokeniser."""
    try:
        import torch
        import transformers
    except ImportError as error:
        raise MissingExtraError(error.name or "torch", "torch", "a language model") from None
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder}: is no model folder (it has no config.json)")
    if not any(folder.glob("*.safetensors")):
        raise InputError(f"{folder}: has no weights in safetensors; save them with save_pretrained of transformers")
    precision = getattr(torch, dtype, None)
    if not isinstance(precision, torch.dtype) or not precision.is_floating_point:
        raise InputError(f"dtype must be float32, float64, bfloat16 or float16, not {dtype!r}")
    place = torch_device(device)
    network, tokenizer = _load_network(folder, precision)
    settings: Any = transformers.GenerationConfig
    # What a model was released with (a penalty, a temperature) must not slip into what was asked for here.
    network.generation_config = settings(eos_token_id=network.generation_config.eos_token_id)
    network.requires_grad_(False).eval().to(place)
    if not is_causal(network):
        raise InputError(
            f"{folder}: {type(network).__name__} sees what comes after a token, so it is no causal language model"
        )
    return ModelFolder(network, tokenizer, _read_window(network, tokenizer, folder), folder_digest(folder))


def _load_network(folder: Path, precision: Any) -> tuple[Any, Any]:
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM, AutoTokenizer

    network_class: Any = AutoModelForCausalLM
    local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    with silence_transformers():
        try:
            network, found = network_class.from_pretrained(
                folder, dtype=precision, use_safetensors=True, output_loading_info=True, **local
            )
            tokenizer = AutoTokenizer.from_pretrained(folder, **local)
        except (OSError, ValueError, KeyError, ImportError, RuntimeError, SafetensorError) as error:
            reason = " ".join(str(error).split())
            raise InputError(f"{folder}: cannot be opened as a causal language model ({reason})") from None
    if absent := sorted(found["missing_keys"]):  # transformers would go on with random numbers
        raise InputError(f"{folder}: {len(absent)} of the weights are missing ({absent[0]} and so on); get it anew")
    return network, tokenizer


def folder_digest(folder: Path) -> str:
    """A sha256 over the names and the bytes of all files that decide a number."""
    whole = hashlib.sha256()
    for path in sorted({path for pattern in _DIGEST_PATTERNS for path in folder.glob(pattern)}):
        one = hashlib.sha256()
        with path.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                one.update(chunk)
        whole.update(f"{path.name} {one.hexdigest()}\n".encode())
    return whole.hexdigest()


def _read_window(network: Any, tokenizer: Any, folder: Path) -> int:
    """How many tokens the model reads: as many as it has positions."""
    named = getattr(network.config.get_text_config(), "max_position_embeddings", None)
    found = int(named or tokenizer.model_max_length)
    if not 2 <= found <= 10**7:  # transformers writes a huge number where it does not know
        raise InputError(
            f"{folder}: says nowhere how many tokens the model reads; set model_max_length of the tokenizer"
        )
    return found


def convert_gguf(source: Path, target: Path) -> None:
    """Write the model of a GGUF file into a folder."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    form: dict[str, Any] = {"gguf_file": source.name, "local_files_only": True}
    with silence_transformers():
        plain = GgufConfig(dequantize=True)
        model: Any = AutoModelForCausalLM.from_pretrained(
            source.parent, dtype=torch.float32, quantization_config=plain, **form
        )
        # The converted weights are plain ones: nothing in the configuration may speak of a quantised file.
        if hasattr(model.config, "quantization_config"):
            del model.config.quantization_config
        model.to(torch.bfloat16).save_pretrained(target)
        AutoTokenizer.from_pretrained(source.parent, **form).save_pretrained(target)
