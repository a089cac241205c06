"""How probable short answers are after prompts: nothing is generated, each answer's single token is looked up.

Prompts are read one after the other in one key-value cache, which is rewound to where the next prompt differs from the
last: a common beginning, such as instructions, is read once.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import InputError
from rejoinder.models.language_model.model import LanguageModel
from rejoinder.models.language_model.prompt_format import Ids, context_ids
from rejoinder.types import Turn

Values: TypeAlias = NDArray[np.float64]


def answer_log_probabilities(model: LanguageModel, prompts: Sequence[Sequence[Turn]], answers: Sequence[str]) -> Values:
    """Return the natural log-probability of each answer after each prompt, (prompts, answers).

    An answer is one token (a digit, a letter). A prompt longer than the model's window loses its beginning.
    """
    import torch

    tokens = _answer_tokens(model, answers)
    values = np.empty((len(prompts), len(answers)))
    reader = _PromptReader(model.network)
    with torch.no_grad():
        for i, prompt in enumerate(prompts):
            ids = context_ids(model.tokenizer, list(prompt), model.join).fit(model.window)
            values[i] = torch.log_softmax(reader.read(ids), dim=-1)[tokens].double().cpu().numpy()
    return values


def _answer_tokens(model: LanguageModel, answers: Sequence[str]) -> list[int]:
    ids = [model.reply_ids(answer) for answer in answers]
    if any(len(tokens) != 1 for tokens in ids) or len(set(ids)) != len(ids):
        raise InputError(f"{model.name} does not have a separate token for each of {', '.join(answers)}")
    return [tokens[0] for tokens in ids]


class _PromptReader:
    """One cache for a series of prompts; without padding, so other prompts only affect rounding."""

    def __init__(self, network: Any) -> None:
        self._network = network
        parameters = inspect.signature(network.forward).parameters
        self._arguments = {"logits_to_keep": 1} if "logits_to_keep" in parameters else {}
        self._last: Ids = ()
        self._cache: Any = None

    def read(self, ids: Ids) -> Any:
        """Return the logits of the token after a prompt."""
        import torch

        shared = min(_common_prefix(self._last, ids), len(ids) - 1)  # the last token is always read, for its logits
        if 0 < shared < len(self._last):
            self._cache.crop(shared - len(self._last))
        new = torch.tensor([ids[shared:]], device=self._network.device)
        arguments = {"past_key_values": self._cache if shared else None, "use_cache": True, **self._arguments}
        output = self._network(input_ids=new, **arguments)
        self._last, self._cache = ids, output.past_key_values
        return output.logits[0, -1].float()


def _common_prefix(first: Ids, second: Ids) -> int:
    """Return how many ids at the beginning of two prompts are the same."""
    for i, (a, b) in enumerate(zip(first, second, strict=False)):
        if a != b:
            return i
    return min(len(first), len(second))
