"""How alike the utterances of a speaker set are (Bak and Oh 2020, Table 2).

Two numbers of a set of n utterances, from the n by n matrix of the cosines of their vectors: the mean over all pairs of
different utterances, and the Frobenius norm over n, the paper's. The norm counts the diagonal, so it falls with
n whatever is said: a set of one has 1. It can be compared only between sets of the same n.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.indexes.corpus import Corpus, Numbers
from rejoinder.indexes.speaker_sets import DEFAULT, DESIGNS, Design, Drawn, Sampling, Sets
from rejoinder.indexes.speakers import SETS, SetName
from rejoinder.indexes.text_vectors import Matrix, Vectorizer
from rejoinder.stats.interval import Interval, mean_interval


@dataclass(frozen=True)
class Similarity:
    """How alike the utterances of one kind of set are, over all its sets, with intervals clustered by speaker.

    ``step`` is how much higher the mean cosine of the kind before is, set by set; only where sets are matched.
    """

    of: SetName
    n_sets: int
    n_speakers: int
    n_utterances: float
    cosine: Interval
    frobenius: Interval
    step: Interval | None = None


def measure(
    corpus: Corpus, vectorizer: Vectorizer, sampling: Sampling = DEFAULT, designs: Sequence[Design] | None = None
) -> Mapping[Design, list[Similarity]]:
    """The similarity within each kind of set, by each way of taking sets; a text is made a vector once for all."""
    sets = Sets(corpus)
    drawn = {design: list(DESIGNS[design](sets, sampling)) for design in designs or DESIGNS}
    turns = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(d.turns for ds in drawn.values() for d in ds)]))
    said, first, place = np.unique(corpus.said[turns], return_index=True, return_inverse=True)
    vectors = vectorizer.vectors(corpus.texts(turns[first])) if len(said) else None
    rows = np.zeros(corpus.n_turns, dtype=np.int64)
    rows[turns] = place
    return {design: _summary(sets, vectors, rows, design == "matched") for design, sets in drawn.items()}


def falls(found: Sequence[Similarity]) -> bool:
    """Whether the mean cosine falls from each kind of set to the next; kinds without any set are passed over."""
    means = [one.cosine.value for one in found if one.n_sets]
    return len(means) > 1 and all(first > second for first, second in itertools.pairwise(means))


def apart(found: Sequence[Similarity]) -> bool:
    """Whether the interval of the first kind of set lies wholly above that of the last."""
    return found[0].cosine.low > found[-1].cosine.high


def _summary(sets: Sequence[Drawn], vectors: Matrix, rows: Numbers, matched: bool) -> list[Similarity]:
    values = np.array([_alike(vectors[rows[drawn.turns]]) for drawn in sets]).reshape(-1, 2)
    speakers = np.array([drawn.speaker for drawn in sets], dtype=np.int64)
    kinds = np.array([SETS.index(drawn.of) for drawn in sets], dtype=np.int64)
    found = []
    for kind, of in enumerate(SETS):
        mine = np.flatnonzero(kinds == kind)
        step = None
        if matched and kind:
            before = values[np.flatnonzero(kinds == kind - 1), 0]
            step = mean_interval(before - values[mine, 0], speakers[mine])
        size = float(np.mean([len(sets[i].turns) for i in mine.tolist()])) if len(mine) else float("nan")
        cosine, frobenius = (mean_interval(values[mine, column], speakers[mine]) for column in (0, 1))
        found.append(Similarity(of, len(mine), len(np.unique(speakers[mine])), size, cosine, frobenius, step))
    return found


def _alike(vectors: Matrix) -> tuple[float, float]:
    """The mean cosine of pairs, and the Frobenius norm over n; texts without a vector are left out."""
    products = vectors @ vectors.T
    cosines = np.asarray(products.toarray() if hasattr(products, "toarray") else products, dtype=np.float64)
    known = np.diag(cosines) > 0
    cosines = cosines[np.ix_(known, known)]
    n = len(cosines)
    if n < 2:
        return float("nan"), float("nan")
    return float((cosines.sum() - np.trace(cosines)) / (n * (n - 1))), float(np.linalg.norm(cosines) / n)
