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

from rejoinder.models.grade.graph import UNREACHABLE
from rejoinder.text.rarity import split_runs

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
    def neighbours(self) -> list[frozenset[int]]:
        """The neighbours of each number, in both directions."""
        found: list[set[int]] = [set() for _ in range(len(self.lines) + 1)]
        for i, line in enumerate(self.lines, 1):
            for word in line.split()[1:]:
                found[i].add(self.numbers[word])
                found[self.numbers[word]].add(i)
        return [frozenset(of_word) for of_word in found]

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

    def steps(self, first: int, second: int) -> int:
        """Return how many steps two keywords are apart; a keyword is one step from itself."""
        if first == second or second in self.neighbours[first]:
            return 1
        return 2 if self.neighbours[first] & self.neighbours[second] else UNREACHABLE

    def graph(self, context: Sequence[str], reply: str) -> tuple[Any, Any]:
        """Return the nodes of a pair, padded with 0, and the weights of its edges, context to reply and back."""
        before = [number for text in context for number in self.keywords(text)][-NODES:]
        after = self.keywords(reply)[:NODES]
        nodes = np.zeros(2 * NODES, np.int64)
        nodes[: len(before)], nodes[NODES : NODES + len(after)] = before, after
        edges = np.eye(2 * NODES, dtype=np.float32)
        for i, first in enumerate(before):
            for j, second in enumerate(after, NODES):
                edges[i, j] = edges[j, i] = 1 / self.steps(first, second)
        return nodes, edges * (nodes > 0)[:, None]
