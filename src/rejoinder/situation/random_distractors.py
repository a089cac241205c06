"""Algorithm 1 of SUGAR (Otani et al. 2023, Appendix B.1): distractors that are hardly right, by cheap filters.

The prose and the pseudo-code of the paper differ on what is compared by embeddings (two replies; a request and a
reply), and on what must not overlap (two replies; two requests). Here, two replies by embeddings, and two requests and
two goals by words.
"""

from __future__ import annotations

import numpy as np

from rejoinder.situation.seed_vectors import SeedVectors

Distractors = tuple[tuple[int, ...], ...]  # for each seed, the places of the seeds whose replies are its distractors


def draw_distractors(matter: SeedVectors) -> Distractors:
    """Up to m - 1 distractors of each seed, drawn one by one; what says nearly the same as one goes out of the pool.

    A seed whose pool runs dry has fewer, or none.
    """
    random = np.random.default_rng([matter.settings.seed, 1])
    return tuple(_draw_for_seed(matter, place, random) for place in range(len(matter.seeds)))


def _draw_for_seed(matter: SeedVectors, place: int, random: np.random.Generator) -> tuple[int, ...]:
    pool = matter.pool(place)
    picked: list[int] = []
    while len(picked) < matter.settings.candidates - 1 and pool.any():
        drawn = int(random.choice(np.flatnonzero(pool)))
        picked.append(drawn)
        pool &= ~matter.near(drawn)
    return tuple(picked)
