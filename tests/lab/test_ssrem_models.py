"""The parts of SSREM, RSREM and RUBER: gradients against finite differences, losses and vectors by hand, files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
from rejoinder_lab.training.speaker.checkpoint import ScorerState
from rejoinder_lab.training.speaker.evaluation import _held_out_pairs
from rejoinder_lab.training.speaker.places import sample_copies, sample_negatives, select_complete
from rejoinder_lab.training.speaker.steps import (
    MARGIN,
    TrainingPace,
    _adam_step,
    compute_scorer_loss,
    scorer_classification_loss,
    scorer_margin_loss,
    scorer_ranking_loss,
)
from rejoinder_lab.training.turn_vectors import open_turn_vectors
from tiny_talks import talks

from rejoinder.errors import InputError
from rejoinder.indexes.corpus import Corpus
from rejoinder.models.speaker.network import build_scorer_network, join_views
from rejoinder.models.speaker.vectors import WeightedVectors, centre_vectors, context_vectors, open_turn_encoder
from rejoinder.models.tensors import read_tensors, write_tensors
from rejoinder.stats.auc import auc


def batch(n: int = 7, views: int = 2, d: int = 5, k: int = 5) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(3)
    there = random.random((n, k)) < 0.7
    there[:, 0] = True
    return random.normal(size=(n, views * d)), random.normal(size=(n, k, d)), there


# Gradients and losses


@pytest.mark.parametrize("kind", ["ssrem", "ruber"])
@pytest.mark.parametrize("loss", ["classification", "ranking", "margin"])
def test_the_gradients_are_those_of_finite_differences(kind: Any, loss: Any) -> None:
    network = build_scorer_network(kind)
    contexts, replies, there = batch()
    random = np.random.default_rng(0)
    start = network.start(5, 2, 0.3, random)
    weights = {name: array.astype(np.float64) + 0.1 * random.normal(size=array.shape) for name, array in start.items()}

    def lost(changed: dict[str, Any]) -> float:
        return compute_scorer_loss(loss, network.scores(changed, contexts, replies).scores, there, 0.25).loss

    found = network.scores(weights, contexts, replies)
    slopes = compute_scorer_loss(loss, found.scores, there, 0.25).slopes
    gradient = network.gradient(weights, contexts, replies, found, slopes)
    assert gradient.keys() == weights.keys()
    for name, array in weights.items():
        assert gradient[name].shape == array.shape
        for place in np.ndindex(array.shape):
            step = np.zeros_like(array)
            step[place] = 1e-6
            near = (lost({**weights, name: array + step}) - lost({**weights, name: array - step})) / 2e-6
            assert gradient[name][place] == pytest.approx(near, abs=1e-7), (name, place)


@pytest.mark.parametrize("loss", ["classification", "ranking"])
def test_the_gradient_without_tanh_is_that_of_finite_differences(loss: Any) -> None:
    network = build_scorer_network("ssrem", raw=True)
    contexts, replies, there = batch(views=1)
    matrix = np.random.default_rng(0).normal(size=(5, 5))

    def lost(changed: Any) -> float:
        return compute_scorer_loss(
            loss, network.scores({"matrix": changed}, contexts, replies).scores, there, 1, True
        ).loss

    found = network.scores({"matrix": matrix}, contexts, replies)
    assert found.scores[2, 3] == pytest.approx(contexts[2] @ matrix @ replies[2, 3])
    slopes = compute_scorer_loss(loss, found.scores, there, 1, True).slopes
    gradient = network.gradient({"matrix": matrix}, contexts, replies, found, slopes)["matrix"]
    for place in np.ndindex(5, 5):
        step = np.zeros((5, 5))
        step[place] = 1e-6
        assert gradient[place] == pytest.approx((lost(matrix + step) - lost(matrix - step)) / 2e-6, abs=1e-7)


@pytest.mark.parametrize("kind", ["ssrem", "ruber"])
def test_the_paper_s_matrix_begins_at_random_with_the_deviation_of_its_size(kind: Any) -> None:
    matrices = [
        build_scorer_network(kind).start(64, 1, 1.0, np.random.default_rng(seed), normal=True)["matrix"]
        for seed in (0, 0, 1)
    ]
    assert (matrices[0] == matrices[1]).all()
    assert (matrices[0] != matrices[2]).any()
    assert matrices[0].std() == pytest.approx(1 / 8, rel=0.05)
    assert abs(matrices[0].mean()) < 0.01


def test_adam_with_a_clipped_gradient_by_hand() -> None:
    pace = TrainingPace(epochs=1, batch=1, rate=0.1, pull=0.0, patience=1, seed=0, clip=1.0, steady=True)
    start = {"matrix": np.zeros((2, 2), np.float32)}
    state = ScorerState.at_start({"matrix": start["matrix"].copy()})
    gradients = [np.array([[3.0, 0], [0, 4]]), np.array([[0.3, 0], [0, 0.4]])]
    mean = spread = expected = np.zeros((2, 2))
    for number, (gradient, norm) in enumerate(zip(gradients, (5, 1), strict=True), 1):
        _adam_step(state, {"matrix": gradient.astype(np.float32)}, start, pace, total=2)
        mean = 0.9 * mean + 0.1 * gradient / norm  # a norm of .5 is left as it is
        spread = 0.999 * spread + 0.001 * (gradient / norm) ** 2
        expected = expected - 0.1 * (mean / (1 - 0.9**number)) / (np.sqrt(spread / (1 - 0.999**number)) + 1e-8)
        assert state.weights["matrix"] == pytest.approx(expected, abs=1e-6)


def test_f_is_the_paper_s() -> None:
    contexts, replies, _ = batch(n=1, views=1, k=1)
    matrix = np.random.default_rng(1).normal(size=(5, 5))
    found = build_scorer_network("ssrem").scores({"matrix": matrix}, contexts, replies).scores[0, 0]
    assert found == pytest.approx(np.tanh(contexts[0] @ matrix @ replies[0, 0]))


def test_classification_by_hand_leaves_out_what_is_not_there() -> None:
    scores = np.array([[0.5, 0.1, -0.3], [0.2, 0.2, 0.9]])
    there = np.array([[True, True, True], [True, True, False]])
    first = -np.log(np.exp(0.5) / (np.exp(0.5) + np.exp(0.1) + np.exp(-0.3)))
    lost = scorer_classification_loss(scores, there, 1.0)
    assert lost.loss == pytest.approx((first + np.log(2)) / 2)
    assert lost.slopes[1, 2] == 0
    assert lost.slopes.sum(axis=1) == pytest.approx([0, 0])


def test_the_margin_by_hand() -> None:
    scores = np.array([[0.9, 0.1], [0.6, 0.5]])
    lost = scorer_margin_loss(scores, np.ones((2, 2), bool))
    assert lost.loss == pytest.approx((0 + (MARGIN - 0.1)) / 2)
    assert lost.slopes == pytest.approx(np.array([[0, 0], [-0.5, 0.5]]))


def test_ranking_by_hand() -> None:
    lost = scorer_ranking_loss(np.array([[0.5, 0.45, 0.2]]), np.ones((1, 3), bool), step=0.1)
    # The first two are .05 apart instead of .1; the others are far enough apart.
    assert lost.loss == pytest.approx(0.05 / 3)
    assert scorer_ranking_loss(np.array([[0.5, 0.45, 0.2]]), np.array([[True, False, True]]), step=0.1).loss == 0


def test_ranking_by_hand_without_tanh_asks_for_whole_steps() -> None:
    scores, there = np.array([[2.0, 1.5, 0.0]]), np.ones((1, 3), bool)
    # The first two are .5 apart instead of 1; the first and the last 2 apart, as they must be.
    assert compute_scorer_loss("ranking", scores, there, 1.0, raw=True).loss == pytest.approx(0.5 / 3)


def test_auc_is_the_share_of_pairs_won() -> None:
    random = np.random.default_rng(0)
    true, other = np.round(random.normal(0.5, 1, 40), 1), np.round(random.normal(0, 1, 30), 1)
    by_hand = np.mean([(a > b) + 0.5 * (a == b) for a in true for b in other])
    assert auc(true, other) == pytest.approx(by_hand)


# Vectors


def test_without_a_mean_vectors_stay_as_they_are() -> None:
    said = WeightedVectors(np.array([[4, 5]], np.float32), np.array([2], np.float32))
    blank = WeightedVectors(np.array([[7, 7]], np.float32), np.array([0], np.float32))
    assert join_views([said, blank], None).tolist() == [[4, 5, 0, 0]]
    assert centre_vectors(said.vectors, None).tolist() == [[4, 5]]


def test_vectors_are_centred_and_of_length_one_but_for_the_mean_itself() -> None:
    mean = np.array([1.0, 1.0])
    assert centre_vectors(np.array([[4.0, 5.0], [1.0, 1.0]]), mean) == pytest.approx(np.array([[0.6, 0.8], [0, 0]]))
    said = WeightedVectors(np.array([[4, 5]], np.float32), np.array([1], np.float32))
    blank = WeightedVectors(np.array([[0, 0]], np.float32), np.array([0], np.float32))
    assert join_views([said, blank], mean)[0] == pytest.approx([0.6, 0.8, 0, 0])


def test_a_context_by_words_is_the_mean_over_all_of_its_words(own_cache: Path) -> None:
    tiny_models.install(own_cache)
    opened = open_turn_encoder("glove-6b-50d")
    first, second, both = opened.encode_turns(["the cat sat", "a dog zzzzunknown", "the cat sat a dog"]).vectors
    newest = [opened.encode_turns(["a dog zzzzunknown"]), opened.encode_turns(["the cat sat"])]
    assert context_vectors(newest, 1.0).vectors[0] == pytest.approx(both, abs=1e-6)
    halved = (2 * second + 0.5 * 3 * first) / 3.5
    assert context_vectors(newest, 0.5).vectors[0] == pytest.approx(halved, abs=1e-6)
    assert opened.encode_turns(["zzzzunknown", ""]).weights.tolist() == [0, 0]


def test_a_blank_utterance_weighs_nothing() -> None:
    said = WeightedVectors(np.ones((1, 2), np.float32), np.array([1], np.float32))
    blank = WeightedVectors(np.full((1, 2), 9, np.float32), np.array([0], np.float32))
    assert context_vectors([blank, said], 0.5).vectors[0] == pytest.approx([1, 1])
    assert context_vectors([blank, blank], 0.5).weights[0] == 0


def test_the_vectors_of_turns_are_computed_once_and_found_again(own_cache: Path) -> None:
    tiny_models.install(own_cache)
    corpus = Corpus.of(talks(20))
    opened = open_turn_encoder("minilm")
    told: list[str] = []
    first = open_turn_vectors(corpus, opened, told.append)
    assert told
    again = open_turn_vectors(corpus, opened, lambda line: pytest.fail("computed again"))
    turns = np.arange(corpus.n_turns)
    assert (again.replies(turns).vectors == first.replies(turns).vectors).all()
    direct = opened.encode_turns(corpus.texts(turns)).vectors
    assert first.replies(turns).vectors == pytest.approx(direct, abs=1e-6)
    assert len(first.matrix) == len(set(corpus.texts(turns)))
    context = first.contexts(np.array([4]), 0.7, 3).vectors[0]
    weights = np.array([1, 0.7, 0.49])
    assert context == pytest.approx(weights @ direct[[3, 2, 1]] / weights.sum(), abs=1e-6)


# Negatives


def test_complete_places_have_a_reply_from_every_set() -> None:
    corpus = Corpus.of(talks(60))
    turns = corpus.moments()
    complete = select_complete(corpus, turns)
    assert 0 < len(complete) < len(turns)
    for seed in range(3):
        assert (sample_negatives(corpus, "ssrem", complete, seed) >= 0).all()
    left_out = np.setdiff1d(turns, complete)
    assert (sample_negatives(corpus, "ssrem", left_out, 0) < 0).any(axis=1).all()


def test_the_range_of_g_is_that_of_other_replies_than_the_true_one() -> None:
    corpus = Corpus.of(talks(30))
    pairs = _held_out_pairs(corpus, corpus.moments()[:50], 0)
    assert len(pairs) > 100
    assert not [pair for pair in pairs if pair.response.text == pair.item.references[0].text]


@pytest.mark.parametrize(("kind", "count"), [("ssrem", 4), ("rsrem", 4), ("ruber", 1)])
def test_no_negative_stands_in_the_context_or_says_what_it_says(kind: Any, count: int) -> None:
    corpus = Corpus.of(talks(60))
    turns = corpus.moments()
    for seed in range(3):
        drawn = sample_negatives(corpus, kind, turns, seed)
        assert drawn.shape == (len(turns), count)
        for turn, row in zip(turns.tolist(), drawn.tolist(), strict=True):
            start = int(corpus.starts[corpus.dialogue[turn]])
            told = {corpus.text(t) for t in range(start, turn + 1)}
            assert not told & {corpus.text(t) for t in row if t >= 0}
            assert corpus.speaker[row[-1]] != corpus.speaker[turn]
            if kind == "ssrem":
                assert all(corpus.speaker[t] == corpus.speaker[turn] for t in row[:3] if t >= 0)
    assert not (sample_negatives(corpus, kind, turns, 0) == sample_negatives(corpus, kind, turns, 1)).all()


def test_a_copy_is_a_turn_of_the_context() -> None:
    corpus = Corpus.of(talks(40))
    turns = corpus.moments()
    drawn = sample_copies(corpus, turns, 0, most=3)
    assert (drawn < turns).all()
    assert (drawn >= np.maximum(turns - 3, corpus.starts[corpus.dialogue[turns]])).all()


# Files


def test_tensors_are_read_back_and_by_the_safetensors_package(tmp_path: Path) -> None:
    arrays: dict[str, Any] = {"b": np.arange(6, dtype=np.float16).reshape(2, 3), "a": np.array([1.5, 2.5], np.float32)}
    path = tmp_path / "w.safetensors"
    write_tensors(path, arrays)
    back = read_tensors(path)
    assert back.keys() == arrays.keys()
    assert all((back[name] == array).all() and back[name].dtype == array.dtype for name, array in arrays.items())
    numpy_of = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    other = numpy_of.load_file(path)
    assert all((other[name] == array).all() for name, array in arrays.items())


@pytest.mark.parametrize("raw", [b"", b"\x05\x00\x00\x00\x00\x00\x00\x00{no}", b"\xff" * 40])
def test_a_damaged_file_of_tensors_says_so(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "w.safetensors"
    path.write_bytes(raw)
    with pytest.raises(InputError, match="is not a valid safetensors file"):
        read_tensors(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_tensors(tmp_path / "none")
