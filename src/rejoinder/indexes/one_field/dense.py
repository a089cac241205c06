"""Passages by the cosine of their vectors with the query's vector, compared exhaustively.

Scores are those of the vectors as stored: in float16 a cosine of 384 dimensions is off by up to 0.0001. A long passage
loses its end, a long query its beginning: what was said last matters most.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import SpecError
from rejoinder.indexes.one_field import folder as _folder
from rejoinder.indexes.one_field import passage_store, vector_store
from rejoinder.indexes.one_field.base import Hit, Passage, check_search_arguments
from rejoinder.indexes.one_field.filter import PassageFilter, score_lower_bound
from rejoinder.indexes.one_field.passage_store import PassageStore
from rejoinder.models.base import Encoder, Vectors

ROLE = "vectors"
_QUERIES = 256  # compared at once
_ROUNDING = 2.0**-22  # a product of n numbers in single precision is off by less than n + 2 of these


@dataclass(frozen=True)
class DenseSettings:
    """What determines the scores of an index besides its passages."""

    encoder: str
    digest: str
    precision: vector_store.Precision


def check_encoder(folder: Path, settings: DenseSettings, encoder: Encoder) -> None:
    """Raise if an index was built with another encoder."""
    if settings.digest != encoder.digest:
        raise SpecError(
            f"{folder}: was built with the encoder {settings.encoder!r} ({settings.digest}), not with "
            f"{encoder.name!r} ({encoder.digest}); open it with the former or rebuild it"
        )


class DenseIndex:
    """An index of passages by their vectors; make one with ``DenseIndex.build``, reopen it with ``DenseIndex.open``."""

    kind = "dense"

    def __init__(self, folder: Path, encoder: Encoder) -> None:
        self.folder = folder
        self.encoder = encoder
        self.manifest = _folder.read_index_manifest(folder, self.kind)
        self.settings = _folder.parse_index_settings(self.manifest, folder, DenseSettings)
        check_encoder(folder, self.settings, encoder)
        self._passages = PassageStore(self.manifest.folders(folder, passage_store.ROLE))
        self._vectors = vector_store.VectorStore(self.manifest.folders(folder, ROLE), encoder.dimensions)
        if len(self._vectors) != len(self._passages):
            raise _folder.index_damage_error(folder, "its parts do not match")

    @classmethod
    def build(
        cls,
        passages: Iterable[Passage],
        folder: str | Path,
        encoder: Encoder,
        *,
        precision: vector_store.Precision = "float32",
    ) -> DenseIndex:
        """Index passages into a new folder."""
        settings = asdict(DenseSettings(encoder.name, encoder.digest, precision))
        target = Path(folder)
        with _folder.new_index_folder(target) as new:
            parts, count = _write_vectors(passages, new, encoder, precision)
            _folder.write_index_manifest(new, _folder.IndexManifest(cls.kind, settings, {"passages": count}, parts))
        return cls(target, encoder)

    @classmethod
    def open(cls, folder: str | Path, encoder: Encoder) -> DenseIndex:
        """Open an index that was built before with this encoder, memory-mapped."""
        return cls(Path(folder), encoder)

    def append(self, passages: Iterable[Passage]) -> DenseIndex:
        """Return the index with more dialogues added; what is already there is not touched."""
        before = self.manifest
        known = self._passages.numbers
        parts, count = _write_vectors(passages, self.folder, self.encoder, self.settings.precision, known)
        counts = {"passages": len(self) + count}
        manifest = _folder.IndexManifest(self.kind, before.settings, counts, before.parts + parts)
        _folder.write_index_manifest(self.folder, manifest, before)
        return type(self)(self.folder, self.encoder)

    def __len__(self) -> int:
        return len(self._passages)

    def search(
        self,
        queries: Sequence[str],
        k: int = 5,
        *,
        split: str | None = None,
        exclude_dialogues: Sequence[Collection[str]] | None = None,
        only_dialogues: Collection[str] | None = None,
    ) -> list[list[Hit]]:
        """Return the best hits of each query, best first; see ``base.Index``."""
        check_search_arguments(queries, k, exclude_dialogues)
        allowed = PassageFilter(self._passages, split, only_dialogues)
        excluded_ranges = [allowed.ranges(ids) for ids in exclude_dialogues or [()] * len(queries)]
        hits: list[list[Hit]] = []
        for begin in range(0, len(queries), _QUERIES):
            vectors = vector_store.encode_index_texts(self.encoder, queries[begin : begin + _QUERIES], "left")
            some = excluded_ranges[begin : begin + _QUERIES]
            for numbers, cosines in find_nearest(self._vectors, vectors, k, allowed.mask, some, [-np.inf] * len(some)):
                hits.append(self._passages.best(numbers, cosines, k))
        return hits


def find_nearest(
    store: vector_store.VectorStore,
    vectors: Vectors,
    k: int,
    mask: NDArray[np.float32] | None,
    excluded_ranges: Sequence[Sequence[slice]],
    least: Sequence[float],
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """For each query's vector, yield passages that include the k nearest, and their cosines.

    Passages whose cosine is below the query's ``least`` may be missing.
    """
    slack = (vectors.shape[1] + 2) * _ROUNDING
    best = [_NearestPassages(k, slack, floor) for floor in least]
    for first, block in store.blocks():
        rough = vectors @ block.T
        if mask is not None:
            rough += mask[first : first + len(block)]
        for row, nearest, ranges in zip(rough, best, excluded_ranges, strict=True):
            for excluded in ranges:
                row[max(excluded.start - first, 0) : max(excluded.stop - first, 0)] = -np.inf
            nearest.add(first, row)
    for vector, nearest in zip(vectors, best, strict=True):
        numbers = nearest.remaining()
        yield numbers, store.cosines(numbers, vector)


class _NearestPassages:
    """The passages so far that may be among the k nearest to a query, judging by approximate scores."""

    def __init__(self, k: int, slack: float, floor: float) -> None:
        self._k, self._slack = k, slack
        self._floor = floor
        self._seen: list[tuple[NDArray[np.int64], NDArray[np.float32]]] = []

    def add(self, first: int, scores: NDArray[np.float32]) -> None:
        """Add the scores of the passages from ``first`` on."""
        self._floor = max(self._floor, score_lower_bound(scores, self._k))
        places = np.flatnonzero(scores >= self._low())
        self._seen.append((places + first, scores[places]))

    def remaining(self) -> NDArray[np.int64]:
        """Return the numbers of the remaining passages."""
        numbers, scores = (np.concatenate(column) for column in zip(*self._seen, strict=True))
        return numbers[scores >= self._low()]

    def _low(self) -> float:
        return max(self._floor - self._slack, float(np.finfo(np.float32).min))  # above those that are excluded


def _write_vectors(
    passages: Iterable[Passage],
    folder: Path,
    encoder: Encoder,
    precision: vector_store.Precision,
    known: Collection[str] = (),
) -> tuple[tuple[_folder.IndexPart, _folder.IndexPart], int]:
    """Write a part of passages and one of their vectors; return the parts and the number of passages."""
    with _folder.new_index_part(folder, passage_store.ROLE) as texts, _folder.new_index_part(folder, ROLE) as vectors:
        count = vector_store.write_index_vectors(
            passage_store.record_passages(passages, texts, known), vectors, encoder, precision
        )
        return (_folder.seal_index_part(texts, passage_store.ROLE), _folder.seal_index_part(vectors, ROLE)), count
