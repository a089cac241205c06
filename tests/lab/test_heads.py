"""Heads over frozen vectors: layers against torch, folders that do not match; BERT-RUBER, USL-H and ADEM."""

from __future__ import annotations

import math
import random
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import tiny_heads
import tiny_models
from rejoinder_lab.metrics.usl_h import combine_parts
from rejoinder_lab.models.head import model as heads
from rejoinder_lab.models.head.bilinear import bilinear_form
from rejoinder_lab.models.head.pairs import DECAY, encode_contexts, join_features
from rejoinder_lab.training.heads.adem import fit_ratings, form_features, select_rated, to_matrix, train_adem
from rejoinder_lab.training.heads.bert_ruber import label_pairs, train_bert_ruber
from rejoinder_lab.training.heads.layers import cross_entropy, train_layers
from rejoinder_lab.training.heads.usl_h import damage_words, train_usl_h
from rejoinder_lab.training.recipes import AdemRecipe, HeadRecipe, UslHRecipe
from scipy.optimize import minimize

import rejoinder
from rejoinder.data.collection import Collection
from rejoinder.errors import InputError, SpecError
from rejoinder.metric import Metric
from rejoinder.models.encoder.factory import load_encoder
from rejoinder.types import Item, Pair, Rating, Reference, Response, Turn

RECIPE = HeadRecipe(hidden=(8,), epochs=15, batch=16, rate=1e-2)


@pytest.fixture(autouse=True)
def tiny_minilm(own_cache: Path) -> None:
    tiny_models.install(own_cache)


def pair(context: list[str], reply: str, *references: str) -> Pair:
    turns = tuple(Turn(text, "AB"[i % 2]) for i, text in enumerate(context))
    return Pair(Item("i", turns, tuple(map(Reference, references))), Response("r", "i", "s", reply))


def train(target: Path) -> heads.HeadCard:
    return train_bert_ruber(tiny_heads.make_data(RECIPE), target, RECIPE, lambda line: None)


def mean_scores(metric: Metric, references: bool = False) -> tuple[float, float]:
    """The mean score of replies that stay with the topic, and of those that do not."""
    good, bad = [], []
    for i, topic in enumerate(tiny_heads.TOPICS):
        known = topic[:1] if references else ()
        good += [pair([topic[0], topic[1]], text, *known) for text in topic[2:]]
        bad += [pair([topic[0], topic[1]], text, *known) for text in tiny_heads.TOPICS[i - 1][2:]]
    return float(np.mean(metric.score(good))), float(np.mean(metric.score(bad)))


# Layers


def test_layers_learn_what_no_single_layer_can() -> None:
    rows = np.random.default_rng(0).normal(size=(400, 2)).astype(np.float32)
    labels = (rows[:, 0] * rows[:, 1] > 0).astype(np.float32)
    recipe = HeadRecipe(hidden=(16,), epochs=60, batch=32, rate=2e-2, decay=0, patience=60)
    weights = train_layers(lambda epoch: (rows, labels), (rows, labels), recipe, lambda line: None)
    assert np.mean((heads.apply_layers(weights, rows) > 0) == labels) > 0.95


def test_a_step_follows_the_gradient_that_torch_computes() -> None:
    torch = pytest.importorskip("torch")
    draw = np.random.default_rng(1)
    rows, labels = draw.normal(size=(20, 3)).astype(np.float32), (draw.random(20) > 0.5).astype(np.float32)
    recipe = HeadRecipe(hidden=(4,), epochs=1, batch=20, rate=1e-2, decay=0)
    start = train_layers(lambda epoch: (rows, labels), (rows, labels), replace(recipe, rate=0.0), lambda line: None)
    tensors = {name: torch.tensor(array, requires_grad=True) for name, array in start.items()}
    hidden = torch.tanh(torch.tensor(rows) @ tensors["0.matrix"] + tensors["0.bias"])
    odds = (hidden @ tensors["1.matrix"] + tensors["1.bias"])[:, 0]
    loss = torch.nn.functional.binary_cross_entropy_with_logits(odds, torch.tensor(labels))
    assert cross_entropy(start, rows, labels) == pytest.approx(loss.item(), abs=1e-6)
    optimizer = torch.optim.Adam(tensors.values(), lr=1e-2)
    loss.backward()
    optimizer.step()
    done = train_layers(lambda epoch: (rows, labels), (rows, labels), recipe, lambda line: None)
    for name, array in done.items():
        assert array == pytest.approx(tensors[name].detach().numpy(), abs=1e-5), name


