"""The seeds as both algorithms use them: their texts as vectors, and which replies may be distractors of which seed.

A reply may be a distractor of a seed if the two requests and the two goals do not overlap, the two replies are not
similar, and both have the same polarity (SUGAR, Algorithm 1, lines 4 to 10).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from rejoinder.data.inputs.seeds import Seed
from rejoinder.situation.overlap import OverlapIndex
from rejoinder.situation.settings import SituationSettings
from rejoinder.stats.arrays import Bools, Floats

Encode: TypeAlias = Callable[[Sequence[str]], Floats]  # vectors of length 1, zeros for a blank text


@dataclass(frozen=True, eq=False)
class SeedVectors:
    """Seeds with the vectors of their requests, statements (the mean of S1) and replies."""

    seeds: tuple[Seed, ...]
    requests: Floats
    situations: Floats
    replies: Floats
    settings: SituationSettings
    _requests: OverlapIndex = field(repr=False)
    _goals: OverlapIndex = field(repr=False)
    _replies: OverlapIndex = field(repr=False)

    def pool(self, place: int) -> Bools:
        """Which seeds' replies may be distractors of the seed at that place."""
        seed, settings = self.seeds[place], self.settings
        polarities = np.array([one.polarity == seed.polarity for one in self.seeds])
        similar = self.replies @ self.replies[place] >= settings.similarity
        overlapping = self._requests.near(seed.request, settings.overlap) | self._goals.near(
            seed.goal, settings.overlap
        )
        allowed: Bools = polarities & ~similar & ~overlapping
        allowed[place] = False
        return allowed

    def near(self, place: int) -> Bools:
        """Which replies say nearly the same as the reply at that place (including itself)."""
        return self._replies.near(self.seeds[place].reply, self.settings.overlap)


def encode_seeds(seeds: Sequence[Seed], settings: SituationSettings, encode: Encode) -> SeedVectors:
    """Encode the texts of seeds for both algorithms."""
    requests, replies = ([getattr(seed, name) for seed in seeds] for name in ("request", "reply"))
    texts = [statement.text for seed in seeds for statement in seed.statements]
    vectors = encode([*requests, *replies, *texts]).astype(np.float64)
    n = len(seeds)
    situations: Floats = np.zeros((n, vectors.shape[1]))
    start = 2 * n
    for place, seed in enumerate(seeds):
        part = vectors[start : start + len(seed.statements)]
        start += len(seed.statements)
        if len(part):
            mean = part.mean(axis=0)
            situations[place] = mean / (float(np.linalg.norm(mean)) or 1.0)
    return SeedVectors(
        tuple(seeds),
        vectors[:n],
        situations,
        vectors[n : 2 * n],
        settings,
        OverlapIndex(requests),
        OverlapIndex([seed.goal for seed in seeds]),
        OverlapIndex(replies),
    )
