"""A pretrained masked language model (Devlin et al. 2019): how probable the tokens of a text are after another.

The folder is a transformers folder with such a head (``BertForMaskedLM``). Each token of the second text is masked in
turn and predicted from all the others (Salazar et al. 2020), in float32, on the GPU if there is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.model_use import ModelUse, record_use
from rejoinder.models.bert.next_sentence import BertPairs, PairIds, find_licence, find_special_ids, read_pair_network
from rejoinder.models.encoder.factory import HUB_PREFIX, find_encoder_folder
from rejoinder.models.tokenization import TextTokenizer


class MaskedPairs(BertPairs):
    """How probable the tokens of a text are after another, each masked in turn."""

    def __init__(self, network: Any, tokenizer: TextTokenizer, padding: int, digest: str) -> None:
        super().__init__(network, tokenizer, padding, digest)
        [self._mask] = find_special_ids(tokenizer, ("[MASK]",))

    def log_probabilities(self, firsts: Sequence[str], seconds: Sequence[str]) -> NDArray[np.float64]:
        """Return the mean log-probability of the tokens of each second text; NaN if it has none."""
        pairs = self._pairs(firsts, seconds)
        distinct = list(dict.fromkeys(pairs))
        places = [(i, at) for i, pair in enumerate(distinct) for at in range(pair.second_at, len(pair.ids) - 1)]
        sums, counts = np.zeros(len(distinct)), np.zeros(len(distinct))
        for batch in self._split([len(distinct[i].ids) for i, _ in places]):
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
        torch = self._torch
        masked = [(*pair.ids[:at], self._mask, *pair.ids[at + 1 :]) for pair, at in places]
        inputs = self._inputs(masked, [pair.second_at for pair, _ in places])
        at = torch.tensor([at for _, at in places], device=self._device)
        wanted = torch.tensor([pair.ids[at] for pair, at in places], device=self._device)
        with torch.inference_mode():
            odds = self._odds(inputs, at).double()
            values: NDArray[np.float64] = odds.log_softmax(-1).gather(1, wanted[:, None])[:, 0].cpu().numpy()
        return values

    def _odds(self, inputs: Mapping[str, Any], at: Any) -> Any:
        """Return the log-odds of all words at one place of each row."""
        return self._model(**inputs).logits[self._torch.arange(len(at), device=self._device), at]


class MaskedLanguageModel(MaskedPairs):
    """The network of a transformers folder and its tokeniser."""

    def __init__(self, folder: Path) -> None:
        marks = ("[CLS]", "[SEP]", "[MASK]")
        super().__init__(*read_pair_network(folder, "AutoModelForMaskedLM", "masked language model", marks))


def open_masked_language_model(name: str) -> MaskedLanguageModel:
    """Open a masked language model from the catalog or a folder, once per process unless the folder changes."""
    folder, mark = find_encoder_folder(HUB_PREFIX + name.removeprefix(HUB_PREFIX))
    model = _open_folder(folder, (folder / mark).stat().st_mtime_ns)
    record_use(ModelUse.of(name, find_licence(name), model.digest))
    return model


@lru_cache(maxsize=2)
def _open_folder(folder: Path, changed: int) -> MaskedLanguageModel:
    return MaskedLanguageModel(folder)
