"""Log-probabilities of replies, token by token: a context is read once, and its cache is used for all its replies."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.models.batching import split_into_batches
from rejoinder.models.language_model.network import (
    NetworkReading,
    extend_reading,
    pad_left,
    read_token_rows,
    read_with_logits,
)
from rejoinder.models.language_model.prompt_format import Ids

if TYPE_CHECKING:
    import torch

Values: TypeAlias = NDArray[np.float64]
_EVERY_LOGIT = 4  # so many times fewer tokens at once where the logits after all of them are needed: they are large


class LikelihoodRequest(NamedTuple):
    """A reply to be scored after a context, both as token ids; the context must not be empty."""

    context: Ids
    reply: Ids


class TokenScores(NamedTuple):
    """The tokens of a reply with the natural log-probability of each, given the context and the previous tokens."""

    tokens: tuple[str, ...]
    log_probabilities: Values
    context_tokens: int  # as many as were read
    context_cut: int  # tokens cut from the beginning of the context
    reply_cut: int  # tokens cut from the end of the reply: it did not fit even alone

    @property
    def total(self) -> float:
        """Return the log-probability of the reply; NaN if it has no tokens."""
        return float(self.log_probabilities.sum()) if len(self.tokens) else math.nan

    @property
    def mean(self) -> float:
        """Return the log-probability per token; NaN if there are none. The perplexity is exp(-mean)."""
        return float(self.log_probabilities.mean()) if len(self.tokens) else math.nan


def response_log_probabilities(
    network: Any, requests: Sequence[LikelihoodRequest], most_rows: int, most_tokens: int
) -> list[Values]:
    """Return the natural log-probability of each token of each reply, at most so many rows and tokens at once."""
    import torch

    results: dict[LikelihoodRequest, Values] = {}
    replies: dict[Ids, list[LikelihoodRequest]] = {}
    for request in dict.fromkeys(requests):
        if request.reply:
            replies.setdefault(request.context, []).append(request)
        else:
            results[request] = np.empty(0)
    contexts = list(replies)
    with torch.no_grad():
        for batch in split_into_batches(
            [len(context) for context in contexts], most_rows=most_rows, most_tokens=most_tokens
        ):
            batch_contexts = [contexts[i] for i in batch]
            reading = read_token_rows(network, batch_contexts)
            rows = [(row, request) for row, context in enumerate(batch_contexts) for request in replies[context]]
            results.update(_score_all_rows(network, reading, rows, most_rows, most_tokens))
    return [results[request] for request in requests]


class ContinuedScores(NamedTuple):
    """The log-probabilities of a text's tokens after its first one, and those of each continuation's tokens."""

    own: Values
    continuations: list[Values]


def continued_log_probabilities(
    network: Any, texts: Sequence[Ids], continuations: Sequence[Ids], most_rows: int, most_tokens: int
) -> list[ContinuedScores]:
    """Score some texts and the same continuations after each; a text is read once.

    Texts have two tokens or more; continuations have one or more.
    """
    import torch

    results: dict[int, ContinuedScores] = {}
    own_tokens = max(1, most_tokens // _EVERY_LOGIT)
    with torch.no_grad():
        for batch in split_into_batches([len(text) for text in texts], most_rows=most_rows, most_tokens=own_tokens):
            chosen = [texts[i] for i in batch]
            logits, reading = read_with_logits(network, chosen)
            ids = pad_left(chosen, network.device)[0]
            own = _pick_log_probabilities(logits[:, :-1], ids[:, 1:]).double().cpu().numpy()
            del logits  # they are large
            rows = [(row, LikelihoodRequest(text, c)) for row, text in enumerate(chosen) for c in continuations]
            scores = dict(_score_all_rows(network, reading, rows, most_rows, most_tokens))
            for i, text, values in zip(batch, chosen, own, strict=True):
                after = [scores[LikelihoodRequest(text, continuation)] for continuation in continuations]
                results[i] = ContinuedScores(values[len(values) - len(text) + 1 :], after)
    return [results[i] for i in range(len(texts))]


def _score_all_rows(
    network: Any,
    reading: NetworkReading,
    rows: Sequence[tuple[int, LikelihoodRequest]],
    most_rows: int,
    most_tokens: int,
) -> Iterator[tuple[LikelihoodRequest, Values]]:
    """Score the replies of some rows of a reading, at most so many rows and tokens at once."""
    width = reading.mask.shape[1]
    lengths = [width + len(request.reply) for _, request in rows]
    for chunk in split_into_batches(lengths, most_rows=most_rows, most_tokens=most_tokens):
        yield from _score_rows(network, reading, [rows[i] for i in chunk])


def _score_rows(
    network: Any, reading: NetworkReading, rows: Sequence[tuple[int, LikelihoodRequest]]
) -> Iterator[tuple[LikelihoodRequest, Values]]:
    """Score the replies of some rows of a reading in one pass."""
    import torch

    row_reading = reading.rows(torch.tensor([row for row, _ in rows], device=network.device))
    width = max(len(request.reply) for _, request in rows)
    padded = [request.reply + (0,) * (width - len(request.reply)) for _, request in rows]
    ids = torch.tensor(padded, device=network.device)
    values = _pick_log_probabilities(row_reading.logits, ids[:, 0])[:, None]
    if width > 1:
        logits, _ = extend_reading(network, row_reading, ids=ids[:, :-1])
        values = torch.cat([values, _pick_log_probabilities(logits, ids[:, 1:])], dim=1)
    numbers = values.double().cpu().numpy()
    for (_, request), line in zip(rows, numbers, strict=True):
        yield request, line[: len(request.reply)]


def _pick_log_probabilities(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Return the log-probability of one token at each position, without a second copy of all logits."""
    import torch

    return logits.gather(-1, ids[..., None])[..., 0] - torch.logsumexp(logits, dim=-1)
