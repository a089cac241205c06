"""What a metric is.

A metric is a *value*: a frozen dataclass whose fields are its parameters, so that two metrics with the same parameters
are equal and ``parse(str(metric)) == metric``. There are two kinds with one contract:

- ``Metric`` scores each pair by itself: write ``score``.
- ``SetMetric`` needs the whole set (a percentile, a vocabulary): write ``statistic``, which is computed per pair and
  cached, and ``settle``, which turns all statistics into scores.

A score of NaN means "cannot be said" (no references, an empty reply); it is kept, counted and shown, never a silent 0.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Protocol, TypeAlias

from rejoinder.types import Pair

Statistic: TypeAlias = Any  # anything that JSON can hold: it is written to the score cache
NAN = math.nan
PARTS = frozenset({"context", "references", "future", "situation"})


@dataclasses.dataclass(frozen=True)
class Metric:
    """A number for how good a response is; subclasses are frozen dataclasses in one file each.

    ``needs`` and ``range`` belong to the class; where a parameter decides them, ``__post_init__`` sets them on the
    instance.
    """

    # What of the item the score depends on, beside the response's text: a subset of PARTS. The cache goes by it.
    needs: ClassVar[frozenset[str]] = frozenset()
    # The smallest and the largest possible score (infinite where there is no bound).
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    # Whether a larger score means a better reply; None for a descriptive number such as a length.
    higher_is_better: ClassVar[bool | None] = True
    # Who proposed it, in one line.
    citation: ClassVar[str] = ""
    # Raised whenever the same input may give another number.
    version: ClassVar[int] = 1
    # Decimals that are the same on every machine; None where the number is exact.
    decimals: ClassVar[int | None] = None

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """One score a pair, in order."""
        raise NotImplementedError

    def match(self, pairs: Sequence[Pair]) -> list[int | None]:
        """Which reference of each item the response matched best (None without references).

        The best is the first of those that give the highest score alone.
        """
        alone = [
            Pair(dataclasses.replace(pair.item, references=(reference,)), pair.response)
            for pair in pairs
            for reference in pair.item.references
        ]
        scores = iter(self.score(alone)) if "references" in self.needs else iter(())
        matched: list[int | None] = []
        for pair in pairs:
            of_pair = [next(scores, NAN) for _ in pair.item.references]
            known = [value for value in of_pair if not math.isnan(value)]
            matched.append(of_pair.index(max(known)) if known else None)
        return matched

    def cut(self, pairs: Sequence[Pair]) -> list[bool]:
        """Which pairs hold a text that is too long for the metric to read whole; it is counted and said."""
        return [False] * len(pairs)

    def trace(self, pairs: Sequence[Pair]) -> Iterator[list[dict[str, Any]]]:
        """What a run keeps of how scores came about (a judge's raw answers): JSON objects for each pair, or nothing."""
        yield from ()

    def details(self) -> dict[str, str]:
        """What else decides the number: versions of libraries, digests of models, sources of word lists."""
        return {}

    def __str__(self) -> str:
        from rejoinder.registry import spec_of

        return spec_of(self)


@dataclasses.dataclass(frozen=True)
class Row:
    """One response of a set that is being settled."""

    response: str
    item: str
    system: str
    statistic: Statistic


class Rows(Protocol):
    """All rows of a set, in the order of the file; can be gone through any number of times."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Row]: ...


@dataclasses.dataclass(frozen=True)
class SetMetric(Metric):
    """A metric whose score depends on the other responses of the set."""

    def statistic(self, pairs: Sequence[Pair]) -> list[Statistic]:
        """One JSON value a pair: all that ``settle`` will need of it."""
        raise NotImplementedError

    def settle(self, rows: Rows) -> list[float]:
        """One score a row, in order."""
        raise NotImplementedError

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """The scores of ``pairs`` taken as the whole set."""
        statistics = self.statistic(pairs)
        return self.settle(
            [Row(p.response.id, p.item.id, p.response.system, s) for p, s in zip(pairs, statistics, strict=True)]
        )
