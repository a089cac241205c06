"""Sentence mover's similarity: optimal transport against two other solvers, hand-computed similarities, splitting."""

from __future__ import annotations

import itertools
import math
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment, linprog

from rejoinder.errors import SpecError
from rejoinder.metric import parse
from rejoinder.metrics.sentence_mover import SentenceMover, distance_lower_bound, mover_distance
from rejoinder.models.encoder.factory import load_encoder
from rejoinder.text.sentences import split_sentences
from rejoinder.types import Item, Pair, Reference, Response
from tests import tiny_models

Weights = list[int]


def pair(reply: str, *references: str) -> Pair:
    return Pair(Item("i", (), tuple(map(Reference, references))), Response("r", "i", "s", reply))


def score(metric: SentenceMover, reply: str, *references: str) -> float:
    return metric.score([pair(reply, *references)])[0]


def by_program(first: Weights, second: Weights, distances: np.ndarray) -> float:
    """The linear program as it is written: what leaves each part, what arrives at each, at the least cost."""
    n, m = distances.shape
    rows, sums = [], []
    for i in range(n):
        row = np.zeros((n, m))
        row[i] = 1
        rows.append(row.ravel())
        sums.append(first[i] / sum(first))
    for j in range(m):
        row = np.zeros((n, m))
        row[:, j] = 1
        rows.append(row.ravel())
        sums.append(second[j] / sum(second))
    found = linprog(distances.ravel(), A_eq=np.array(rows), b_eq=sums, method="highs")
    assert found.status == 0
    return float(found.fun)


def by_assignment(first: Weights, second: Weights, distances: np.ndarray) -> float:
    """The same in grains: every part as many grains as make both sides equal, grain to grain."""
    left = np.repeat(np.arange(len(first)), [w * sum(second) for w in first])
    right = np.repeat(np.arange(len(second)), [w * sum(first) for w in second])
    costs = distances[np.ix_(left, right)]
    return float(costs[linear_sum_assignment(costs)].sum()) / len(left)


@st.composite
def problems(draw: st.DrawFn) -> tuple[Weights, Weights, np.ndarray]:
    weights = st.lists(st.integers(1, 5), min_size=1, max_size=5)
    first, second = draw(weights), draw(weights)
    seed = draw(st.integers(0, 10**6))
    return first, second, np.random.default_rng(seed).integers(0, 9, (len(first), len(second))) / 4


@settings(max_examples=60, deadline=None, derandomize=True)
@given(problems())
def test_the_least_work_is_that_of_two_other_solvers(problem: tuple[Weights, Weights, np.ndarray]) -> None:
    first, second, distances = problem
    found = mover_distance(np.array(first, float), np.array(second, float), distances)
    assert found == pytest.approx(by_program(first, second, distances), abs=1e-9)
    assert found == pytest.approx(by_assignment(first, second, distances), abs=1e-9)
    assert distance_lower_bound(np.array(first, float), np.array(second, float), distances) <= found + 1e-12
    back = mover_distance(np.array(second, float), np.array(first, float), distances.T)
    assert found == pytest.approx(back, abs=1e-9)


