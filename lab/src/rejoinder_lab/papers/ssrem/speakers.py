"""SSREM (Bak and Oh 2020), Table 2: how similar the utterances within each speaker set are.

The paper's corpus (Twitter conversations) and vectors (GloVe Twitter 200d) are not available; its figures are shown
beside those of other corpora with GloVe 6B 50d. Only the train split is measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rejoinder.data.datasets import read_dataset
from rejoinder.indexes.corpus import Corpus, group_by_corpus
from rejoinder.indexes.speaker_sets import Design, SetSampling
from rejoinder.indexes.speaker_similarity import (
    SpeakerSimilarity,
    are_first_and_last_apart,
    is_similarity_decreasing,
    measure_similarity,
    open_vectoriser,
)
from rejoinder.types import Dialogue
from rejoinder_lab.papers.base import Figure, Reproduction
from rejoinder_lab.papers.loader import load_notes, load_published

SUMMARY = "SSREM, Table 2: similarity within same conversation, partner, speaker and random sets, on five corpora"
CORPORA = {
    "cornell": "Cornell",
    "friends": "Friends",
    "irc_ubuntu": "Ubuntu IRC",
    "cmu_dog": "CMU DoG",
    "mrda": "MRDA",
}
COLUMNS = ("same conversation", "same partner", "same speaker", "random")
_NOTES = load_notes("ssrem")


@dataclass(frozen=True)
class SimilarityMethod:
    """One way of measuring similarity."""

    title: str
    encoder: str
    design: Design
    sampling: SetSampling


SIMILARITY_METHODS = (
    SimilarityMethod("GloVe, each set once (as in the paper)", "glove-6b-50d", "each set once", SetSampling(20_000)),
    SimilarityMethod("MiniLM, matched", "minilm", "matched", SetSampling(500, 5)),
    SimilarityMethod("TF-IDF, matched", "tfidf", "matched", SetSampling(20_000)),
    SimilarityMethod("GloVe, matched", "glove-6b-50d", "matched", SetSampling(20_000)),
    SimilarityMethod("TF-IDF, matched, copies counted", "tfidf", "matched", SetSampling(2_000, copies=True)),
)


def reproduce(ways: Sequence[SimilarityMethod] = SIMILARITY_METHODS) -> Reproduction:
    """Measure every corpus with each method."""
    corpora = group_by_corpus(_read_speaker_dialogues())
    figures = [
        Figure(f"Frobenius norm / n: {SIMILARITY_METHODS[0].title}", "Twitter (the paper's)", column, value, math.nan)
        for column, value in load_published("ssrem")["Table 2"].items()
    ]
    notes = _NOTES.paragraphs("speaker sets")
    for way in ways:
        similarities = {label: _measure_speaker_similarity(corpora[name], way) for name, label in CORPORA.items()}
        for label, kinds in similarities.items():
            figures += _similarity_row_figures(label, kinds, way)
        notes.append(_describe_order(way, similarities))
    figures.sort(key=lambda figure: figure.table.startswith("mean cosine"))
    return Reproduction("speakers", "SSREM, Table 2: similarity within speaker sets", figures, notes)


def _read_speaker_dialogues() -> Iterator[Dialogue]:
    for record in read_dataset("corpus/dialogues"):
        if isinstance(record, Dialogue) and record.corpus in CORPORA and record.split == "train":
            yield record


def _measure_speaker_similarity(corpus: Corpus, way: SimilarityMethod) -> list[SpeakerSimilarity]:
    return measure_similarity(corpus, open_vectoriser(way.encoder), way.sampling, [way.design])[way.design]


def _similarity_row_figures(row: str, kinds: Sequence[SpeakerSimilarity], way: SimilarityMethod) -> Iterator[Figure]:
    for column, one in zip(COLUMNS, kinds, strict=True):
        for statistic, interval in (("Frobenius norm / n", one.frobenius), ("mean cosine", one.cosine)):
            note = f"{one.n_sets} sets of {one.n_speakers} speakers, {one.n_utterances:.1f} utterances each"
            table = f"{statistic}: {way.title}"
            yield Figure(table, row, column, None, interval.value, interval.low, interval.high, one.n_sets, note)


def _describe_order(way: SimilarityMethod, similarities: dict[str, list[SpeakerSimilarity]]) -> str:
    """On which corpora the mean cosine falls from set to set, and where the first and last are clearly apart."""
    both = [
        name
        for name, kinds in similarities.items()
        if is_similarity_decreasing(kinds) and are_first_and_last_apart(kinds)
    ]
    order_only = [
        name
        for name, kinds in similarities.items()
        if is_similarity_decreasing(kinds) and not are_first_and_last_apart(kinds)
    ]
    neither = [name for name, kinds in similarities.items() if not is_similarity_decreasing(kinds)]
    sizes = ", ".join(f"{name} {kinds[0].n_sets:,}" for name, kinds in similarities.items())
    return _NOTES.text(
        "order of speaker sets",
        title=way.title,
        both=", ".join(both) or "none",
        order_only=", ".join(order_only) or "none",
        neither=", ".join(neither) or "none",
        sizes=sizes,
    )
