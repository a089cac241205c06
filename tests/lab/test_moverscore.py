"""MoverScore: the rarity of words, hand-computed scores, and the whole of it against an independent computation."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import tiny_models
from rejoinder_lab.metrics.moverscore import Moverscore, token_weight, weigh_tokens
from scipy.optimize import linear_sum_assignment

import rejoinder
from rejoinder.errors import SpecError
from rejoinder.models.base import TokenVectors
from rejoinder.models.encoder.factory import load_encoder
from rejoinder.text.rarity import split_runs, word_rarity
from rejoinder.types import Item, Pair, Reference, Response


@pytest.fixture(autouse=True)
def tiny_minilm(own_cache: Path) -> None:
    tiny_models.install(own_cache)


def score(reply: str, *references: str, n: int = 1) -> float:
    item = Item("i", (), tuple(map(Reference, references)))
    return Moverscore("minilm", n).score([Pair(item, Response("r", "i", "s", reply))])[0]


def vectors_of(text: str) -> dict[str, np.ndarray]:
    [tokens] = load_encoder("minilm", cache=False).encode_tokens([text])
    return {t: v / np.linalg.norm(v) for t, v in zip(tokens.tokens, tokens.vectors.astype(float), strict=True)}


def by_grains(reply: str, reference: str) -> float:
    """The same score from grains of weight: each token as many thousandths as it weighs, grain to grain."""
    sides = []
    for text in (reply, reference):
        vectors = vectors_of(text)
        weights = np.array([word_rarity(word) for word in vectors])
        # The last grains go to the tokens that rounding down robbed most.
        exact = 1000 * weights / weights.sum()
        grains = exact.astype(int)
        grains[np.argsort(grains - exact)[: 1000 - grains.sum()]] += 1
        sides.append(np.repeat(np.array(list(vectors.values())), grains, axis=0))
    costs = np.linalg.norm(sides[0][:, None] - sides[1][None], axis=2)
    return 1 - float(costs[linear_sum_assignment(costs)].mean())


def test_rare_words_weigh_more_and_unknown_ones_as_much_as_the_rarest() -> None:
    assert 0 < word_rarity("the") < word_rarity("train") < word_rarity("lunatic") <= word_rarity("qwxyzzy")
    assert split_runs("Don't_go, 7!") == ["don", "t", "go", "7"]


def test_punctuation_and_pieces_within_a_word_weigh_nothing() -> None:
    assert token_weight("?") == token_weight("##ing") == 0
    assert token_weight("train") == word_rarity("train")


def test_one_token_to_one_is_the_distance_of_their_vectors() -> None:
    [cat], [dog] = vectors_of("cat").values(), vectors_of("dog").values()
    assert score("cat", "dog") == pytest.approx(1 - float(np.linalg.norm(cat - dog)), abs=1e-5)
    assert score("cat", "cat") == pytest.approx(1, abs=1e-5)


def test_the_least_work_is_that_of_another_solver() -> None:
    for reply, reference in [("the cat sat", "a dog ran very fast"), ("yes we can help you", "maybe the train leaves")]:
        assert score(reply, reference) == pytest.approx(by_grains(reply, reference), abs=2e-3)


def test_the_best_reference_counts() -> None:
    assert score("the cat sat", "what", "the cat sat") == pytest.approx(1, abs=1e-5)
    assert math.isnan(score("the cat sat"))


def test_pairs_of_tokens_have_the_weighted_mean_as_their_vector() -> None:
    vectors = np.array([[2, 0], [0, 1], [0, 3]], np.float32)
    parts = weigh_tokens(TokenVectors(("cat", "##s", "sat"), vectors), n=2)
    first, second = word_rarity("cat"), word_rarity("sat")
    assert parts.weights.tolist() == pytest.approx([first + second])
    assert parts.vectors[0].tolist() == pytest.approx([first / (first + second), second / (first + second)])


def test_a_text_of_punctuation_alone_is_compared_as_it_is() -> None:
    parts = weigh_tokens(TokenVectors(("?", "!"), np.eye(2, dtype=np.float32)), n=1)
    assert parts.weights.tolist() == [1, 1]


def test_longer_grams_are_refused() -> None:
    with pytest.raises(SpecError, match="n must be"):
        rejoinder.parse("moverscore(n=3)")
