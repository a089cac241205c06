"""The pooled next-sentence feature of a BERT (Devlin et al. 2019): what the IDK paper trains on; with torch."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from rejoinder.models.aptness import Contexts
from rejoinder.models.batching import batches, pad
from rejoinder.models.catalog import MODELS
from rejoinder.models.contract import Vectors
from rejoinder.models.device import room
from rejoinder.models.encoder import PREFIX, find_folder
from rejoinder.models.next_sentence import NextSentence


def open_next_sentence_pairs(name: str) -> NextSentencePairs:
    """The pairs of a BERT of the catalog or of a folder, opened once in a process as long as it does not change."""
    folder, mark = find_folder(PREFIX + name.removeprefix(PREFIX))
    return _open(name, folder, (folder / mark).stat().st_mtime_ns)


@lru_cache(maxsize=1)
def _open(name: str, folder: Path, changed: int) -> NextSentencePairs:
    return NextSentencePairs(folder, name)


class NextSentencePairs(NextSentence):
    """A frozen BERT with its pooling layer; the turns of a context are joined by spaces, as in the paper."""

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__(folder, name)
        plain = name.removeprefix(PREFIX)
        self.licence = MODELS[plain].licence if plain in MODELS else "not known"
        self.dimensions = int(self._model.config.hidden_size)
        self.digest = hashlib.sha256(f"pooled {self.digest}".encode()).hexdigest()

    def features(self, contexts: Contexts, replies: Sequence[str]) -> Vectors:
        """One vector a pair, in order; a row of NaN where a context or a reply says nothing."""
        texts = [_joined(context) for context in contexts]
        known = [i for i, text in enumerate(texts) if text and replies[i].strip()]
        pairs = self._pairs([texts[i] for i in known], [replies[i] for i in known])
        found = np.full((len(texts), self.dimensions), np.nan, np.float32)
        torch, device = self._torch, self._model.device
        for batch in batches([len(pair.ids) for pair in pairs], *room(device.type)):
            ids, mask = pad([pairs[i].ids for i in batch], self._padding)
            begins = np.array([pairs[i].second_at for i in batch])
            kinds = mask * (np.arange(mask.shape[1]) >= begins[:, None])
            given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": kinds}
            with torch.inference_mode():
                read = self._model.base_model(**{k: torch.from_numpy(v).to(device) for k, v in given.items()})
            found[[known[i] for i in batch]] = read.pooler_output.float().cpu().numpy()
        return found

    def cut(self, contexts: Contexts, replies: Sequence[str]) -> list[bool]:
        """Which pairs are too long to be read whole."""
        return self.truncated([_joined(context) for context in contexts], replies)


def _joined(context: Sequence[str]) -> str:
    return " ".join(text for text in context if text.strip())
