"""What the three-field indexes share: filters, copies, preselection by approximate scores, hits with their neighbours.

Each kind of index gives, for an item, bounds on the similarity of each turn, and the exact logarithms of the fields'
scores for a few turns. Only turns that may be among the k best are scored exactly; the result is what a comparison with
every turn would give.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import InputError, SpecError, brief
from rejoinder.indexes.one_field import passage_store
from rejoinder.indexes.one_field.filter import PassageFilter, score_lower_bound
from rejoinder.indexes.one_field.folder import IndexManifest
from rejoinder.indexes.one_field.passage_store import PassageStore
from rejoinder.indexes.three_field import copies as _copies
from rejoinder.indexes.three_field.copies import CopyFinder, is_near_copy
from rejoinder.indexes.three_field.fields import FIELD_NAMES, FieldHit, Fields, Windows
from rejoinder.types import Item

EPSILON = 1e-3
_BATCH_TURNS = 2**15
_LOWEST = float(np.finfo(np.float32).min)  # above the turns that are excluded


class SimilarityBounds(NamedTuple):
    """The lower and upper bound of each turn's similarity."""

    low: NDArray[np.float32]
    high: NDArray[np.float32]


class FieldSearch:
    """The turns of an index and how they are searched; subclasses define ``_bounds`` and ``_logs``."""

    kind = ""

    def __init__(self, folder: Path, manifest: IndexManifest, windows: Windows, epsilon: float) -> None:
        if not (math.isfinite(epsilon) and epsilon > 0):
            raise SpecError(f"epsilon must be above 0, found {epsilon}")
        self.folder, self.manifest = folder, manifest
        self.windows, self.epsilon = windows, epsilon
        self._passages = PassageStore(manifest.folders(folder, passage_store.ROLE))
        self._copies = CopyFinder(manifest.folders(folder, _copies.ROLE)[0])

    def __len__(self) -> int:
        return len(self._passages)

    @property
    def _least(self) -> float:
        """What a field adds that is unrelated to the query."""
        return math.log(self.epsilon)

    def _bounds(self, queries: Sequence[Fields]) -> Iterator[SimilarityBounds]:
        """Yield the bounds of each turn's similarity for each query."""
        raise NotImplementedError

    def _logs(self, query: Fields, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the logarithms of the scores of some turns, one column per field; those of a missing field are 0."""
        raise NotImplementedError

    def search(
        self,
        items: Sequence[Item],
        k: int = 5,
        *,
        split: str | None = None,
        only_dialogues: Collection[str] | None = None,
        exclude_dialogues: Sequence[Collection[str]] | None = None,
        fields: Collection[str] = FIELD_NAMES,
    ) -> list[list[FieldHit]]:
        """Return the turns whose fields are most like those of each item, best first; see ``fields.FieldIndex``."""
        _check_search(items, k, exclude_dialogues, fields)
        allowed = PassageFilter(self._passages, split, only_dialogues)
        excluded = exclude_dialogues or [()] * len(items)
        hits: list[list[FieldHit]] = [[] for _ in items]
        queries = {number: self.windows.of(item).only(fields) for number, item in enumerate(items)}
        numbers = [number for number, query in queries.items() if any(query)]
        for number, bounds in zip(numbers, self._bounds([queries[n] for n in numbers]), strict=True):
            item = items[number]
            with allowed.without([*excluded[number], *self._own_dialogues(item)]) as mask:
                low, high = bounds.low + mask, bounds.high + mask
            hits[number] = self._best(item, queries[number], k, SimilarityBounds(low, high), allowed)
        return hits

    def scores(self, item: Item) -> NDArray[np.float64]:
        """Return the similarity of each turn, in index order, including those of the item's own dialogue."""
        query, every = self.windows.of(item), np.arange(len(self), dtype=np.int64)
        blocks = (every[begin : begin + _BATCH_TURNS] for begin in range(0, len(every), _BATCH_TURNS))
        return np.concatenate([self._logs(query, block).sum(axis=1) for block in blocks])

    def _own_dialogues(self, item: Item) -> list[str]:
        """Return the dialogue of an item, and those that hold its turns under another name."""
        named = [] if item.dialogue is None else [item.dialogue]
        return named + [self._passages.ids[number] for number in self._copies.find(item)]

    def _best(
        self, item: Item, query: Fields, k: int, bounds: SimilarityBounds, allowed: PassageFilter
    ) -> list[FieldHit]:
        """Return the k best turns; if one is the item's own reply with a word changed, its dialogue is excluded too."""
        while True:
            floor = max(score_lower_bound(bounds.low, k), _LOWEST)
            numbers = np.flatnonzero(bounds.high >= np.float32(floor))
            logs = self._logs(query, numbers)
            logs, numbers = self._related(query, logs, numbers)
            hits = self._hits(query, numbers, logs, k)
            copies = {hit.dialogue for hit in hits if is_near_copy(item, hit.past, hit.text)}
            if not copies:
                return hits
            for passages in allowed.ranges(copies):
                bounds.low[passages] = bounds.high[passages] = -np.inf

    def _related(
        self, query: Fields, logs: NDArray[np.float64], numbers: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the turns that are related to the query: some field is above epsilon."""
        present = [bool(texts) for texts in query]
        some = (logs[:, present] > self._least).any(axis=1)
        return logs[some], numbers[some]

    def _hits(self, query: Fields, numbers: NDArray[np.int64], logs: NDArray[np.float64], k: int) -> list[FieldHit]:
        row = {int(number): n for n, number in enumerate(numbers)}
        hits = []
        starts, dialogues = self._passages.starts, self._passages.dialogue_of
        for number, score in self._passages.order(numbers, logs.sum(axis=1), k):
            first, end = starts[dialogues[number]], starts[dialogues[number] + 1]
            text = self._passages.text
            past = tuple(text(n) for n in range(max(first, number - self.windows.past), number))
            future = tuple(text(n) for n in range(number + 1, min(end, number + 1 + self.windows.future)))
            of_fields = tuple(
                float(log) if texts else None for texts, log in zip(query, logs[row[number]], strict=True)
            )
            hits.append(FieldHit(**asdict(self._passages.hit(number, score)), past=past, future=future, logs=of_fields))
        return hits


def _check_search(
    items: Sequence[Item], k: int, exclude_dialogues: Sequence[Collection[str]] | None, fields: Collection[str]
) -> None:
    if not fields or not set(fields) <= set(FIELD_NAMES):
        raise InputError(f"fields must be some of {', '.join(FIELD_NAMES)}, found {brief(list(fields))}")
    if k < 1:
        raise InputError(f"k must be at least 1, found {k}")
    if exclude_dialogues is not None and len(exclude_dialogues) != len(items):
        raise InputError(
            f"exclude_dialogues has {len(exclude_dialogues)} entries but there are {len(items)} items; "
            "give one collection of ids per item"
        )
