"""USR's masked language model, trained here: small additions to the encoder of aptness, which has no such head.

The folder is that of a head (``models/head/model.py``). Its settings are the most tokens of a pair, the mean
log-probabilities of a reply's tokens that become 0 and 1, and, if it was learned from ratings, how much they count
beside the retrieval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import InputError, MissingExtraError
from rejoinder.models import aptness_card as cards
from rejoinder.models.bert.masked_language_model import MaskedPairs
from rejoinder.models.encoder.factory import find_encoder_folder
from rejoinder.models.tokenization import TextTokenizer
from rejoinder_lab.models.head.model import Head, open_head

MAX_TOKENS, FLUENCY, MLM_WEIGHT = "max_tokens", "fluency", "mlm_weight"  # settings
EQUAL = 0.5  # the weight of the masked language model where none was learned


class UsrModel(MaskedPairs):
    """The network of a head's folder, with its bounds."""

    def __init__(self, head: Head) -> None:
        try:
            import torch

            from rejoinder_lab.models.usr.network import MaskedNetwork
        except ImportError as error:
            raise MissingExtraError(error.name or "torch", "torch", "usr") from None
        trunk, tokenizer = open_masked_trunk(head.encoder.name)  # with its set of weights
        network = MaskedNetwork(trunk)
        try:
            network.merge({name: torch.from_numpy(array).float() for name, array in head.weights.items()})
            self._low, self._high = head.card.settings[FLUENCY]
            max_tokens = head.card.settings[MAX_TOKENS]
            self.mlm_weight = float(head.card.settings.get(MLM_WEIGHT, EQUAL))
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise InputError(f"the weights of usr do not fit its encoder ({error}); train it again") from None
        super().__init__(
            network.eval(), TextTokenizer(tokenizer, max_tokens), trunk.config.pad_token_id, head.card.digest()
        )

    def fluency(self, firsts: Sequence[str], seconds: Sequence[str]) -> NDArray[np.float64]:
        """Return how probable the tokens of each second text are, from 0 to 1; most true replies are in between."""
        scaled = (self.log_probabilities(firsts, seconds) - self._low) / (self._high - self._low)
        between: NDArray[np.float64] = np.clip(scaled, 0, 1)
        return between

    def _odds(self, inputs: Mapping[str, Any], at: Any) -> Any:
        chosen = self._torch.arange(len(at), device=self._device), at
        return self._model(inputs["input_ids"], inputs["attention_mask"], inputs["token_type_ids"], chosen)


def open_usr(folder: str | None = None) -> UsrModel:
    """Open the model in a folder, by default the one of this package, once per process."""
    return _open_usr_head(open_head("usr", folder))


@lru_cache(maxsize=2)
def _open_usr_head(head: Head) -> UsrModel:
    return UsrModel(head)


def open_masked_trunk(name: str) -> tuple[Any, str]:
    """Return the BERT of an encoder in float32 and the text of its ``tokenizer.json``; it must be one of aptness."""
    folder, mark = find_encoder_folder(name)
    if mark != cards.CARD_FILE:
        raise InputError(f"usr's masked language model is an addition to aptness or a folder like it, not to {name!r}")
    from rejoinder.models.aptness.network import float_networks

    return float_networks(folder)[0].trunk, (Path(folder) / cards.TOKENIZER).read_text(encoding="utf-8")
