"""Measurements by length: how many tokens aptness sees in a context and in a reply, and bins of such numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.models.aptness.model import open_aptness
from rejoinder.types import Pair

# The first token number of each bin but the first. Among them are limits that weights have had: 96, 128 and 256.
CONTEXT_BINS = (33, 97, 257)
REPLY_BINS = (9, 17, 33, 129, 257)
FEWEST = 30  # rows of a bin; fewer say nothing


class LengthBin(NamedTuple):
    """A range of token numbers in words, and which rows are in it."""

    name: str
    rows: NDArray[np.bool_]


class PairLengths(NamedTuple):
    """The number of tokens of each pair's context and reply."""

    context: NDArray[np.int64]
    reply: NDArray[np.int64]

    def bins(self) -> Iterator[tuple[str, LengthBin]]:
        """Yield ``context`` or ``reply`` with each bin of its length."""
        for part, numbers, starts in (("context", self.context, CONTEXT_BINS), ("reply", self.reply, REPLY_BINS)):
            for low, high in zip((1, *starts), (*starts, None), strict=True):
                name = f"{low} or more" if high is None else f"{low} to {high - 1}"
                yield part, LengthBin(name, (numbers >= low) & (high is None or numbers < high))


def measure_lengths(pairs: Sequence[Pair]) -> PairLengths:
    """Count the tokens of pairs, all of them, whether they are read or not."""
    counts = open_aptness().count_tokens(
        [[turn.text for turn in pair.item.context] for pair in pairs], [pair.response.text for pair in pairs]
    )
    return PairLengths(*(np.array(numbers, np.int64) for numbers in counts))
