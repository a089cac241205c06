"""A language model in a GGUF file as a transformers folder: bfloat16 safetensors, tokeniser and configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rejoinder.models.quiet import quiet


def convert(source: Path, target: Path) -> None:
    """Write the model of a GGUF file into a folder."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    form: dict[str, Any] = {"gguf_file": source.name, "local_files_only": True}
    with quiet():
        plain = GgufConfig(dequantize=True)
        model: Any = AutoModelForCausalLM.from_pretrained(
            source.parent, dtype=torch.float32, quantization_config=plain, **form
        )
        # The converted weights are plain ones: nothing in the configuration may speak of a quantised file.
        if hasattr(model.config, "quantization_config"):
            del model.config.quantization_config
        model.to(torch.bfloat16).save_pretrained(target)
        AutoTokenizer.from_pretrained(source.parent, **form).save_pretrained(target)