def test_a_larger_problem_is_solved_too() -> None:
    random = np.random.default_rng(3)
    first, second = random.integers(1, 4, 12).tolist(), random.integers(1, 4, 9).tolist()
    distances = random.random((12, 9))
    found = mover_distance(np.array(first, float), np.array(second, float), distances)
    assert found == pytest.approx(by_program(first, second, distances), abs=1e-9)


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Words at places whose distances can be seen."""
    folder = tmp_path_factory.mktemp("plane")
    words = {"home": (0, 1), "shop": (0, 4), "lake": (4, 1), "hill": (4, 4)}
    np.save(folder / "vectors.npy", np.array(list(words.values()), np.float32))
    (folder / "words.txt").write_text("\n".join(words) + "\n")
    return str(folder)


def test_one_sentence_to_one_is_their_distance(plane: str) -> None:
    mover = SentenceMover(plane)
    assert score(mover, "home", "shop") == pytest.approx(math.exp(-3))
    assert score(mover, "home", "hill") == pytest.approx(math.exp(-5))
    assert score(mover, "home shop", "lake hill") == pytest.approx(math.exp(-4))  # the means (0, 2.5) and (4, 2.5)
    assert score(mover, "Home!", "home.") == 1.0


def test_a_sentence_weighs_as_much_as_it_has_words(plane: str) -> None:
    mover = SentenceMover(plane)
    # Three quarters stay at home, one quarter goes to the shop.
    assert score(mover, "home home home. shop.", "home") == pytest.approx(math.exp(-3 / 4))
    # Against one half and one half, one quarter has to go.
    assert score(mover, "home home home. shop.", "home. shop.") == pytest.approx(math.exp(-3 / 4))
    # An unknown word weighs nothing, and a sentence of unknown words is not there.
    assert score(mover, "home xylophone. shop. No!", "home. shop.") == pytest.approx(1)


def test_words_are_moved_beside_the_sentences(plane: str) -> None:
    both = SentenceMover(plane, units="both")
    # One of two words and one of the two weights of the sentence: its mean (0, 2.5) goes 1.5, shop goes 3.
    assert score(both, "home shop", "home") == pytest.approx(math.exp(-(2 * 1.5 + 0 + 3) / 4))
    # The text home, shop has the sentence (0, 2.5) twice and two words; all go 4 to the right.
    assert score(both, "home shop", "lake hill") == pytest.approx(math.exp(-4))


def test_the_order_of_sentences_does_not_count_and_the_best_reference_does(plane: str) -> None:
    mover = SentenceMover(plane)
    assert score(mover, "home. hill. lake.", "lake. home. hill.") == pytest.approx(1)
    assert score(mover, "home", "hill", "shop", "lake") == pytest.approx(math.exp(-3))


def test_a_text_without_a_known_word_cannot_be_compared(plane: str) -> None:
    mover = SentenceMover(plane)
    assert math.isnan(score(mover, "xylophone", "home"))
    assert math.isnan(score(mover, "home", "xylophone", "..."))
    assert math.isnan(score(mover, "home"))
    assert score(mover, "home", "xylophone", "home") == 1.0


def test_random_texts_score_as_the_linear_program_over_the_encoders_vectors(tmp_path: Path) -> None:
    folder = str(tiny_models.write_exported_encoder(tmp_path / "tiny"))
    encoder, r = load_encoder(folder, cache=False), random.Random(5)
    said = [" ".join(r.choices(tiny_models.WORDS, k=r.randint(1, 7))) + r.choice(".!?") for _ in range(60)]
    texts = [r.sample(said, r.randint(1, 4)) for _ in range(40)]
    found = SentenceMover(folder).score([pair(" ".join(a), " ".join(b)) for a, b in itertools.pairwise(texts)])
    for (a, b), value in zip(itertools.pairwise(texts), found, strict=True):
        x, y = encoder.encode(a).astype(float), encoder.encode(b).astype(float)
        distances = np.linalg.norm(x[:, None] - y[None], axis=2)
        work = by_program([len(t.split()) for t in a], [len(t.split()) for t in b], distances)
        assert value == pytest.approx(math.exp(-work), abs=1e-6)


def test_the_best_of_many_references_is_the_best_of_each_alone(tmp_path: Path) -> None:
    mover = SentenceMover(str(tiny_models.write_word_vectors(tmp_path / "tiny")), "both")
    r = random.Random(2)
    texts = [" ".join(r.choices([*tiny_models.WORDS, ".", "."], k=r.randint(3, 12))) for _ in range(30)]
    for reply in texts[:8]:
        alone = [score(mover, reply, reference) for reference in texts[8:]]
        assert score(mover, reply, *texts[8:]) == pytest.approx(max(alone), abs=1e-12)


def test_a_reply_of_signs_has_a_sentence_vector(tmp_path: Path) -> None:
    mover = SentenceMover(str(tiny_models.write_exported_encoder(tmp_path / "tiny")))
    assert score(mover, "?!", "?!") == pytest.approx(1)
    assert math.isnan(score(mover, "yes", "  "))


def test_words_need_word_vectors() -> None:
    with pytest.raises(SpecError, match="units='both' needs word vectors, not 'aptness'"):
        parse("sentence_mover(units='both')")
    with pytest.raises(SpecError, match="units must be one of 'sentences', 'both'"):
        SentenceMover(units="words")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Yes. No!  Why? Because… of it.", ("Yes.", "No!", "Why?", "Because…", "of it.")),
        ("It costs 3.50 at example.com, ok?", ("It costs 3.50 at example.com, ok?",)),
        ('He said "stop." (Twice.) I did not.', ('He said "stop."', "(Twice.)", "I did not.")),
        ("one line\nanother\n\n  third ", ("one line", "another", "third")),
        ("What?! Really... yes", ("What?!", "Really...", "yes")),
        ("そうですか。はい！？いいえ", ("そうですか。", "はい！？", "いいえ")),
        ("   ", ()),
        ("?", ("?",)),
    ],
)
def test_a_text_is_cut_into_sentences(text: str, parts: tuple[str, ...]) -> None:
    assert split_sentences(text) == parts
