"""The shards of a BM25 index: counted one by one, then weighed with the numbers of all of them."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.engines.contract import Engine, Work
from rejoinder.retrieval import _dialogues, _folder, _passages, _vocabulary
from rejoinder.retrieval._folder import Part
from rejoinder.retrieval._passages import load
from rejoinder.retrieval._postings import Postings, Totals, Vocabulary, in_a_row, sort_out, weigh
from rejoinder.retrieval._shard import map_dialogues
from rejoinder.retrieval._sharding import NOTES, Entry, ShardWorker
from rejoinder.retrieval.bm25 import ROLE, Settings
from rejoinder.retrieval.contract import Passage

KIND = "sharded bm25"
WEIGHTS = "weights"
_NUMBERS = "numbers"


class Bm25Shards(ShardWorker):
    """Counts the words of shards."""

    address = "Bm25Shards"

    def write(self, passages: Iterator[Passage]) -> Entry:
        """Write the passages of one shard, and which of them each word stands in."""
        words = Vocabulary()
        tokens_of = Settings(**self.settings).tokens_of()
        with (
            _folder.new_part(self.folder, _passages.ROLE) as texts,
            _folder.new_part(self.folder, ROLE) as counted,
        ):
            flat, lengths = in_a_row(_passages.record(passages, texts), tokens_of, words)
            dialogues = map_dialogues(texts)
            postings = _save(counted, flat, lengths, words)
            counts = {
                "passages": len(lengths),
                "dialogues": dialogues,
                "postings": len(postings.passages),
                "tokens": len(flat),
            }
            return Entry((_folder.seal(texts, _passages.ROLE), _folder.seal(counted, ROLE)), counts)


def _save(folder: Path, flat: Any, lengths: Any, words: Vocabulary) -> Postings:
    """Write postings with the words in order."""
    ordered = sorted(words)
    ranks = np.empty(len(words), np.int32)
    ranks[[words[word] for word in ordered]] = np.arange(len(words), dtype=np.int32)
    postings = sort_out(ranks[flat], np.repeat(np.arange(len(lengths)), lengths), lengths, len(words))
    _vocabulary.save(folder, ordered)
    for name, column in postings._asdict().items():
        np.save(folder / f"{name}.npy", column)
    return postings


def postings_of(folder: Path) -> Postings:
    """The postings of a shard, memory-mapped."""
    return Postings(*(load(folder, name) for name in Postings._fields))


class Weigher:
    """Weighs shards with the numbers of the whole."""

    def __init__(self, folder: str, settings: Mapping[str, Any], vocabulary: str, passages: int, tokens: int) -> None:
        self._folder, self._settings = Path(folder), Settings(**settings)
        self._frequencies = load(self._folder / vocabulary, "frequencies")
        self._totals = Totals(passages, tokens)

    def compute(self, task: Sequence[str]) -> dict[str, Any]:
        """The part with a shard's weights; a task is its postings and the column of its words' numbers."""
        postings, column = self._folder / task[0], Path(task[1])
        with _folder.new_part(self._folder, WEIGHTS) as new:
            shutil.copyfile(column, new / f"{_NUMBERS}.npy")
            frequencies = self._frequencies[load(new, _NUMBERS)]
            settings = self._settings
            weights = weigh(postings_of(postings), settings.k1, settings.b, self._totals, frequencies)
            np.save(new / "weights.npy", weights)
            return asdict(_folder.seal(new, WEIGHTS))

    def close(self) -> None:
        """There is nothing to let go of."""


def settle(
    folder: Path, parts: Sequence[Part], counts: Counter[str], settings: Settings, engine: Engine
) -> _folder.Manifest:
    """Put shards together: merge their words and dialogues, and weigh each of them; the manifest to go with it."""
    shards = [part for part in parts if part.role == ROLE]
    texts = [part for part in parts if part.role == _passages.ROLE]
    with _folder.new_part(folder, _dialogues.ROLE) as new:
        _dialogues.merge([folder / part.name for part in texts], new)
        dialogues = _folder.seal(new, _dialogues.ROLE)
    numbers = folder / NOTES / _NUMBERS
    numbers.mkdir(parents=True, exist_ok=True)
    with _folder.new_part(folder, _vocabulary.ROLE) as new:
        counts["words"] = _vocabulary.merge([folder / part.name for part in shards], new, numbers)
        vocabulary = _folder.seal(new, _vocabulary.ROLE)
    given = (str(folder.resolve()), asdict(settings), vocabulary.name, counts["passages"], counts["tokens"])
    work = Work("rejoinder.retrieval._bm25_shards:Weigher", given)
    tasks = [[part.name, str((numbers / f"{number}.npy").resolve())] for number, part in enumerate(shards)]
    weights: list[Part | None] = [None] * len(tasks)
    for outcome in engine.compute(work, tasks):
        weights[outcome.number] = Part(**outcome.value)
    counts["shards"] = len(shards)
    whole = (*texts, *shards, *(part for part in weights if part is not None), vocabulary, dialogues)
    return _folder.Manifest(KIND, asdict(settings), dict(sorted(counts.items())), whole)
