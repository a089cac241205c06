"""SIF vectors against a direct reading of Arora et al. 2017, and what the source owes as every source does."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import tiny_models
from numpy.typing import NDArray

from rejoinder.errors import InputError, SpecError
from rejoinder.indexes.sif import SifEncoder, fit_sif, read_word_counts
from rejoinder.models.word_vectors.model import load_word_vectors
from rejoinder.sources import Corpus, Moment, parse_source
from rejoinder.types import Dialogue, Item, Reference, Turn

SAID = (
    "the cat sat on the mat",
    "the dog ran fast",
    "i love the cat",
    "what about the train",
    "no",
    "the train leaves at nine",
    "zzz qqq",
    "we think so",
    "is it a good day",
    "it was a bad night",
    "you like the dog very much",
)


@pytest.fixture
def words(tmp_path: Path) -> Path:
    return tiny_models.write_word_vectors(tmp_path / "words", dimensions=6)


def corpus() -> Corpus:
    return Corpus.of([Dialogue(f"d{n}", (Turn(text, "A"), Turn("no", "B"))) for n, text in enumerate(SAID)])


def direct(folder: Path, texts: list[str], fitted_on: list[str], a: float) -> NDArray[np.float64]:
    """The paper's Algorithm 1, word by word; the component by a singular value decomposition."""
    vectors = load_word_vectors(str(folder))
    counts = Counter(word for text in fitted_on for word in text.split())
    total = sum(counts.values())

    def mean(text: str) -> NDArray[np.float64]:
        known = [word for word in text.split() if word in vectors]
        rows = [a / (a + counts[word] / total) * vectors.vectors([word])[0][0].astype(np.float64) for word in known]
        return np.mean(rows, axis=0) if rows else np.zeros(vectors.dimensions)

    component = np.linalg.svd(np.stack([mean(text) for text in fitted_on]))[2][0]
    found = np.stack([mean(text) - component * (component @ mean(text)) for text in texts])
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    return np.divide(found, lengths, out=np.zeros_like(found), where=lengths > 1e-9)


@pytest.mark.parametrize("a", [1e-3, 1e-1])
def test_the_vectors_are_those_of_the_papers_algorithm(words: Path, a: float) -> None:
    vectors = load_word_vectors(str(words))
    fitted_on = [text for said in SAID for text in (said, "no")]
    encoder = SifEncoder(vectors, a, fit_sif(corpus(), vectors, a), "digest")
    texts = ["the cat ran", "zzz", "no no no", "what a good day", "", "The CAT, ran!"]
    found = encoder.encode(texts)
    expected = direct(words, ["the cat ran", "zzz", "no no no", "what a good day", "", "the cat ran"], fitted_on, a)
    np.testing.assert_allclose(found, expected, atol=2e-6)
    assert not found[1].any()
    assert not found[4].any()
    np.testing.assert_array_equal(encoder.encode(["what a good day"])[0], found[3])  # whatever else is asked


def test_rare_words_count_more_than_frequent_ones(words: Path) -> None:
    vectors = load_word_vectors(str(words))
    plain = fit_sif(corpus(), vectors, 1e-3)
    encoder = SifEncoder(vectors, 1e-3, plain, "digest")
    both, rare, frequent = encoder.encode(["the train", "train", "the"])
    assert both @ rare > both @ frequent


def test_counts_may_come_from_a_file(words: Path, tmp_path: Path) -> None:
    path = tmp_path / "counts.txt"
    path.write_text("the 100\ncat 1\nthe 20\n", "utf-8")
    assert read_word_counts(str(path)) == ({"the": 120, "cat": 1}, 121)
    source = parse_source(f"sif(vectors={str(words)!r}, counts={str(path)!r}, query='reply')")
    item = Item("i", (Turn("well"),), (Reference("the cat ran"),))
    assert source.over(corpus()).propose([item], 3)[0]
    path.write_text("the\n", "utf-8")
    with pytest.raises(InputError, match=r"counts.txt line 1: found 'the'; write a word and its count"):
        read_word_counts(str(path))


def test_what_is_proposed_keeps_the_rules_of_every_source(words: Path) -> None:
    spec = f"sif(vectors={str(words)!r}, query='reply')"
    source = parse_source(spec)
    assert parse_source(str(source)) == source
    home = Dialogue("home", (Turn("the cat sat"), Turn("I love the cat!"), Turn("you like the train")), None, "test")
    there = [Dialogue(f"d{n}", (Turn(text), Turn("no")), None, "test") for n, text in enumerate(SAID)]
    away = Dialogue("away", (Turn("the cat is very good"),), None, "train")
    whole = Corpus.of([home, *there, away])
    proposer = source.over(whole)
    (found,) = proposer.propose([Moment("home", 2)], 20)
    assert found
    assert "i love the cat" not in [one.text for one in found]  # a turn of the context
    assert "zzz qqq" not in [one.text for one in found]  # nothing is known of it
    assert len({one.text for one in found}) == len(found)
    assert {one.source for one in found} == {str(source)}
    assert "away/0" not in [one.id for one in found]
    assert proposer.propose([Moment("home", 2)], 2)[0] == found[:2]
    assert source.over(whole).propose([Moment("home", 2)], 20)[0] == found  # from the cache
    everything = [turn.text.lower().strip("!") for dialogue in [home, *there, away] for turn in dialogue.turns]
    expected = direct(words, ["you like the train", *(one.text for one in found)], everything, 1e-3)
    cosines = expected[1:] @ expected[0]
    assert (np.diff(cosines) <= 1e-6).all()
    assert (cosines > 0).all()


def test_a_reply_of_unknown_words_finds_nothing(words: Path) -> None:
    source = parse_source(f"sif(vectors={str(words)!r}, query='reply')")
    item = Item("i", (Turn("the cat"),), (Reference("zzz"),))
    without = Item("j", (Turn("the cat"),))
    assert source.over(corpus()).propose([item, without], 5) == [[], []]


def test_what_cannot_be_asked_of_it_is_told(words: Path) -> None:
    with pytest.raises(SpecError, match=r"sif: a must be above 0, not 0\.0"):
        parse_source("sif(a=0.0)")
    encoder = SifEncoder(
        load_word_vectors(str(words)), 1e-3, fit_sif(corpus(), load_word_vectors(str(words)), 1e-3), "d"
    )
    with pytest.raises(SpecError, match="has no contextual token vectors"):
        encoder.encode_tokens(["the cat"])
    assert encoder.truncated(["the cat"]) == [False]
