"""Approximate dense search: each shard has a graph of near neighbours (HNSW, Malkov and Yashunin 2020), built and
searched by usearch, memory-mapped.

The graph proposes passages, which are then compared exactly by the vectors as stored: hits have their true scores, but
a near passage may be missed. If filters leave too few of the proposed passages, all passages of the shard are compared.
"""

from __future__ import annotations

import hashlib
import os
from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import MissingExtraError
from rejoinder.indexes.one_field import vector_store
from rejoinder.indexes.one_field.base import Passage
from rejoinder.indexes.one_field.dense import ROLE, find_nearest
from rejoinder.indexes.one_field.folder import index_damage_error, new_index_part, seal_index_part
from rejoinder.indexes.one_field.passage_store import load_array
from rejoinder.indexes.sharded.builder import IndexShard
from rejoinder.indexes.sharded.dense import DenseShards, ShardedDenseIndex
from rejoinder.indexes.sharded.search import MAX_OPEN_SHARDS, ShardHits
from rejoinder.models.base import Encoder, Vectors

GRAPH_ROLE = "graph"
_GRAPH_FILE = "graph.usearch"
_NEIGHBOURS, _EFFORT = 16, 128  # of a passage, and how many are compared to choose them
_GRAPH_DTYPE = "i8"  # of the vectors in the graph
_MIN_PROPOSALS = 64  # passages per shard that are compared exactly
_PROPOSALS_PER_HIT = 4  # likewise, for each of the k hits


class GraphShards(DenseShards):
    """Encodes shards, and finds the neighbours of each passage in its shard."""

    address = "GraphShards"

    @staticmethod
    def check() -> None:
        """Raise if usearch is missing."""
        _import_usearch()

    def write(self, passages: Iterator[Passage]) -> IndexShard:
        """Write the passages of one shard, their vectors, and the graph."""
        entry = super().write(passages)
        vectors = next(part for part in entry.parts if part.role == ROLE)
        store = vector_store.VectorStore([self.folder / vectors.name], self.encoder.dimensions)
        with new_index_part(self.folder, GRAPH_ROLE) as new:
            _save_graph(new, store, self.encoder.dimensions)
            return IndexShard((*entry.parts, seal_index_part(new, GRAPH_ROLE)), entry.counts)


def _save_graph(folder: Path, store: vector_store.VectorStore, dimensions: int) -> None:
    """Write the graph of the distinct vectors of a store, and which passages have each.

    Copies are one node: their only neighbours would be each other, and a search could not leave or reach them.
    """
    options = {"connectivity": _NEIGHBOURS, "expansion_add": _EFFORT}
    graph = _import_usearch().Index(ndim=dimensions, metric="cos", dtype=_GRAPH_DTYPE, **options)
    known: dict[bytes, int] = {}
    nodes = array("i")
    for _, block in store.blocks():
        before = len(known)
        new: list[int] = []
        for place, row in enumerate(block):
            node = known.setdefault(hashlib.blake2b(row.data, digest_size=16).digest(), len(known))
            nodes.append(node)
            if node == before + len(new):
                new.append(place)
        if new:  # with more threads the graph would differ each time
            graph.add(np.arange(before, len(known)), block[new], threads=1)
    graph.save(str(folder / _GRAPH_FILE))
    np.save(folder / "passages.npy", np.argsort(np.asarray(nodes), kind="stable").astype(np.int32))
    np.save(folder / "starts.npy", np.concatenate([[0], np.cumsum(np.bincount(nodes, minlength=len(known)))]))


class _ShardGraph:
    """The graph of a shard, memory-mapped, and the passages of its nodes."""

    def __init__(self, folder: Path, passages: int) -> None:
        try:
            self._index = _import_usearch().Index.restore(str(folder / _GRAPH_FILE), view=True)
        except (RuntimeError, ValueError) as error:
            raise index_damage_error(folder / _GRAPH_FILE, str(error)) from None
        self._passages, self._starts = load_array(folder, "passages"), load_array(folder, "starts")
        nodes = -1 if self._index is None else len(self._index)
        if nodes != len(self) or not len(self._passages) == self._starts[-1] == passages:
            raise index_damage_error(folder, "its files do not match")

    def __len__(self) -> int:
        return len(self._starts) - 1

    def propose(self, vectors: Vectors, wanted: int) -> Iterator[NDArray[np.int64]]:
        """For each vector, yield up to ``wanted`` nodes near it."""
        threads = int(os.environ.get("REJOINDER_THREADS", "0"))  # 0: all cores
        matches = self._index.search(vectors, wanted, threads=threads)
        keys = np.asarray(matches.keys, np.int64).reshape(len(vectors), -1)
        counts = np.atleast_1d(getattr(matches, "counts", keys.shape[1]))
        for row, count in zip(keys, counts, strict=True):
            yield np.sort(row[:count])

    def passages_of(self, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return all passages of some nodes, and how many each node has."""
        groups = [self._passages[self._starts[node] : self._starts[node + 1]] for node in nodes]
        return np.concatenate(groups).astype(np.int64), np.array([len(one) for one in groups])


class GraphIndex(ShardedDenseIndex):
    """An approximate index of passages in shards by their vectors, with the interface of ``ShardedDenseIndex``."""

    kind = "approximate dense"
    layout = "sharded graph"
    worker = GraphShards

    def __init__(self, folder: Path, encoder: Encoder) -> None:
        super().__init__(folder, encoder)
        self._graphs = self.manifest.folders(folder, GRAPH_ROLE)
        self._graph = lru_cache(maxsize=MAX_OPEN_SHARDS)(self._open_graph)

    def nearest(
        self,
        shard: int,
        queries: Sequence[NDArray[np.float32]],
        k: int,
        mask: NDArray[np.float32] | None,
        excluded_ranges: Sequence[Sequence[slice]],
        least: Sequence[float],
    ) -> Iterator[ShardHits]:
        """For each query, yield passages that include most of the k nearest of a shard."""
        store, graph, vectors = self.store_of(shard), self._graph(shard), np.stack(queries)
        wanted = max(_MIN_PROPOSALS, _PROPOSALS_PER_HIT * k)
        if wanted * _PROPOSALS_PER_HIT > len(graph):
            yield from find_nearest(store, vectors, k, mask, excluded_ranges, least)
            return
        for number, nodes in enumerate(graph.propose(vectors, wanted)):
            numbers, sizes = graph.passages_of(nodes)
            allowed = _find_allowed(numbers, mask, excluded_ranges[number])
            if allowed.sum() < k:
                some = slice(number, number + 1)
                yield from find_nearest(store, vectors[some], k, mask, excluded_ranges[some], least[some])
            else:
                firsts = numbers[np.cumsum(sizes) - sizes]
                cosines = np.repeat(store.cosines(firsts, vectors[number]), sizes)
                yield numbers[allowed], cosines[allowed]

    def _open_graph(self, number: int) -> _ShardGraph:
        return _ShardGraph(self._graphs[number], len(self.store_of(number)))


def _find_allowed(
    numbers: NDArray[np.int64], mask: NDArray[np.float32] | None, excluded_ranges: Sequence[slice]
) -> NDArray[np.bool_]:
    allowed: NDArray[np.bool_] = np.ones(len(numbers), np.bool_) if mask is None else mask[numbers] == 0
    for passages in excluded_ranges:
        allowed &= (numbers < passages.start) | (numbers >= passages.stop)
    return allowed


def _import_usearch() -> Any:
    try:
        return import_module("usearch.index")
    except ImportError:
        raise MissingExtraError("usearch", "ann", "approximate search") from None
