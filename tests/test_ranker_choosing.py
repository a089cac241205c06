"""Which statements are read for a candidate: weights, likeness and the choice, by hand."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from rejoinder.models.ranker.settings import StatementReadingRule
from rejoinder.models.ranker.statement_choice import WordTable, choose_statements_to_read, word_similarity, word_weights


@pytest.fixture
def words(tmp_path: Path) -> WordTable:
    """Four words in a plane: right, up, in between (.6, .8), and left."""
    rows = np.array([[10, 0], [0, 10], [6, 8], [-50, 0]], np.int8)
    scales = np.array([0.1, 0.1, 0.2, 0.5], "<f4")
    (tmp_path / "words").write_bytes(rows.tobytes() + scales.tobytes())
    return WordTable(tmp_path / "words", 2)


def test_vectors_are_rows_times_their_scale(words: WordTable) -> None:
    assert words.count == 4
    assert words.vectors(np.array([[2, 3]])).tolist() == [[[pytest.approx(1.2), pytest.approx(1.6)], [-25, 0]]]
    assert words.directions([2, 3]) == pytest.approx(np.array([[0.6, 0.8], [-1, 0]]))


def test_a_rare_word_counts_the_square_of_the_logarithm_of_how_rare_it_is() -> None:
    found = word_weights([(0, 1), (0,), (0, 2, 2)], 4)
    # Three texts: word 0 stands in all, 1 and 2 in one, 3 in none.
    assert found == pytest.approx([0, math.log(4 / 2) ** 2, math.log(4 / 2) ** 2, math.log(4) ** 2])


def test_likeness_is_the_weighted_mean_of_cubed_cosines_with_the_nearest_word(words: WordTable) -> None:
    weights = np.array([1, 2, 4, 8], np.float32)
    found = word_similarity([(0, 1), (3,)], [(2,), (0, 2)], words, weights)
    # Statement 0 with candidate 0: cosines .6 and .8, weights 1 and 2; with candidate 1 the first is 1.
    # Statement 1 points away from every word of either: nothing is taken off for it.
    expected = [[(0.6**3 + 2 * 0.8**3) / 3, 0], [(1 + 2 * 0.8**3) / 3, 0]]
    assert found == pytest.approx(np.array(expected), abs=1e-6)


def test_texts_without_words_are_like_nothing(words: WordTable) -> None:
    weights = np.array([1, 2, 4, 8], np.float32)
    assert word_similarity([(), (0,)], [(0,), ()], words, weights).tolist() == [[0, 1], [0, 0]]
    assert word_similarity([], [(0,)], words, weights).shape == (1, 0)
    assert word_similarity([(0,)], [], words, weights).shape == (0, 1)
    assert word_similarity([()], [()], words, weights).tolist() == [[0]]
    assert word_similarity([(0,)], [(0,)], words, np.zeros(4, np.float32)).tolist() == [[0]], (
        "words that all texts have"
    )


def test_of_a_long_situation_the_likeliest_few_are_read_in_their_order() -> None:
    choice = StatementReadingRule(whole=3, most=2, likeness=4.0)
    odds = np.array([2.0, -1.0, 0.0, 1.0], np.float32)
    assert choose_statements_to_read(odds, np.zeros(4, np.float32), choice) == (0, 3)
    # .8 of likeness lifts statement 1 from -1 to 2.2, above the 1 of statement 3 and the 2 of statement 0.
    assert choose_statements_to_read(odds, np.array([0, 0.8, 0, 0], np.float32), choice) == (0, 1)


def test_a_short_situation_is_read_whole_but_for_blank_statements() -> None:
    odds = np.array([-30.0, -np.inf, 5.0], np.float32)
    assert choose_statements_to_read(odds, np.zeros(3, np.float32), StatementReadingRule(whole=3, most=1)) == (0, 2)
    assert choose_statements_to_read(odds[:0], odds[:0], StatementReadingRule()) == ()
    assert (
        choose_statements_to_read(
            np.full(4, -np.inf, np.float32), np.zeros(4, np.float32), StatementReadingRule(whole=3)
        )
        == ()
    )


def test_of_equal_statements_the_first_are_read() -> None:
    assert choose_statements_to_read(np.zeros(9, np.float32), np.zeros(9, np.float32), StatementReadingRule()) == (
        0,
        1,
        2,
    )
