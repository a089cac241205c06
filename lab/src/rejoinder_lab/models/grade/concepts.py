"""Keywords and their neighbours in ConceptNet, for GRADE trained here: which words are keywords, how far apart two are.

A concept is a line ``word neighbour neighbour ...``; neighbours are concepts too. Two that are neighbours are one step
apart, two that share one are two steps apart; all others count as 20 steps, as those without a path do in GRADE.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rejoinder.text.rarity import split_runs
from rejoinder_lab.models.grade.graph import UNREACHABLE

NODES = 8  # keywords of the context, the last ones, and as many of the reply, the first ones
_ENDINGS = ("s", "es", "ed", "d", "ing")


@dataclass(frozen=True)
class ConceptGraph:
    """The keywords, numbered from 1, and their neighbours; 0 is no keyword."""

    lines: tuple[str, ...]

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each keyword."""
        return {line.split(" ", 1)[0]: i for i, line in enumerate(self.lines, 1)}

    @cached_property
    def listed(self) -> Any:
        """The neighbours on each line as rows of equal length, padded with 0, (keywords + 1, most)."""
        rows = [[], *([self.numbers[word] for word in line.split()[1:]] for line in self.lines)]
        most = max(1, *map(len, rows))
        return np.array([row + [0] * (most - len(row)) for row in rows], np.int64)

    def keywords(self, text: str) -> list[int]:
        """Return the keywords of a text, in order; a word may have one of a few endings."""
        return [number for word in split_runs(text) if (number := self._number_of(word))]

    def _number_of(self, word: str) -> int:
        stems = (word, *(word.removesuffix(ending) for ending in _ENDINGS if word.endswith(ending)))
        return next((self.numbers[stem] for stem in stems if stem in self.numbers), 0)

    @cached_property
    def closeness(self) -> Any:
        """1 over the number of steps between any two keywords, (keywords + 1, keywords + 1); 0 where one is none."""
        n = len(self.lines) + 1
        near = np.zeros((n, n), np.float32)
        near[np.arange(n)[:, None], self.listed] = 1
        near = np.maximum(near, near.T)
        near[0] = near[:, 0] = 0
        far = np.where(near @ near > 0, np.float32(1 / 2), np.float32(1 / UNREACHABLE))
        closeness = np.where((near > 0) | np.eye(n, dtype=bool), np.float32(1), far)
        closeness[0] = closeness[:, 0] = 0
        return closeness

    def steps(self, first: int, second: int) -> int:
        """Return how many steps two keywords are apart; a keyword is one step from itself."""
        return round(1 / float(self.closeness[first, second]))

    def context_nodes(self, context: Sequence[str]) -> Any:
        """Return the last keywords of a context, padded with 0."""
        return _pad_nodes([number for text in context for number in self.keywords(text)][-NODES:])

    def reply_nodes(self, reply: str) -> Any:
        """Return the first keywords of a reply, padded with 0."""
        return _pad_nodes(self.keywords(reply)[:NODES])

    def graphs(self, before: Any, after: Any) -> tuple[Any, Any]:
        """Return nodes and weights of edges, context to reply and back, from nodes of contexts and of replies."""
        nodes = np.concatenate([before, after], axis=1)
        edges = np.eye(2 * NODES, dtype=np.float32) * (nodes > 0)[:, :, None]
        weights = self.closeness[before[:, :, None], after[:, None]]
        edges[:, :NODES, NODES:], edges[:, NODES:, :NODES] = weights, weights.transpose(0, 2, 1)
        return nodes, edges


def _pad_nodes(numbers: Sequence[int]) -> Any:
    return np.array([*numbers, *[0] * (NODES - len(numbers))], np.int64)
