"""Translation by any sequence-to-sequence model in a local folder: sampled, the same for the same text and seed.

Only safetensors are read, nothing is downloaded, no remote code is run. A model that needs a target language must have
it in its folder (``forced_bos_token_id`` in the generation settings).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from rejoinder.errors import InputError
from rejoinder.models.batching import pad_token_ids, split_into_batches
from rejoinder.models.card import folder_digest
from rejoinder.models.catalog.entries import OPUS
from rejoinder.models.catalog.hub import find_in_hub_cache
from rejoinder.models.catalog.manifest import require_model
from rejoinder.models.device import Device, silence_transformers, torch_device
from rejoinder.models.language_model.generation import DecodingSettings, logits_rules
from rejoinder.models.language_model.prompt_format import Ids
from rejoinder.models.text_model import load_text_model

Precision: TypeAlias = Literal["float32", "int8"]
LIMITS: dict[str, tuple[int, int]] = {"cpu": (64, 4_096), "cuda": (512, 32_768)}  # rows and tokens at once
_MAX_TEXT_TOKENS = 256  # of a text, and of a translation


@dataclass(frozen=True)
class Translator:
    """A translation model."""

    name: str
    digest: str
    network: Any = field(repr=False, compare=False)
    tokenizer: Any = field(repr=False, compare=False)

    def translate(self, texts: Sequence[str], temperature: float = 0.9, seed: int = 0) -> list[str]:
        """Return each text in the model's target language, sampled at a temperature (0: the most likely tokens).

        A translation depends on its text and the seed, not on the batch. An empty text stays empty; a text of more than
        256 tokens loses its end.
        """
        ids = {text: self._ids(text) for text in dict.fromkeys(texts)}
        known = [text for text in ids if text.strip()]
        translations = dict.fromkeys(ids, "")
        for batch in split_into_batches([len(ids[text]) for text in known], *LIMITS[self.network.device.type]):
            batch_texts = [known[i] for i in batch]
            new_ids = self._generate([ids[text] for text in batch_texts], temperature, seed)
            decoded = self.tokenizer.batch_decode(new_ids, skip_special_tokens=True)
            translations.update(zip(batch_texts, (" ".join(str(text).split()) for text in decoded), strict=True))
        return [translations[text] for text in texts]

    def _ids(self, text: str) -> Ids:
        readable = text.encode("utf-8", "replace").decode("utf-8")
        return tuple(self.tokenizer(readable, truncation=True, max_length=self._max_tokens)["input_ids"])

    @property
    def _max_tokens(self) -> int:
        named = getattr(self.network.config, "max_position_embeddings", None) or _MAX_TEXT_TOKENS
        return min(_MAX_TEXT_TOKENS, int(named) - 1)

    def _generate(self, rows: Sequence[Ids], temperature: float, seed: int) -> list[list[int]]:
        """Return the ids of a translation of each row, at most about twice as long as the row, whatever the batch."""
        import torch
        from transformers import LogitsProcessorList

        ids, mask = (torch.from_numpy(values).to(self.network.device) for values in pad_token_ids(rows, self._filler))
        longest = [min(self._max_tokens, 2 * len(row) + 10) for row in rows]
        method: Any = {"method": "sample", "temperature": temperature} if temperature else {"method": "greedy"}
        decoding = DecodingSettings(max(longest), no_repeat=0, seed=seed, **method)
        stops = self.network.generation_config.eos_token_id
        ends = list(stops) if isinstance(stops, list | tuple) else [stops]
        settings = LogitsProcessorList(logits_rules(rows, decoding, [end for end in ends if end is not None], 1))
        with torch.no_grad(), silence_transformers():
            generated = self.network.generate(
                input_ids=ids,
                attention_mask=mask,
                max_new_tokens=decoding.max_tokens,
                do_sample=False,
                num_beams=1,
                logits_processor=settings,
            )
        return [row[: 1 + most] for row, most in zip(generated.tolist(), longest, strict=True)]

    @property
    def _filler(self) -> int:
        return int(self.tokenizer.pad_token_id or 0)


def open_translator(name: str, precision: Precision = "float32") -> Translator:
    """Open the translator in a folder, or of a name in the hub's local cache, once unless it changes.

    The catalog's ``opus-mt-fr`` has two: ``opus-mt-fr/en-fr`` and ``opus-mt-fr/fr-en``. With the precision ``int8`` the
    weights are rounded to 8 bits, row by row; the arithmetic is the same.
    """
    model, _, direction = name.partition("/")
    if model == OPUS.name:
        folder: Path | None = require_model(model) / direction
    else:
        folder = Path(name) if Path(name).is_dir() else find_in_hub_cache(name)
    if folder is None:
        raise InputError(
            f"no translation model is called {name!r}: it is neither a folder nor in the hub's local cache"
        )
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder}: is not a model folder (it has no config.json)")
    return _open_translator_folder(folder, (folder / "config.json").stat().st_mtime_ns, precision)


@lru_cache(maxsize=2)  # there and back
def _open_translator_folder(
    folder: Path, changed: int, precision: Precision = "float32", device: Device | None = None
) -> Translator:
    network, tokenizer = load_text_model(folder, "AutoModelForSeq2SeqLM", "a translation model")
    network.to(torch_device(device))
    if precision == "int8":
        _round_rows(network)
    return Translator(folder.name, folder_digest(folder), network, tokenizer)


def _round_rows(network: Any) -> None:
    """Round matrices, but not the table of positions, to multiples of a 127th of each row's largest weight."""
    for name, weights in network.named_parameters():
        if weights.ndim == 2 and "positions" not in name:
            scales = weights.abs().amax(dim=1, keepdim=True).clamp(min=1e-30) / 127
            weights.copy_((weights / scales).round() * scales)
