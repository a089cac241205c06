"""Turns by the vectors of three fields: the similarity of ``three_field`` with an encoder in place of BM25.

Each turn has one vector; past and future are the sum of the vectors of their turns, normalised to length 1. The score
of a field is (1 + cosine) / 2, which is between 0 and 1, so that the similarity is a sum of three logarithms here too;
a missing field, or a score below epsilon, gets log(epsilon).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import SpecError
from rejoinder.indexes.one_field import folder as _folder
from rejoinder.indexes.one_field import vector_store
from rejoinder.indexes.one_field.passage_store import PassageStore, load_array
from rejoinder.indexes.one_field.postings import Vocabulary
from rejoinder.indexes.three_field.bm25 import write_three_field_turns
from rejoinder.indexes.three_field.fields import FIELD_NAMES, Fields, Windows, is_same_dialogue
from rejoinder.indexes.three_field.search import EPSILON, FieldSearch, SimilarityBounds
from rejoinder.models.base import Encoder, Vectors
from rejoinder.types import Dialogue

ROLE, LENGTHS = "vectors", "lengths"
_BATCH_ITEMS = 16
_ROWS = 2**14
_ROUNDING = 2.0**-22
_SHORTEST = 1e-6  # a shorter sum of vectors has no direction


@dataclass(frozen=True)
class DenseThreeFieldSettings:
    """What determines the scores of an index besides its turns and epsilon."""

    encoder: str
    digest: str
    precision: vector_store.Precision = "float32"
    past: int = 2
    future: int = 2


class DenseThreeFieldIndex(FieldSearch):
    """An index of turns by the vectors of three fields; make one with ``build``, reopen it with ``open``."""

    kind = "three_field_dense"

    def __init__(self, folder: Path, encoder: Encoder, epsilon: float = EPSILON) -> None:
        manifest = _folder.read_index_manifest(folder, self.kind)
        self.settings = _folder.parse_index_settings(manifest, folder, DenseThreeFieldSettings)
        if self.settings.digest != encoder.digest:
            raise SpecError(
                f"{folder}: was built with the encoder {self.settings.encoder!r} ({self.settings.digest}), not with "
                f"{encoder.name!r} ({encoder.digest}); open it with the former or rebuild it"
            )
        super().__init__(folder, manifest, Windows(self.settings.past, self.settings.future), epsilon)
        self.encoder = encoder
        self._vectors = vector_store.VectorStore(manifest.folders(folder, ROLE), encoder.dimensions)
        self._lengths: Vectors = load_array(manifest.folders(folder, LENGTHS)[0], LENGTHS)
        if not len(self._vectors) == len(self._lengths) == len(self):
            raise _folder.index_damage_error(folder, "its parts do not match")

    @classmethod
    def build(
        cls,
        dialogues: Iterable[Dialogue],
        folder: str | Path,
        encoder: Encoder,
        *,
        precision: vector_store.Precision = "float32",
        windows: Windows | None = None,
        epsilon: float = EPSILON,
    ) -> DenseThreeFieldIndex:
        """Index all turns of dialogues into a new folder; each is encoded once."""
        windows = windows or Windows()
        settings = DenseThreeFieldSettings(encoder.name, encoder.digest, precision, windows.past, windows.future)
        target = Path(folder)
        with _folder.new_index_folder(target) as new:
            turns, pairs, words = write_three_field_turns(dialogues, new, Vocabulary())
            texts = PassageStore([new / turns.name])
            with _folder.new_index_part(new, ROLE) as part:
                vector_store.write_index_vectors(map(texts.text, range(len(texts))), part, encoder, precision)
                vectors = _folder.seal_index_part(part, ROLE)
            with _folder.new_index_part(new, LENGTHS) as part:
                dialogue = np.repeat(np.arange(len(words.sizes)), words.sizes)
                np.save(
                    part / f"{LENGTHS}.npy", _field_lengths(new / vectors.name, encoder.dimensions, dialogue, windows)
                )
                lengths = _folder.seal_index_part(part, LENGTHS)
            counts = {"passages": len(texts)}
            parts = (turns, pairs, vectors, lengths)
            _folder.write_index_manifest(new, _folder.IndexManifest(cls.kind, asdict(settings), counts, parts))
        return cls(target, encoder, epsilon)

    @classmethod
    def open(cls, folder: str | Path, encoder: Encoder, *, epsilon: float = EPSILON) -> DenseThreeFieldIndex:
        """Open an index that was built before with this encoder, memory-mapped."""
        return cls(Path(folder), encoder, epsilon)

    def _query(self, query: Fields) -> Vectors:
        """Return the vectors of a query's fields, zeros for a missing one."""
        vectors = np.zeros((len(FIELD_NAMES), self.encoder.dimensions), np.float32)
        for row, texts in zip(vectors, query, strict=True):
            if texts:
                total = vector_store.encode_index_texts(self.encoder, texts, "left").astype(np.float64).sum(axis=0)
                row[:] = total / max(float(np.linalg.norm(total)), _SHORTEST)
        return vectors

    def _bounds(self, queries: Sequence[Fields]) -> Iterator[SimilarityBounds]:
        for begin in range(0, len(queries), _BATCH_ITEMS):
            some = queries[begin : begin + _BATCH_ITEMS]
            vectors = np.concatenate([self._query(query) for query in some])
            products = np.empty((len(vectors), len(self)), np.float32)
            for first, block in self._vectors.blocks():
                products[:, first : first + len(block)] = vectors @ block.T
            for number, query in enumerate(some):
                yield self._bound(query, products[len(FIELD_NAMES) * number :][: len(FIELD_NAMES)])

    def _bound(self, query: Fields, products: Vectors) -> SimilarityBounds:
        """Return the bounds of each turn's similarity, from the products of each turn's vector with the query's."""
        low, high = np.zeros(len(self), np.float32), np.zeros(len(self), np.float32)
        error = (self.encoder.dimensions + 2) * _ROUNDING
        dialogue, epsilon = self._passages.dialogue_of, np.float32(self.epsilon)
        for column, (texts, product, steps) in enumerate(zip(query, products, self.windows.steps(), strict=True)):
            if not texts:
                continue
            total = np.zeros(len(self), np.float32)
            for step in steps:
                turns = np.arange(len(self)) + step
                inside = is_same_dialogue(turns, dialogue)
                total[inside] += product[turns[inside]]
            length = np.maximum(self._lengths[:, column], np.float32(_SHORTEST))
            score, off = (1 + total / length) / 2, len(steps) * error * (1 + 1 / length)
            missing = self._lengths[:, column] < _SHORTEST
            low += np.log(np.where(missing, epsilon, np.maximum(score - off, epsilon))) - np.float32(error)
            high += np.log(np.where(missing, epsilon, np.maximum(score + off, epsilon))) + np.float32(error)
        return SimilarityBounds(low, high)

    def _logs(self, query: Fields, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        vectors = self._query(query)
        logs = np.zeros((len(numbers), len(FIELD_NAMES)))
        for column, texts, vector, steps in zip(logs.T, query, vectors, self.windows.steps(), strict=True):
            if texts:
                cosines, missing = self._cosines(numbers, vector, steps)
                column[:] = np.log(np.where(missing, self.epsilon, np.maximum((1 + cosines) / 2, self.epsilon)))
        return logs

    def _cosines(
        self, numbers: NDArray[np.int64], vector: Vectors, steps: Sequence[int]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return a field's cosines with a query's vector in double precision, and where the field is missing."""
        dialogue = self._passages.dialogue_of
        total = np.zeros((len(numbers), len(vector)))
        for step in steps:
            turns = numbers + step
            inside = (turns >= 0) & (turns < len(self))
            inside[inside] &= dialogue[turns[inside]] == dialogue[numbers[inside]]
            total[inside] += self._vectors.rows(turns[inside])
        lengths = np.sqrt((total * total).sum(axis=1))
        missing = lengths < _SHORTEST
        return (total * vector.astype(np.float64)).sum(axis=1) / np.where(missing, 1, lengths), missing


def _field_lengths(folder: Path, dimensions: int, dialogue: NDArray[np.int64], windows: Windows) -> Vectors:
    """Return the length of the sum of the vectors of each field, for each turn."""
    store = vector_store.VectorStore([folder], dimensions)
    lengths = np.zeros((len(dialogue), len(FIELD_NAMES)), np.float32)
    for column, steps in zip(lengths.T, windows.steps(), strict=True):
        inside = [is_same_dialogue(np.arange(len(dialogue)) + step, dialogue) for step in steps]
        for begin in range(0, len(dialogue), _ROWS):
            some = np.arange(begin, min(begin + _ROWS, len(dialogue)))
            total = np.zeros((len(some), dimensions))
            for step, has in zip(steps, inside, strict=True):
                total[has[some]] += store.rows(some[has[some]] + step)
            column[some] = np.linalg.norm(total, axis=1)
    return lengths
