"""Replies written by a language model, the same for the same seed whatever else is in the batch.

transformers' ``generate`` does the decoding; the rules of ``decoding.py`` give it what it would otherwise take from the
whole batch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from rejoinder.errors import InputError
from rejoinder.models.batching import batches
from rejoinder.models.language_model.network import fill_left
from rejoinder.models.language_model.prompt_format import Ids

if TYPE_CHECKING:
    import torch

Method: TypeAlias = Literal["greedy", "sample"]


@dataclass(frozen=True)
class Decoding:
    """How replies are written.

    ``greedy`` takes the likeliest token; ``sample`` draws one, after ``temperature`` and ``top_p`` (Holtzman et al.
    2020). No ``no_repeat`` tokens in a row occur twice in a reply (0: no such rule): greedy decoding loops without it.
    """

    max_tokens: int
    method: Method = "greedy"
    temperature: float = 1.0
    top_p: float = 1.0
    no_repeat: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        if self.method not in ("greedy", "sample"):
            raise InputError(f"method must be 'greedy' or 'sample', not {self.method!r}")
        if self.max_tokens < 1:
            raise InputError(f"max_tokens must be at least 1, not {self.max_tokens}")
        if self.no_repeat < 0:
            raise InputError(f"no_repeat must be 0 or more, not {self.no_repeat}")
        if not self.temperature > 0:
            raise InputError(
                f"temperature must be above 0, not {self.temperature}; for no randomness use method='greedy'"
            )
        if not 0 < self.top_p <= 1:
            raise InputError(f"top_p must be above 0 and at most 1, not {self.top_p}")


def logits_rules(
    contexts: Sequence[Ids], decoding: Decoding, stops: Sequence[int], width: int
) -> list[Callable[..., Any]]:
    """What happens to the logits of each step, in order; the largest of what is left is taken."""
    from transformers import TemperatureLogitsWarper, TopPLogitsWarper

    found: list[Callable[..., Any]] = [_NeverEmpty(width, tuple(stops))]
    if decoding.no_repeat:
        found.append(_NoRepeat(width, decoding.no_repeat))
    if decoding.method == "sample":
        found += [TemperatureLogitsWarper(decoding.temperature), TopPLogitsWarper(decoding.top_p)]
        found.append(_SampleToken([_row_generator(decoding.seed, context) for context in contexts]))
    return found


def _row_generator(seed: int, context: Ids) -> np.random.Generator:
    key = hashlib.sha256(" ".join(map(str, (seed, *context))).encode()).digest()
    return np.random.Generator(np.random.Philox(int.from_bytes(key, "little")))


@dataclass(frozen=True)
class _NeverEmpty:
    """The first token does not end the reply."""

    width: int
    stops: Ids

    def __call__(self, ids: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        if ids.shape[1] == self.width and self.stops:
            logits[:, list(self.stops)] = -float("inf")
        return logits


@dataclass(frozen=True)
class _NoRepeat:
    """No run of ``n`` tokens occurs twice in a reply."""

    width: int
    n: int

    def __call__(self, ids: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        for row, reply in enumerate(ids[:, self.width :].tolist()):
            before = reply[len(reply) - self.n + 1 :]
            banned = [
                reply[place + self.n - 1]
                for place in range(len(reply) - self.n + 1)
                if reply[place : place + self.n - 1] == before
            ]
            if banned:
                logits[row, banned] = -float("inf")
        return logits


@dataclass(frozen=True)
class _SampleToken:
    """One token a row, drawn by the inverse of the cumulative distribution; all others are ruled out.

    In float64, so that where the draw falls hardly ever hangs on rounding, whatever the device and the batch.
    """

    generators: Sequence[np.random.Generator]

    def __call__(self, ids: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        import torch

        reached = logits.double().softmax(dim=-1).cumsum(dim=-1)
        draws = torch.tensor([[generator.random()] for generator in self.generators], dtype=torch.float64)
        chosen = torch.searchsorted(reached, draws.to(logits.device) * reached[:, -1:], right=True)
        drawn = torch.full_like(logits, -float("inf"))
        return drawn.scatter_(1, chosen.clamp(max=logits.shape[1] - 1), 0.0)


def generate_ids(
    network: Any, contexts: Sequence[Ids], decoding: Decoding, stops: Sequence[int], most_rows: int, most_tokens: int
) -> list[Ids]:
    """The ids of a reply to each context: at least one token, up to and with the stop that ended it."""
    distinct = list(dict.fromkeys(contexts))
    lengths = [len(context) + decoding.max_tokens for context in distinct]
    found: dict[Ids, Ids] = {}
    for batch in batches(lengths, most_rows=most_rows, most_tokens=most_tokens):
        together = [distinct[i] for i in batch]
        found.update(zip(together, _generate_batch(network, together, decoding, stops), strict=True))
    return [found[context] for context in contexts]


def _generate_batch(network: Any, contexts: Sequence[Ids], decoding: Decoding, stops: Sequence[int]) -> list[Ids]:
    import torch
    from transformers import LogitsProcessorList

    ids, mask = fill_left(contexts, network.device)
    width = ids.shape[1]
    with torch.no_grad():
        found = network.generate(
            input_ids=ids,
            attention_mask=mask.long(),
            max_new_tokens=decoding.max_tokens,
            do_sample=False,
            eos_token_id=list(stops) or None,
            pad_token_id=0,
            logits_processor=LogitsProcessorList(logits_rules(contexts, decoding, stops, width)),
        )
    return [_cut_at_stop(row, set(stops)) for row in found[:, width:].tolist()]


def _cut_at_stop(row: Sequence[int], stops: set[int]) -> Ids:
    for place, token in enumerate(row):
        if token in stops:
            return tuple(row[: place + 1])
    return tuple(row)


def end_of_text_ids(network: Any, tokenizer: Any) -> Ids:
    """The tokens that end a text: the tokeniser's, and those that the model was released with."""
    released = network.config.eos_token_id, network.generation_config.eos_token_id
    found = [tokenizer.eos_token_id]
    for ids in released:
        found += ids if isinstance(ids, list) else [ids]
    return tuple(sorted({int(token) for token in found if token is not None}))


def newline_ids(tokenizer: Any) -> Ids:
    """The tokens whose text has a line break in it."""
    texts = tokenizer.batch_decode([[token] for token in range(len(tokenizer))])
    return tuple(token for token, text in enumerate(texts) if "\n" in text)
