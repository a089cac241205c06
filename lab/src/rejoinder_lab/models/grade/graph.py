"""The graph of a pair's keywords, as in the released code of GRADE (Huang et al. 2020).

The nodes are a start mark, the keywords of context and reply in order, an end mark, and padding. An edge joins a
keyword of the context and one of the reply; its weight is 1 over the number of steps between them in ConceptNet. For
edges, the released code counts the keywords of both from the same first position (the reply's do not come after the
context's), and it drops a random fifth of the edges, in scoring as in training. Both are reproduced here, but the
random choice is seeded.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.errors import InputError
from rejoinder.models.translation.checkpoint import find_checkpoint_file, read_checkpoint_lines

_MARKS = ("<PAD>", "<BOS>", "<EOS>", "<UNK>")
_PAD, _START, _END, _UNKNOWN = range(4)
UNREACHABLE = 20  # steps between two concepts without a path


@dataclass(frozen=True)
class KeywordConcepts:
    """The authors' processed data on keywords: ids, vectors of their neighbours, and steps between them."""

    ids: dict[str, int]
    near: dict[str, Any]  # the mean vector of a keyword's neighbours, one step away
    far: dict[str, Any]  # and two steps away
    steps: dict[tuple[str, str], int]

    def id_of(self, keyword: str) -> int:
        """Return the id of a keyword."""
        return self.ids.get(keyword, _UNKNOWN)


@dataclass(frozen=True)
class KeywordGraph:
    """The graph of one pair, as the network reads it."""

    ids: Any  # (nodes,)
    length: int  # without padding
    near: Any  # (nodes, dimensions)
    far: Any
    edges: Any  # (nodes, nodes)


def concept_files(folder: Path) -> list[Path]:
    """Return the files of the authors' processed data, from the authors' subfolder or the folder itself."""
    wanted = {
        "keyword.vocab": "the list of keywords",
        "dialog_keyword_tuples_multiGraph.hop": "the number of steps between keywords",
        "1st_hop_nr10.embedding": "the vectors of neighbours one step away",
        "2nd_hop_nr10.embedding": "the vectors of neighbours two steps away",
    }
    return [find_checkpoint_file(folder, (name, f"data/DailyDialog/{name}"), what) for name, what in wanted.items()]


def read_concepts(folder: Path, keywords: int, dimensions: int) -> KeywordConcepts:
    """Return the concepts in a folder; the number of keywords and the dimension come from the checkpoint."""
    vocabulary, hops, near, far = concept_files(folder)
    lines = read_checkpoint_lines(vocabulary)
    words = [*_MARKS, *(line.strip() for line in (lines[:-1] if lines[-1] == "" else lines))]
    ids = {word: i for i, word in enumerate(words)}
    if not len(ids) == len(words) == keywords:
        raise InputError(
            f"{vocabulary}: has {len(ids) - len(_MARKS):,} distinct keywords on {len(words) - len(_MARKS):,} lines, "
            f"but the checkpoint was trained on {keywords - len(_MARKS):,}; use the list published with it"
        )
    return KeywordConcepts(ids, _read_vectors(near, dimensions), _read_vectors(far, dimensions), _read_steps(hops))


def _read_vectors(path: Path, dimensions: int) -> dict[str, Any]:
    """Read lines of ``keyword number number ...``."""
    vectors = {}
    for number, line in enumerate(read_checkpoint_lines(path), start=1):
        if not line.strip():
            continue
        word, *values = line.split(" ")
        try:
            vector = np.array(values, np.float32)
        except ValueError:
            vector = np.zeros(0, np.float32)
        if vector.shape != (dimensions,) or not np.isfinite(vector).all():
            raise InputError(f"{path} line {number}: is not a keyword and {dimensions} numbers, separated by spaces")
        vectors[word] = vector
    return vectors


def _read_steps(path: Path) -> dict[tuple[str, str], int]:
    """Read lines of ``keyword|||keyword|||steps``, with -1 if there is no path."""
    steps = {}
    for number, line in enumerate(read_checkpoint_lines(path), start=1):
        if not line.strip():
            continue
        parts = line.strip().split("|||")
        if len(parts) != 3 or not (parts[2] == "-1" or (parts[2].isdecimal() and int(parts[2]) > 0)):
            raise InputError(f"{path} line {number}: is not keyword|||keyword|||steps (at least 1, or -1)")
        steps[parts[0], parts[1]] = UNREACHABLE if parts[2] == "-1" else int(parts[2])
    return steps


def build_keyword_graph(
    concepts: KeywordConcepts,
    context: Sequence[str],
    reply: Sequence[str],
    nodes: int,
    dimensions: int,
    keep: float,
    seed: int,
) -> KeywordGraph:
    """Return the keyword graph of a pair, padded to ``nodes`` nodes; ``keep`` is the share of edges kept."""
    most = nodes - 2
    keywords = [*context, *reply][:most]
    ids = [_START, *map(concepts.id_of, keywords), _END]
    ids += [_PAD] * (nodes - len(ids))
    near, far = np.zeros((nodes, dimensions), np.float32), np.zeros((nodes, dimensions), np.float32)
    for position, word in enumerate(keywords, start=1):
        if word in concepts.ids:  # an unknown keyword has no neighbours
            near[position] = concepts.near.get(word, 0)
            far[position] = concepts.far.get(word, 0)
    edges = _build_edges(concepts, context[:most], reply[:most], nodes)
    if keep < 1:
        _drop_edges(edges, keep, _pair_generator(seed, context, reply))
    return KeywordGraph(
        np.array(ids, np.int64), len(keywords) + 2, near, far, _normalise_edges(edges).astype(np.float32)
    )


def _build_edges(concepts: KeywordConcepts, context: Sequence[str], reply: Sequence[str], nodes: int) -> Any:
    edges = np.zeros((nodes, nodes))
    for i, source in enumerate(context, start=1):
        for j, target in enumerate(reply, start=1):
            known = source in concepts.ids and target in concepts.ids
            steps = concepts.steps.get((source, target), UNREACHABLE) if known else UNREACHABLE
            edges[i, j] = edges[j, i] = 1 / steps
    return edges


def _drop_edges(edges: Any, keep: float, random: np.random.Generator) -> None:
    """Remove random edges, each direction separately, until the share ``keep`` is left."""
    rows, columns = np.nonzero(edges)
    dropped = random.permutation(len(rows))[math.floor(len(rows) * keep) :]
    edges[rows[dropped], columns[dropped]] = 0


def _normalise_edges(edges: Any) -> Any:
    """Return the edges plus self-loops, divided by the square roots of the sums at both ends."""
    edges = edges + np.eye(len(edges))
    scale = edges.sum(1) ** -0.5
    return scale[:, None] * edges * scale[None, :]


def _pair_generator(seed: int, context: Sequence[str], reply: Sequence[str]) -> np.random.Generator:
    """Return a random generator for one pair, independent of all others."""
    text = "\0".join([str(seed), *context, "\1", *reply])
    return np.random.default_rng(int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:8], "big"))
