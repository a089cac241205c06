"""SmolLM2 as the system of ladders that need no GPU: as it is, with a spoilt context, or with noise in its weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rejoinder.models.language_model.folder import Precision
from rejoinder.types import Turn
from rejoinder_lab.papers.chosen.answers import Context, LossRequest
from rejoinder_lab.papers.chosen.context import list_spoilt_contexts
from rejoinder_lab.papers.chosen.ladders import LANGUAGE_MODEL, NOISE_LEVELS, name_noisy
from rejoinder_lab.papers.chosen.stored import Losses, StoredLosses, SystemLosses

if TYPE_CHECKING:
    from rejoinder.models.language_model.model import LanguageModel

MODEL = "smollm2-135m"
_TOGETHER = 8  # contexts
_ROWS, _TOKENS = 64, 1_024  # of a batch: small ones are the fastest on a CPU
_PRECISION: Precision = "bfloat16"  # half the time of float32 on a CPU that has it
Log = Callable[[str], None]


def compute_stored_losses(request: LossRequest, stored: StoredLosses, log: Log) -> Iterator[StoredLosses]:
    """Yield the stored losses with one more system each time; systems that are there already are left as they are."""
    from rejoinder.models.language_model.model import load_language_model

    model = load_language_model(MODEL, dtype=_PRECISION)
    about = model.details()
    for name, contexts in list_spoilt_contexts(LANGUAGE_MODEL, request.contexts).items():
        if name in stored.systems:
            continue
        log(name)
        plain = stored.systems.get(LANGUAGE_MODEL)
        alone = plain.alone if plain else compute_losses(model, [()] * len(contexts), request.texts)
        after = compute_losses(model, contexts, request.texts)
        stored = stored.add_system(name, SystemLosses(after, alone), **about)
        yield stored
    for level in NOISE_LEVELS[::-1]:
        name = name_noisy(level)
        if name in stored.systems:
            continue
        log(name)
        model = load_language_model(MODEL, dtype=_PRECISION)
        add_noise(model, level)
        after, alone = (
            compute_losses(model, contexts, request.texts)
            for contexts in (request.contexts, [()] * len(request.contexts))
        )
        stored = stored.add_system(name, SystemLosses(after, alone), **about)
        yield stored


def add_noise(model: LanguageModel, level: float, seed: int = 0) -> None:
    """Add noise to the matrices of every layer: the same at each level, times the level and the matrix's deviation."""
    import torch

    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weights in sorted(model.network.named_parameters()):
            if weights.dim() == 2 and "embed" not in name and "lm_head" not in name:
                noise = torch.randn(weights.shape, generator=random)
                weights += (level * weights.float().std() * noise).to(weights.dtype)


def compute_losses(model: LanguageModel, contexts: Sequence[Context], texts: Sequence[Sequence[str]]) -> Losses:
    """Return the loss per token of each text after its context, in one row."""
    losses: list[float] = []
    for start in range(0, len(contexts), _TOGETHER):
        part = range(start, min(start + _TOGETHER, len(contexts)))
        turns = [tuple(Turn(text) for text in contexts[n]) for n in part for _ in texts[n]]
        replies = [text for n in part for text in texts[n]]
        results = model.log_probabilities(turns, replies, most_rows=_ROWS, most_tokens=_TOKENS)
        losses += [-result.mean for result in results]
    return np.array(losses, np.float32)
