"""COMET (Bosselut et al. 2019; Hwang et al. 2021): a sequence model that completes inferences about an event.

The prompt is that of COMET-ATOMIC 2020: the event, the relation, and the mark ``[GEN]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rejoinder.errors import InputError, MissingExtraError, SpecError
from rejoinder.models.catalog.entries import MODELS
from rejoinder.models.catalog.manifest import require
from rejoinder.models.device import quiet, threads
from rejoinder.models.language_model.folder import digest_of

MARK = "[GEN]"
_MOST_TOKENS = 24  # of a tail


@dataclass(frozen=True, eq=False)
class SequenceComet:
    """A sequence model of a folder, asked by beam search."""

    network: Any
    tokenizer: Any
    digest: str

    def tails(self, heads: Sequence[str], relation: str, n: int = 5) -> list[list[str]]:
        """Up to n tails of each event, best first; equal ones are given once."""
        if n < 1:
            raise SpecError(f"n must be at least 1, found {n}")
        return [self._tails(head, relation, n) for head in heads]  # one by one: padding would move the scores

    def _tails(self, head: str, relation: str, n: int) -> list[str]:
        import torch

        given = self.tokenizer(
            f"{head} {relation} {MARK}", return_tensors="pt", truncation=True, max_length=self._window
        )
        with torch.inference_mode():
            found = self.network.generate(
                input_ids=given["input_ids"],
                attention_mask=given["attention_mask"],
                num_beams=max(n, 2),
                num_return_sequences=n,
                max_new_tokens=_MOST_TOKENS,
                do_sample=False,
            )
        texts = (text.strip() for text in self.tokenizer.batch_decode(found, skip_special_tokens=True))
        return list(dict.fromkeys(text for text in texts if text))

    @property
    def _window(self) -> int:
        return min(int(self.tokenizer.model_max_length), int(self.network.config.max_position_embeddings))


def load_sequence_comet(name: str = "comet") -> SequenceComet:
    """The sequence model of a catalog's name or of a folder with safetensors; nothing is fetched and no code is run."""
    if name in MODELS and MODELS[name].kind != "sequence-model":
        raise SpecError(f"{name!r} is no sequence model but a {MODELS[name].kind}; use 'comet' or a folder")
    folder = require(name) if name in MODELS else Path(name)
    if not (folder / "config.json").is_file():
        raise SpecError(f"no sequence model is called {name!r}, and no folder with a config.json")
    try:
        import torch
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
    except ImportError as error:
        raise MissingExtraError(error.name or "torch", "torch", "COMET") from None
    local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    network_class: Any = AutoModelForSeq2SeqLM
    with quiet():
        try:
            network, found = network_class.from_pretrained(
                folder, dtype=torch.float32, use_safetensors=True, output_loading_info=True, **local
            )
            tokenizer = AutoTokenizer.from_pretrained(folder, **local)
        except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
            reason = " ".join(str(error).split())
            raise InputError(f"{folder}: cannot be opened as a sequence model ({reason})") from None
    if absent := sorted(found["missing_keys"]):
        raise InputError(f"{folder}: {len(absent)} of the weights are missing ({absent[0]} and so on); get it anew")
    torch.set_num_threads(threads())
    return SequenceComet(network.requires_grad_(False).eval(), tokenizer, digest_of(folder))
