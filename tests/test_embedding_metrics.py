"""Metrics over word and sentence vectors: hand-computed numbers, direct computations, and models that are absent."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pytest

from rejoinder.errors import RejoinderError
from rejoinder.metric import Metric, parse, signature
from rejoinder.metrics.embedding_average import EmbeddingAverage
from rejoinder.metrics.greedy_matching import GreedyMatching
from rejoinder.metrics.sentence_cosine import SentenceCosine
from rejoinder.metrics.vector_extrema import VectorExtrema
from rejoinder.models.encoder.factory import load_encoder
from rejoinder.scoring.run import Plan, run
from rejoinder.text.tokens import tokenize
from rejoinder.types import Item, Pair, Reference, Response
from tests import tiny_models

OVER_WORDS = (EmbeddingAverage, VectorExtrema, GreedyMatching)
BY_NAME = (
    "embedding_average",
    "vector_extrema",
    "greedy_matching",
    "sentence_cosine(encoder='minilm')",
    "bertscore(encoder='minilm')",
    "sentence_mover(encoder='minilm')",
    "sentence_mover(encoder='glove-6b-50d', units='both')",
)


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Vectors in the plane, whose angles can be seen."""
    folder = tmp_path_factory.mktemp("plane")
    words = {"east": (1, 0), "north": (0, 1), "west": (-2, 0), "up": (1, 1), "nowhere": (0, 0)}
    np.save(folder / "vectors.npy", np.array(list(words.values()), np.float32))
    (folder / "words.txt").write_text("\n".join(words) + "\n")
    return str(folder)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_models.write_word_vectors(tmp_path_factory.mktemp("tiny")))


def pair(reply: str, *references: str) -> Pair:
    return Pair(Item("i", (), tuple(map(Reference, references))), Response("r", "i", "s", reply))


def score(metric: Metric, reply: str, *references: str) -> float:
    return metric.score([pair(reply, *references)])[0]


def cosine(a: list[float], b: list[float]) -> float:
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    return dot / math.sqrt(sum(x * x for x in a)) / math.sqrt(sum(y * y for y in b))


def test_the_average_of_two_directions_lies_between_them(plane: str) -> None:
    average = EmbeddingAverage(plane)
    assert score(average, "east north", "up") == pytest.approx(1)
    assert score(average, "east", "up") == pytest.approx(math.sqrt(0.5))
    assert score(average, "east", "west") == pytest.approx(-1)
    assert score(average, "east west", "east") == pytest.approx(-1)  # (1, 0) + (-2, 0)


def test_an_extreme_is_the_value_farthest_from_zero(plane: str) -> None:
    extrema = VectorExtrema(plane)
    # (1, 0), (-2, 0), (0, 1): -2 is farther than 1 in the first number.
    assert score(extrema, "east west north", "up") == pytest.approx(cosine([-2, 1], [1, 1]))
    assert score(extrema, "east up", "up") == pytest.approx(1)
    assert score(extrema, "west", "west") == pytest.approx(1)


def test_greedy_matching_is_the_mean_of_both_directions(plane: str) -> None:
    greedy, half = GreedyMatching(plane), math.sqrt(0.5)
    # east finds east (1), north finds up (half); backwards east finds east (1), up finds either (half).
    assert score(greedy, "east north", "east up") == pytest.approx((1 + half) / 2)
    # From the reply 1 and 0, from the reference 1.
    assert score(greedy, "east north", "east") == pytest.approx((0.5 + 1) / 2)
    assert score(greedy, "east", "west") == pytest.approx(-1)


@pytest.mark.parametrize("cls", OVER_WORDS)
def test_unknown_words_are_skipped_and_case_and_punctuation_do_not_count(cls: type, plane: str) -> None:
    metric = cls(plane)
    assert score(metric, "East, xylophone nowhere: NORTH!", "up") == pytest.approx(score(metric, "east north", "up"))


@pytest.mark.parametrize("cls", OVER_WORDS)
def test_a_text_without_a_known_word_cannot_be_compared(cls: type, plane: str) -> None:
    metric = cls(plane)
    assert math.isnan(score(metric, "xylophone", "up"))
    assert math.isnan(score(metric, "up", "xylophone", "nowhere"))
    assert math.isnan(score(metric, "up"))
    assert score(metric, "up", "xylophone", "up") == pytest.approx(1)


@pytest.mark.parametrize("cls", OVER_WORDS)
def test_the_best_reference_counts(cls: type, plane: str) -> None:
    metric = cls(plane)
    alone = [score(metric, "east", reference) for reference in ("west", "up", "north")]
    assert score(metric, "east", "west", "up", "north") == max(alone) == alone[1]
    assert metric.match([pair("east", "west", "up", "north")]) == [1]