# Rows


def test_a_context_is_the_mean_of_its_turns_the_last_one_first() -> None:
    encoder = load_encoder("minilm")
    first, last = encoder.encode(["yes", "no"])
    [joined] = encode_contexts(encoder, [["yes", " ", "no"]])
    assert joined == pytest.approx((DECAY * first + last) / (1 + DECAY), abs=1e-6)
    assert encode_contexts(encoder, [["yes"], []])[1] == pytest.approx(0)


def test_pairs_have_their_own_reply_first_and_never_as_the_other() -> None:
    vectors = np.eye(5, dtype=np.float32)
    rows, labels = label_pairs(vectors, vectors, np.random.default_rng(0))
    assert labels.tolist() == [1] * 5 + [0] * 5
    assert rows[:5] == pytest.approx(join_features(vectors, vectors))
    assert not (rows[5:, 5:10] * vectors).any()


# BERT-RUBER


def test_training_writes_a_folder_that_tells_true_replies_from_others(tmp_path: Path) -> None:
    card = train(tmp_path / "head")
    assert card.about["measured"]["true_above_random"] > 0.65  # one in four others has the same topic
    assert card.about["licence"] == "not known"
    again = train(tmp_path / "again")
    assert again == card  # the same bytes
    metric = rejoinder.parse(f"bert_ruber(folder={str(tmp_path / 'head')!r}, part='unreferenced')")
    assert metric.needs == {"context"}
    good, bad = mean_scores(metric)
    assert good > bad


def test_both_parts_are_averaged(tmp_path: Path) -> None:
    train(tmp_path / "head")
    given = [pair(["what train"], "the fast train", "the train leaves at nine", "my cat sat on the mat")]
    part = {
        name: rejoinder.parse(f"bert_ruber(folder={str(tmp_path / 'head')!r}, part={name!r})").score(given)[0]
        for name in ("both", "unreferenced", "referenced")
    }
    assert part["both"] == pytest.approx((part["unreferenced"] + part["referenced"]) / 2)
    cosine = rejoinder.parse("sentence_cosine(encoder='minilm')").score(given)[0]
    assert part["referenced"] == pytest.approx(max(0, cosine), abs=1e-6)
    metric = rejoinder.parse(f"bert_ruber(folder={str(tmp_path / 'head')!r})")
    assert all(map(math.isnan, metric.score([pair([], "yes", "no"), pair(["yes"], "no")])))


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(SpecError, match="part must be"):
        rejoinder.parse("bert_ruber(part='third')")


# Folders


def test_a_folder_that_does_not_match_says_what_is_wrong(tmp_path: Path) -> None:
    folder = tmp_path / "head"
    with pytest.raises(InputError, match=r"cannot be read .* rejoinder train bert_ruber -o FOLDER"):
        heads.open_head("bert_ruber", folder)
    card = train(folder)
    with pytest.raises(InputError, match="is not the card of usl_h"):
        heads.open_head("usl_h", folder)
    (folder / heads.TENSORS).write_bytes((folder / heads.TENSORS).read_bytes()[:-2] + b"xx")
    with pytest.raises(InputError, match="does not match its card"):
        heads.open_head("bert_ruber", folder)
    weights = {name: np.zeros(2) for name in ("0.matrix", "0.bias")}
    heads.write_head(folder, replace(card, features="0" * 64), weights)
    with pytest.raises(InputError, match="was trained on different vectors"):
        heads.open_head("bert_ruber", folder)


# USL-H


def test_a_part_counts_only_as_far_as_those_before_it() -> None:
    u, s, specific = np.array([1, 1, 1, 0.0, 0.5]), np.array([1, 1, 0, 1, 0.5]), np.array([1, 0, 1, 1, 0.5])
    # (0.5 + 0.5 * 0.5 + 0.5 * 0.5 * 0.5) / 3 in the last.
    assert combine_parts(u, s, specific) == pytest.approx([1, 2 / 3, 1 / 3, 0, 0.875 / 3])


