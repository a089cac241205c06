"""A pretrained masked language model (Devlin et al. 2019): how probable the tokens of a text are after another.

The folder is a transformers folder with such a head (``BertForMaskedLM``). Each token of the second text is masked in
turn and predicted from all the others (Salazar et al. 2020), in float32, on the GPU if there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import InputError
from rejoinder.model_use import ModelUse, record_use
from rejoinder.models.batching import pad_token_ids, split_into_batches
from rejoinder.models.device import device_batch_limits
from rejoinder.models.encoder.factory import HUB_PREFIX, find_encoder_folder
from rejoinder.models.next_sentence import NextSentence, PairIds, find_licence


class MaskedLanguageModel(NextSentence):
    """The network of a folder and its tokeniser."""

    network_class = "AutoModelForMaskedLM"
    head = "masked language model"

    def __init__(self, folder: Path, name: str) -> None:
        from tokenizers import Tokenizer

        super().__init__(folder, name)
        mask = Tokenizer.from_str(self._tokenizer.serialized).token_to_id("[MASK]")
        if mask is None:
            raise InputError(f"{folder}: its tokeniser lacks [MASK], which a masked language model needs")
        self._mask: int = mask

    def log_probabilities(self, firsts: Sequence[str], seconds: Sequence[str]) -> NDArray[np.float64]:
        """Return the mean log-probability of the tokens of each second text; NaN if it has none."""
        pairs = self._pairs(firsts, seconds)
        distinct = list(dict.fromkeys(pairs))
        places = [(i, at) for i, pair in enumerate(distinct) for at in range(pair.second_at, len(pair.ids) - 1)]
        sums, counts = np.zeros(len(distinct)), np.zeros(len(distinct))
        lengths = [len(distinct[i].ids) for i, _ in places]
        for batch in split_into_batches(lengths, *device_batch_limits(self._model.device.type)):
            chosen = [places[k] for k in batch]
            values = self._predict([(distinct[i], at) for i, at in chosen])
            for (i, _), value in zip(chosen, values, strict=True):
                sums[i] += value
                counts[i] += 1
        means: NDArray[np.float64] = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
        index = {pair: i for i, pair in enumerate(distinct)}
        return means[[index[pair] for pair in pairs]]

    def _predict(self, places: Sequence[tuple[PairIds, int]]) -> NDArray[np.float64]:
        """Return the log-probability of the token at one place of each pair, which is masked there."""
        torch, device = self._torch, self._model.device
        masked = [(*pair.ids[:at], self._mask, *pair.ids[at + 1 :]) for pair, at in places]
        ids, mask = pad_token_ids(masked, self._padding)
        segments = mask * (np.arange(mask.shape[1]) >= np.array([pair.second_at for pair, _ in places])[:, None])
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": segments}
        with torch.inference_mode():
            logits = self._model(**{k: torch.from_numpy(v).to(device) for k, v in inputs.items()}).logits
            rows = logits[torch.arange(len(places)), torch.tensor([at for _, at in places])].double()
            wanted = torch.tensor([pair.ids[at] for pair, at in places], device=device)
            values: NDArray[np.float64] = rows.log_softmax(-1).gather(1, wanted[:, None])[:, 0].cpu().numpy()
        return values


def open_masked_language_model(name: str) -> MaskedLanguageModel:
    """Open a masked language model from the catalog or a folder, once per process unless the folder changes."""
    folder, mark = find_encoder_folder(HUB_PREFIX + name.removeprefix(HUB_PREFIX))
    model = _open_folder(folder, name, (folder / mark).stat().st_mtime_ns)
    record_use(ModelUse.of(name, find_licence(name), model.digest))
    return model


@lru_cache(maxsize=2)
def _open_folder(folder: Path, name: str, changed: int) -> MaskedLanguageModel:
    return MaskedLanguageModel(folder, name)