def directly(cls: type, reply: list[list[float]], reference: list[list[float]]) -> float:
    """The definitions once more, word by word and number by number."""
    if cls is GreedyMatching:
        there = sum(max(cosine(a, b) for b in reference) for a in reply) / len(reply)
        back = sum(max(cosine(a, b) for a in reply) for b in reference) / len(reference)
        return (there + back) / 2
    pooled = []
    for words in (reply, reference):
        columns = list(zip(*words, strict=True))
        pooled.append([sum(c) / len(c) if cls is EmbeddingAverage else max(c, key=abs) for c in columns])
    return cosine(*pooled)


@pytest.mark.parametrize("cls", OVER_WORDS)
def test_random_texts_score_as_the_definition_says(cls: type, tiny: str) -> None:
    r = random.Random(7)
    matrix = np.load(Path(tiny) / "vectors.npy").astype(float).tolist()
    vector = dict(zip((Path(tiny) / "words.txt").read_text().split("\n"), matrix, strict=False))
    vocabulary = [*tiny_models.WORDS, "unheard", "of"]
    texts = [" ".join(r.choices(vocabulary, k=r.randint(1, 12))) for _ in range(200)]
    pairs = [pair(reply, *r.sample(texts, r.randint(1, 4))) for reply in texts]

    def known(text: str) -> list[list[float]]:
        return [vector[word] for word in tokenize(text, "words") if word in vector]

    for one, found in zip(pairs, cls(tiny).score(pairs), strict=True):
        reply, references = known(one.response.text), [known(ref.text) for ref in one.item.references]
        if not reply or not any(references):
            assert math.isnan(found)
        else:
            expected = max(directly(cls, reply, reference) for reference in references if reference)
            assert found == pytest.approx(expected, abs=1e-6)


def test_sentence_cosine_is_the_cosine_of_the_encoders_vectors(tmp_path: Path) -> None:
    folder = str(tiny_models.write_exported_encoder(tmp_path / "tiny"))
    texts = ["the cat sat", "a dog ran fast", "no", "thanks, see you soon!"]
    vectors = load_encoder(folder, cache=False).encode(texts).astype(float).tolist()
    found = SentenceCosine(folder).score([pair(texts[0], *texts[1:]), pair(texts[1], texts[1]), pair(texts[2], " ")])
    assert found[0] == pytest.approx(max(cosine(vectors[0], v) for v in vectors[1:]), abs=1e-6)
    assert found[1] == pytest.approx(1)
    assert math.isnan(found[2])  # a blank reference says nothing


def test_the_signature_names_the_model_and_its_digest(plane: str, tiny: str, own_cache: Path) -> None:
    assert signature(EmbeddingAverage(plane)) != signature(EmbeddingAverage(tiny))
    tiny_models.install(own_cache)
    assert "|vectors:glove-6b-50d|model:glove-6b-50d " in signature(VectorExtrema())
    encoder = load_encoder("minilm")
    assert f"|encoder:minilm|model:minilm {encoder.digest[:12]}|" in signature(SentenceCosine("minilm"))


@pytest.mark.parametrize("spec", BY_NAME)
def test_the_catalogs_names_find_the_models_of_the_cache(spec: str, own_cache: Path) -> None:
    tiny_models.install(own_cache)
    found = parse(spec).score([pair("the cat sat on the mat", "a dog ran. very fast!", "the cat")])
    assert 0 < found[0] < 1


@pytest.mark.parametrize("spec", BY_NAME)
def test_an_absent_model_is_told_before_anything_is_written(spec: str, tmp_path: Path) -> None:
    metric = parse(spec)
    name = "glove-6b-50d" if "minilm" not in repr(metric) else "minilm"
    command = f"rejoinder models get {name}"
    with pytest.raises(RejoinderError, match=command):
        metric.score([pair("yes", "no")])
    chats = tmp_path / "chats.jsonl"
    chats.write_text(
        '{"kind": "item", "id": "i", "context": [{"text": "so?"}], "references": [{"text": "no"}]}\n'
        '{"kind": "response", "id": "r", "item": "i", "system": "s", "text": "yes"}\n'
    )
    with pytest.raises(RejoinderError, match=command):
        run([chats], Plan.of([spec]), folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_name_that_is_no_set_of_word_vectors_is_told() -> None:
    with pytest.raises(RejoinderError, match="not word vectors"):
        score(EmbeddingAverage("minilm"), "yes", "no")
    with pytest.raises(RejoinderError, match="glove"):
        score(EmbeddingAverage("glove"), "yes", "no")
