"""Seeds for the tests of situated sets, and vectors that a test can choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rejoinder.data.inputs.seeds import Seed
from rejoinder.situation.seed_vectors import Encode
from rejoinder.stats.arrays import Floats
from rejoinder.types import Statement

_THINGS = (
    "window tea garden piano letter bicycle carpet ladder candle basket mirror pillow bottle kettle blanket lantern "
    "camera guitar wallet jacket"
).split()
_DEEDS = (
    "open pour water tune send repair clean climb light carry polish fluff fill boil fold hang focus string count iron"
).split()


def seeds(n: int = 12, polarity: str | None = None) -> list[Seed]:
    """Seeds that have nothing in common; every other one is a no unless the polarity is given."""
    return [
        Seed(
            f"s{i}",
            f"Please {_DEEDS[i]} the {_THINGS[i]}.",
            f"to enjoy the {_THINGS[i]} number{i}",
            f"Sure, shall I {_DEEDS[i]} another {_THINGS[i]}?",
            (
                Statement(f"The {_THINGS[i]} thing{i} stands nearby.", "environment", True),
                Statement(f"[user] owns item{i} gear{i}.", "possession", True),
            ),
            polarity or ("yes" if i % 2 else "no"),
        )
        for i in range(n)
    ]


_AXES: dict[str, int] = {}
_DIMENSIONS = 1024


def axes(texts: Sequence[str]) -> Floats:
    """Each different text has an axis of its own, so that no two texts are alike."""
    for text in texts:
        _AXES.setdefault(text, len(_AXES) % _DIMENSIONS)
    found: Floats = np.zeros((len(texts), _DIMENSIONS))
    found[np.arange(len(texts)), [_AXES[text] for text in texts]] = 1.0
    return found


def spread(dimensions: int = 24) -> Encode:
    """A vector of length 1 for each text, drawn from its letters: hardly alike, and always the same."""
    from zlib import crc32

    def encode(texts: Sequence[str]) -> Floats:
        drawn = [np.random.default_rng(crc32(text.encode())).normal(size=dimensions) for text in texts]
        found: Floats = np.array([one / np.linalg.norm(one) for one in drawn]).reshape(len(texts), dimensions)
        return found

    return encode


def known(vectors: Mapping[str, Sequence[float]]) -> Encode:
    """The vectors that a test gives by text."""

    def encode(texts: Sequence[str]) -> Floats:
        return np.array([vectors[text] for text in texts], np.float64)

    return encode
