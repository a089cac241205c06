"""How similar the turns of a speaker set are (Bak and Oh 2020, Table 2).

Two numbers are computed for a set of n turns, from the n by n matrix of the cosines of their vectors: the mean over all
pairs of different turns, and the Frobenius norm divided by n, as in the paper. The norm includes the diagonal, so it
falls with n whatever is said: for a set of one turn it is 1. It can be compared only between sets of the same n.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from rejoinder.data.inputs import Input
from rejoinder.errors import InputError, SpecError, nearest
from rejoinder.indexes.corpus import Corpus, Numbers, group_by_corpus
from rejoinder.indexes.speaker_coverage import SpeakerCoverage, measure_coverage
from rejoinder.indexes.speaker_sets import DEFAULT_SAMPLING, DESIGNS, CorpusSets, Design, SetSample, SetSampling
from rejoinder.indexes.speakers import SETS, SetName
from rejoinder.models.catalog.entries import MODELS
from rejoinder.stats.interval import Interval, mean_interval
from rejoinder.text.tokens import get_tokenizer
from rejoinder.types import Dialogue

TFIDF = "tfidf"
Matrix: TypeAlias = Any  # one row per text: a numpy array, or a sparse matrix of scipy


class Vectoriser(NamedTuple):
    """A function from texts to vectors, and its name."""

    name: str
    vectors: Callable[[Sequence[str]], Matrix]


def open_vectoriser(name: str) -> Vectoriser:
    """Return the vectorizer of a name: ``tfidf``, word vectors or an encoder of the catalog, or a folder of either."""
    if name == TFIDF:
        return Vectoriser(TFIDF, tfidf_vectors)
    if name in MODELS and MODELS[name].kind == "word-vectors":
        return Vectoriser(name, lambda texts: average_word_vectors(texts, name))
    if name in MODELS and MODELS[name].kind != "encoder":
        usable = [TFIDF, *(m.name for m in MODELS.values() if m.kind in ("word-vectors", "encoder"))]
        raise SpecError(f"{name} cannot turn texts into vectors; {nearest(name, usable)}")
    from rejoinder.models.encoder.factory import load_encoder

    encoder = load_encoder(name)
    return Vectoriser(encoder.name, encoder.encode)


def tfidf_vectors(texts: Sequence[str]) -> Matrix:
    """Return word counts times ln((1 + N) / (1 + df)) + 1, with N and df of these texts; zeros without words."""
    from scipy.sparse import csr_matrix

    tokens_of = get_tokenizer("words")
    columns: dict[str, int] = {}
    word_counts = [Counter(columns.setdefault(word, len(columns)) for word in tokens_of(text)) for text in texts]
    ends: Numbers = np.cumsum([0, *map(len, word_counts)])
    indices = np.fromiter((column for counts in word_counts for column in counts), np.int32, int(ends[-1]))
    values = np.fromiter((n for counts in word_counts for n in counts.values()), np.float64, int(ends[-1]))
    shared = np.bincount(indices, minlength=len(columns))
    values *= np.log((1 + len(texts)) / (1 + shared[indices])) + 1
    lengths = np.sqrt(np.bincount(np.repeat(np.arange(len(texts)), np.diff(ends)), values**2, len(texts)))
    values /= np.repeat(lengths, np.diff(ends))
    return csr_matrix((values, indices, ends), (len(texts), len(columns)))


def average_word_vectors(texts: Sequence[str], name: str) -> Matrix:
    """Return the mean vector of each text's words, as in SSREM; zeros for a text without known words."""
    from rejoinder.models.word_vectors.model import load_word_vectors

    words = load_word_vectors(name)
    tokens_of = get_tokenizer("words")
    means = np.zeros((len(texts), words.dimensions), np.float32)
    for number, text in enumerate(texts):
        vectors, known = words.vectors(tokens_of(text))
        if known.any():
            means[number] = vectors[known].mean(axis=0)
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    return np.divide(means, lengths, out=np.zeros_like(means), where=lengths > 0)


@dataclass(frozen=True)
class SpeakerSimilarity:
    """How similar the turns of one kind of set are, over all its sets, with intervals clustered by speaker.

    ``step`` is how much higher the mean cosine of the previous kind is, set by set; only if sets are matched.
    """

    of: SetName
    n_sets: int
    n_speakers: int
    n_utterances: float
    cosine: Interval
    frobenius: Interval
    step: Interval | None = None


@dataclass(frozen=True)
class SpeakerReport:
    """The speaker sets that a corpus covers, and how similar the turns of each kind of set are."""

    coverage: SpeakerCoverage
    similarity: Mapping[Design, Sequence[SpeakerSimilarity]]
    vectors: str  # how turns were compared


