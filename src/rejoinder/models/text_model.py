"""A model of transformers that writes text, from a folder: only safetensors, nothing is downloaded, no code is run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rejoinder.errors import InputError, MissingExtraError
from rejoinder.models.device import silence_transformers


def load_text_model(folder: Path, class_name: str, what: str, dtype: Any = None) -> tuple[Any, Any]:
    """Return the network of a folder, with frozen weights and by default in single precision, and its tokeniser."""
    try:
        import torch
        import transformers
        from safetensors import SafetensorError
    except ImportError as error:
        raise MissingExtraError(error.name or "torch", "torch", what) from None
    if not any(folder.glob("*.safetensors")):
        raise InputError(f"{folder}: has no safetensors weights; save them with transformers' save_pretrained")
    network_class: Any = getattr(transformers, class_name)
    tokenizer_class: Any = transformers.AutoTokenizer
    local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    with silence_transformers():
        try:
            network, loading_info = network_class.from_pretrained(
                folder, dtype=dtype or torch.float32, use_safetensors=True, output_loading_info=True, **local
            )
            tokenizer = tokenizer_class.from_pretrained(folder, **local)
        except (OSError, ValueError, KeyError, ImportError, RuntimeError, SafetensorError) as error:
            reason = " ".join(str(error).split())
            raise InputError(f"{folder}: cannot be opened as {what} ({reason})") from None
    if missing := sorted(loading_info["missing_keys"]):  # transformers would continue with random numbers
        raise InputError(f"{folder}: lacks weights ({len(missing)}, such as {missing[0]}); get the model again")
    return network.requires_grad_(False).eval(), tokenizer