def test_damaged_words_are_other_words_or_in_another_order() -> None:
    text = "the fast train leaves at nine"
    draw = np.random.default_rng(0)
    damaged = [damage_words(text, draw) for _ in range(60)]
    assert text not in damaged
    kinds = {(len(one.split()) > 6) - (len(one.split()) < 6) for one in damaged}
    assert kinds == {-1, 0, 1}  # dropped, shuffled, repeated
    assert all(set(one.split()) <= set(text.split()) for one in damaged)
    assert damage_words("ha ha ha ha", np.random.default_rng(1))


def test_usl_h_is_its_parts_combined(tmp_path: Path) -> None:
    folder = tmp_path / "usl_h"
    recipe = UslHRecipe(**asdict(RECIPE))
    card = train_usl_h(tiny_heads.make_data(recipe), folder, recipe, lambda line: None)
    low, high = card.settings["rarity"]
    assert 0 < low < high
    given = [pair(["what train"], "the fast train"), pair(["what train"], "train the the train"), pair([], "yes")]
    part = {
        name: rejoinder.parse(f"usl_h(folder={str(folder)!r}, sensible='context_overlap', part={name!r})").score(given)
        for name in ("all", "understandable", "sensible", "specific")
    }
    for i in range(2):
        u, s, specific = (part[name][i] for name in ("understandable", "sensible", "specific"))
        assert part["all"][i] == pytest.approx((u + u * s + u * s * specific) / 3)
    assert math.isnan(part["all"][2])
    with pytest.raises(SpecError, match="sensible must be"):
        rejoinder.parse("usl_h(sensible='bleu')")


# ADEM


def rated(n: int = 200, references: bool = False) -> Collection:
    """Replies that are rated 5 if they stay with the topic, else 1."""
    data = Collection()
    draw = random.Random(0)
    for i in range(n):
        topic, other = draw.sample(tiny_heads.TOPICS, 2)
        good = draw.random() < 0.5
        known = (Reference(draw.choice(topic)),) if references else ()
        item = Item(f"i{i}", (Turn(draw.choice(topic), "A"),), known)
        data.add(item)
        data.add(Response(f"r{i}", item.id, "s", draw.choice(topic if good else other)))
        data.add(Rating("a", "fit", 5.0 if good else 1.0, f"r{i}"))
    return data


def test_the_matrices_are_those_of_an_ordinary_ridge_regression() -> None:
    draw = np.random.default_rng(0)
    left, right, ratings = draw.normal(size=(80, 3)), draw.normal(size=(80, 3)), draw.normal(size=80)
    rows = form_features(left, right)
    fitted = fit_ratings(rows, ratings, [7.0], 1)
    train = np.arange(80) // 8 % 10 > 0

    def loss(flat: np.ndarray) -> float:
        matrix = flat[0] * np.eye(3) + flat[1:].reshape(3, 3)
        predicted = np.einsum("ni,ij,nj->n", left, matrix, right)[train] + ratings[train].mean()
        return float(((predicted - ratings[train]) ** 2).sum() + 7.0 * (flat[1:] ** 2).sum())

    best = minimize(loss, np.zeros(10), method="BFGS", options={"gtol": 1e-9})
    assert fitted.weights == pytest.approx(best.x, abs=1e-3)
    forms = bilinear_form(left, to_matrix(fitted.weights), right)
    assert forms == pytest.approx(rows @ fitted.weights)


@pytest.mark.parametrize("references", [False, True])
def test_adem_learns_what_people_rated(tmp_path: Path, references: bool) -> None:
    folder = tmp_path / "adem"
    recipe = AdemRecipe(dimensions=8)
    card = train_adem(rated(references=references), folder, recipe, "minilm", None, lambda line: None)
    assert card.about["measured"]["spearman"] > 0.4
    assert card.about["licence"].endswith("not known (the ratings)")
    metric = rejoinder.parse(f"adem(folder={str(folder)!r})")
    good, bad = mean_scores(metric, references)
    assert good > bad
    known = ["the train leaves at nine"] if references else []
    assert math.isnan(metric.score([pair([], "yes", *known)])[0])
    assert math.isnan(metric.score([pair(["what train"], "the fast train")])[0]) == references


def test_ratings_of_several_aspects_need_a_choice() -> None:
    data = rated()
    data.add(Rating("a", "wit", 3.0, "r0"))
    with pytest.raises(InputError, match=r"2 aspects \(fit, wit\); name one"):
        select_rated(data, None)
    with pytest.raises(InputError, match="1 replies have a context and a rating"):
        select_rated(data, "wit")