def speakers(
    file: str | Path,
    *,
    corpus: str | None = None,
    split: str | None = None,
    encoder: str = "aptness",
    sets: int = 1000,
    size: int = 10,
    permanent_labels: Literal["auto", "yes", "no"] = "auto",
    seed: int = 0,
) -> dict[str, SpeakerReport]:
    """Report on SSREM's speaker sets in the corpora of a file: a report by the name of each corpus.

    - ``file``: the dialogues: a file or ``dataset:NAME``.
    - ``corpus``: only the dialogues of this corpus.
    - ``split``: only the dialogues of this split.
    - ``encoder``: how turns are compared: ``aptness``, ``tfidf``, ``glove-6b-50d``, ``minilm`` or a folder.
    - ``sets``: the largest number of sets of each kind.
    - ``size``: the largest number of turns per set.
    - ``permanent_labels``: whether a label names the same speaker in every dialogue; ``auto`` says no
      if more than half of a corpus's dialogues have only roles such as A and B.
    - ``seed``: the seed of the sample.

    >>> import rejoinder
    >>> list(rejoinder.speakers("dialogues.jsonl", corpus="friends", encoder="tfidf"))
    ['friends']
    """
    corpora = _read_corpora(file, corpus, split, permanent_labels)
    vectors = open_vectoriser(encoder)
    sampling = SetSampling(sets, size, seed)
    return {
        name: SpeakerReport(measure_coverage(one), measure_similarity(one, vectors, sampling), vectors.name)
        for name, one in corpora.items()
    }


def _read_corpora(
    file: str | Path, corpus: str | None, split: str | None, permanent_labels: Literal["auto", "yes", "no"]
) -> dict[str, Corpus]:
    """Return the corpora of a file by name; one without a name gets the file's."""
    source = Input(file)
    seen: dict[str, set[str]] = {"corpus": set(), "split": set()}

    def wanted() -> Iterator[Dialogue]:
        for record, _ in source.records(allow_empty=True):
            if isinstance(record, Dialogue):
                seen["corpus"].add(record.corpus or "")
                seen["split"].add(record.split or "")
                if corpus in (None, record.corpus) and split in (None, record.split):
                    yield record

    try:
        corpora = group_by_corpus(wanted(), permanent_labels)
    finally:
        source.close()
    for kind, wanted_name in (("corpus", corpus), ("split", split)):
        if wanted_name is not None and seen["corpus"] and wanted_name not in seen[kind]:
            raise InputError(
                f"{source.called} has no {kind} {wanted_name!r}; {nearest(wanted_name, seen[kind] - {''})}"
            )
    if not corpora:
        what = "dialogues of that corpus and split" if seen["corpus"] else "dialogues"
        raise InputError(f"{source.called} has no {what}; name a file with dialogues (see docs/formats.md)")
    return {name or source.stem: one for name, one in corpora.items()}


def measure_similarity(
    corpus: Corpus,
    vectorizer: Vectoriser,
    sampling: SetSampling = DEFAULT_SAMPLING,
    designs: Sequence[Design] | None = None,
) -> Mapping[Design, list[SpeakerSimilarity]]:
    """Return the similarity within each kind of set, for each design; each text is encoded only once."""
    sets = CorpusSets(corpus)
    samples = {design: list(DESIGNS[design](sets, sampling)) for design in designs or DESIGNS}
    turns = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(d.turns for ds in samples.values() for d in ds)]))
    codes, first, place = np.unique(corpus.text_codes[turns], return_index=True, return_inverse=True)
    vectors = vectorizer.vectors(corpus.texts(turns[first])) if len(codes) else None
    rows = np.zeros(corpus.n_turns, dtype=np.int64)
    rows[turns] = place
    return {design: _summarise_sets(sets, vectors, rows, design == "matched") for design, sets in samples.items()}


def is_similarity_decreasing(similarities: Sequence[SpeakerSimilarity]) -> bool:
    """Whether the mean cosine falls from each kind of set to the next; kinds without sets are skipped."""
    means = [one.cosine.value for one in similarities if one.n_sets]
    return len(means) > 1 and all(first > second for first, second in itertools.pairwise(means))


def are_first_and_last_apart(similarities: Sequence[SpeakerSimilarity]) -> bool:
    """Whether the interval of the first kind of set is entirely above that of the last."""
    return similarities[0].cosine.low > similarities[-1].cosine.high


def _summarise_sets(
    sets: Sequence[SetSample], vectors: Matrix, rows: Numbers, matched: bool
) -> list[SpeakerSimilarity]:
    values = np.array([_mean_similarity(vectors[rows[sample.turns]]) for sample in sets]).reshape(-1, 2)
    speakers = np.array([sample.speaker for sample in sets], dtype=np.int64)
    kinds = np.array([SETS.index(sample.of) for sample in sets], dtype=np.int64)
    similarities = []
    for kind, set_name in enumerate(SETS):
        members = np.flatnonzero(kinds == kind)
        step = None
        if matched and kind:
            before = values[np.flatnonzero(kinds == kind - 1), 0]
            step = mean_interval(before - values[members, 0], speakers[members])
        size = float(np.mean([len(sets[i].turns) for i in members.tolist()])) if len(members) else float("nan")
        cosine, frobenius = (mean_interval(values[members, column], speakers[members]) for column in (0, 1))
        similarities.append(
            SpeakerSimilarity(set_name, len(members), len(np.unique(speakers[members])), size, cosine, frobenius, step)
        )
    return similarities


def _mean_similarity(vectors: Matrix) -> tuple[float, float]:
    """Return the mean cosine of pairs, and the Frobenius norm divided by n; texts without a vector are left out."""
    products = vectors @ vectors.T
    cosines = np.asarray(products.toarray() if hasattr(products, "toarray") else products, dtype=np.float64)
    known = np.diag(cosines) > 0
    cosines = cosines[np.ix_(known, known)]
    n = len(cosines)
    if n < 2:
        return float("nan"), float("nan")
    return float((cosines.sum() - np.trace(cosines)) / (n * (n - 1))), float(np.linalg.norm(cosines) / n)
