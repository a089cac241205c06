"""IDK: the two modes against independent ones, the losses by hand, the cache, the folder and the metric."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
from rejoinder_lab.training.idk import (
    BATCH,
    MARGIN,
    NEGATIVES,
    RATE,
    IdkRecipe,
    draw_training,
    fit_by_gradient,
    fit_exactly,
    fit_idk_regression,
    idk_training_vectors,
    penalised_loss,
    share_above_negative,
    train_idk,
)
from rejoinder_lab.training.next_turns import MAX_TURNS, NextTurn, sample_next_turns, shuffle_responses

import rejoinder
from rejoinder.data.writer import write
from rejoinder.errors import InputError
from rejoinder.models.aptness.model import open_aptness
from rejoinder.models.catalog.entries import MODELS
from rejoinder.models.catalog.manifest import is_model_available
from rejoinder.models.idk import model as cards
from rejoinder.models.idk import pair_encoder
from rejoinder.models.weight_sets import weights_folder
from rejoinder.types import Dialogue, Item, Pair, Response, Turn

shipped = pytest.mark.skipif(
    not (is_model_available(MODELS["aptness"]) and (weights_folder("idk") / cards.CARD_FILE).is_file()),
    reason="the weights of aptness and idk are not in the package",
)


def vectors(n: int = 60, d: int = 12, seed: int = 0) -> tuple[Any, Any]:
    """Made-up pairs: three dimensions tell true from false, the others are noise; all within ±1, as after tanh."""
    random = np.random.default_rng(seed)
    shift = np.r_[np.ones(3), np.zeros(d - 3)]
    true, false = (np.tanh(0.7 * random.normal(size=(n, d)) + sign * shift) for sign in (0.5, -0.5))
    return true.astype(np.float32), false.astype(np.float32)


# Paper mode


@pytest.mark.parametrize("loss", ["bce", "triplet"])
@pytest.mark.parametrize("regularization", ["l1", "l2", "none"])
def test_paper_mode_takes_the_steps_of_a_plain_torch_loop(regularization: Any, loss: Any) -> None:
    torch = pytest.importorskip("torch", reason="the torch extra is not installed")
    true, false = vectors()
    drawn = draw_training(len(true), true.shape[1], seed=5)
    weight = torch.tensor(drawn.start[:-1], requires_grad=True)
    bias = torch.tensor(drawn.start[-1], requires_grad=True)
    optimizer = torch.optim.Adam([weight, bias], lr=RATE)
    for order in drawn.orders:
        for begin in range(0, len(order), BATCH):
            rows = order[begin : begin + BATCH].tolist()
            above, below = (torch.sigmoid(torch.tensor(part[rows]).double() @ weight + bias) for part in (true, false))
            if loss == "bce":
                total = -torch.log(above).sum() - torch.log(1 - below).sum()
            else:
                total = -torch.log(1 + MARGIN - torch.clamp(below - above + MARGIN, min=0)).mean()
            if regularization == "l1":
                total = total + torch.norm(weight, p=1)
            elif regularization == "l2":
                total = total + torch.norm(weight, p=2) ** 2
            optimizer.zero_grad()
            total.backward()
            optimizer.step()
    found = fit_by_gradient(true, false, 5, regularization, loss)
    assert found.weights == pytest.approx(weight.detach().numpy(), abs=1e-9)
    assert found.bias == pytest.approx(bias.item(), abs=1e-9)


def test_the_triplet_loss_ranks_the_true_reply_higher() -> None:
    true, false = vectors(n=3_000)
    recipe = IdkRecipe(loss="triplet", regularization="none", contexts=3_000)
    assert share_above_negative(fit_idk_regression(true, false, recipe), true, false) > 0.8


def test_l1_leaves_few_weights_in_paper_mode_and_a_seed_decides() -> None:
    true, false = vectors(n=3_000, d=40)
    found = fit_by_gradient(true, false, 0)
    assert set(np.flatnonzero(np.abs(found.weights) > 0.05)) == {0, 1, 2}
    assert (fit_by_gradient(true, false, 0).weights == found.weights).all()
    assert not (fit_by_gradient(true, false, 1).weights == found.weights).all()


# Exact mode


def sklearn_fit(penalty: str, **options: Any) -> tuple[Any, float]:
    linear = pytest.importorskip("sklearn.linear_model", reason="scikit-learn is not installed")
    true, false = vectors(n=200)
    rows, labels = np.vstack([true, false]).astype(float), np.r_[np.ones(200), np.zeros(200)]
    ratio = {"l1_ratio": 1.0} if penalty == "l1" else {}
    model = linear.LogisticRegression(C=1.0, tol=1e-12, max_iter=200_000, **ratio, **options)
    model.fit(rows, labels)
    return model.coef_[0], float(model.intercept_[0])


@pytest.mark.parametrize(("regularization", "solver"), [("l1", "saga"), ("l2", "lbfgs")])
def test_exact_mode_is_scikit_learns_with_a_free_intercept(regularization: Any, solver: str) -> None:
    weights, bias = sklearn_fit(regularization, solver=solver)
    found = fit_exactly(*vectors(n=200), regularization)
    assert found.weights == pytest.approx(weights, abs=2e-5)
    assert found.bias == pytest.approx(bias, abs=2e-5)
    if regularization == "l1":
        assert ((found.weights == 0) == (np.abs(weights) < 1e-7)).all()
        assert (found.weights == 0).any()


def test_exact_mode_is_below_liblinears_which_also_penalises_the_intercept() -> None:
    weights, bias = sklearn_fit("l1", solver="liblinear", intercept_scaling=1.0)
    true, false = vectors(n=200)
    rows = np.hstack([np.vstack([true, false]), np.ones((400, 1))]).astype(float)
    labels = np.r_[np.ones(200), np.zeros(200)]
    l1, l2 = np.r_[np.ones(12), 0.0], np.zeros(13)
    found = fit_exactly(true, false)
    mine = penalised_loss(rows, labels, np.r_[found.weights, found.bias], l1, l2)
    assert mine <= penalised_loss(rows, labels, np.r_[weights, bias], l1, l2) + 1e-9


def test_with_a_mean_loss_and_weight_one_the_optimum_is_all_zeros() -> None:
    true, false = vectors(n=200)
    found = fit_exactly(
        true, false, "l1", weight=400
    )  # the mean over 400 rows: the sum over 400, so 400 times the norm
    assert (found.weights == 0).all()
    assert found.bias == pytest.approx(0, abs=1e-6)


def test_exact_mode_refuses_what_has_no_optimum() -> None:
    true, false = vectors()
    with pytest.raises(InputError, match="there may be no exact optimum"):
        fit_exactly(true, false, "none")
    with pytest.raises(InputError, match="not convex"):
        IdkRecipe("exact", loss="triplet")
    with pytest.raises(InputError, match="negative must be one of idk, ics, ok, random, not 'maybe'"):
        IdkRecipe(negative="maybe")  # type: ignore[arg-type]


# Places


def talks(n: int = 12, turns: int = 9, corpus: str = "shop", split: str = "train") -> list[Dialogue]:
    return [
        Dialogue(f"{corpus}-{i}", tuple(Turn(f"{corpus} {i} says {j}") for j in range(turns)), corpus, split)
        for i in range(n)
    ]


def test_places_do_not_depend_on_the_order_of_the_file_and_keep_to_corpus_and_split() -> None:
    given = [*talks(), *talks(corpus="street"), *talks(4, split="test", corpus="shop2")]
    found = sample_next_turns(given, 10, "shop")
    assert found == sample_next_turns(given[::-1], 10, "shop")
    assert len(found) == 10
    assert all(place.reply.startswith("shop ") for place in found)
    assert all(1 <= len(place.context) <= MAX_TURNS for place in found)
    for place in found:  # the context is what was said right before
        number = int(place.reply.rpartition(" ")[2])
        assert [int(text.rpartition(" ")[2]) for text in place.context] == list(range(number))[-MAX_TURNS:]


def test_where_dialogues_are_few_each_gives_several_and_the_halves_are_of_different_ones() -> None:
    found = sample_next_turns(talks(n=10), 40)
    of = [place.reply.split()[1] for place in found]
    assert not set(of[:20]) & set(of[20:])
    assert sorted(shuffle_responses(found[20:])) == sorted(place.reply for place in found[20:])


@pytest.mark.parametrize(
    ("corpus", "wanted", "split", "said"),
    [
        ("sho", 3, "train", "did you mean 'shop'"),
        ("shop", 10_000, "train", "10,000 contexts are wanted"),
        ("shop", 3, "valid", "no dialogue of two turns"),
    ],
)
def test_places_that_are_not_there_are_named(corpus: str, wanted: int, split: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        sample_next_turns(talks(), wanted, corpus, split)


def test_as_many_contexts_can_be_asked_for_as_an_error_says_there_are() -> None:
    uneven = [*talks(10, turns=2), *talks(2, turns=9, corpus="street")]
    with pytest.raises(InputError, match="the dialogues of the split 'train' have 26;"):
        sample_next_turns(uneven, 3_750)
    with pytest.raises(InputError, match="have 26;"):
        sample_next_turns(uneven, 27)
    assert len(set(sample_next_turns(uneven, 26))) == 26


# Vectors and their cache


class Counted:
    """A pair encoder that counts, for tests: a pair's vector is made of the lengths of its texts."""

    name, digest, dimensions, licence = "counted", "c" * 64, 3, "none"
    asked = 0

    def features(self, contexts: Any, replies: Any) -> Any:
        self.asked += len(replies)
        return np.array([[len(c), len(c[-1]), len(r)] for c, r in zip(contexts, replies, strict=True)], np.float32) / 50

    def cut(self, contexts: Any, replies: Any) -> list[bool]:
        return [False] * len(replies)


def test_each_pair_is_read_once_and_blank_ones_have_no_vector() -> None:
    counted = Counted()
    cached = pair_encoder.CachedPairEncoder(counted)
    contexts = [["a", "bb"], ["a", "bb"], [" "], ["a", " ", "bb"], ["ab", "b"]]
    found = cached.features(contexts, ["x", "x", "x", "x", " "])
    assert counted.asked == 1
    assert found[:2].tolist() == found[3:4].tolist() * 2
    assert np.isnan(found[[2, 4]]).all()
    assert pair_encoder.CachedPairEncoder(Counted()).features(contexts[:1], ["x"]).tolist() == found[:1].tolist()
    # The same characters in other turns are another pair.
    assert cached.features([["ab", "b"]], ["x"]).tolist() != found[:1].tolist()
    assert counted.asked == 2


def test_negatives_stand_beside_their_contexts() -> None:
    found = [NextTurn((f"c{i}",), "r" * (i + 1)) for i in range(8)]
    for negative, said in NEGATIVES.items():
        true, false = idk_training_vectors(Counted(), found, IdkRecipe(negative=negative, contexts=4))  # type: ignore[arg-type]
        assert len(true) == len(false) == 4
        assert false[:, 2] * 50 == pytest.approx(len(said))
    true, false = idk_training_vectors(Counted(), found, IdkRecipe(negative="random", contexts=4))
    assert sorted((false[:, 2] * 50).round().tolist()) == [5, 6, 7, 8]


def test_the_pooled_next_sentence_feature_can_be_named(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="the torch extra is not installed")
    transformers = pytest.importorskip("transformers")
    core = tiny_models.word_pieces()
    shape: dict[str, Any] = {"num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = transformers.BertConfig(
        vocab_size=core.get_vocab_size(), hidden_size=8, max_position_embeddings=40, initializer_range=0.4, **shape
    )
    torch.manual_seed(0)
    network = transformers.BertForNextSentencePrediction(config).eval()
    network.save_pretrained(tmp_path / "bert")
    reader = transformers.BertTokenizer(tokenizer_object=core, model_max_length=40)
    reader.save_pretrained(tmp_path / "bert")
    opened = pair_encoder.load_pair_encoder(f"hf:{tmp_path / 'bert'}")
    found = opened.features([["the cat", "sat on the mat"], ["ok", "yes"], [""]], ["it ran fast", "no", "no"])
    for i, (context, reply) in enumerate([("the cat sat on the mat", "it ran fast"), ("ok yes", "no")]):
        before, said = (reader(text, add_special_tokens=False)["input_ids"] for text in (context, reply))
        first, last = core.token_to_id("[CLS]"), core.token_to_id("[SEP]")
        ids = torch.tensor([[first, *before, last, *said, last]])
        kinds = torch.tensor([[0] * (len(before) + 2) + [1] * (len(said) + 1)])
        with torch.no_grad():
            pooled = network.bert(input_ids=ids, token_type_ids=kinds).pooler_output[0]
        assert found[i] == pytest.approx(pooled.numpy(), abs=1e-5)
    assert np.isnan(found[2]).all()
    assert opened.cut([["the cat " * 30]], ["yes"]) == [True]


# The folder


def card(weights: tuple[float, ...], **changed: Any) -> cards.IdkCard:
    return cards.IdkCard(**{"encoder": "aptness", "features": "0" * 64, "weights": weights, "bias": 0.5, **changed})


def test_a_folder_is_read_as_it_was_written_and_its_bytes_do_not_change(tmp_path: Path) -> None:
    made = card((0.25, -1.0, 0.0), about={"licence": "none", "recipe": {"weights": []}})
    cards.write_idk_card(tmp_path, made)
    first = (tmp_path / cards.CARD_FILE).read_bytes()
    assert cards.read_idk_card(tmp_path) == made
    cards.write_idk_card(tmp_path, cards.read_idk_card(tmp_path))
    assert (tmp_path / cards.CARD_FILE).read_bytes() == first


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot be read"),
        ("{", "is not JSON"),
        ("{}", "is not the card of idk in format 1"),
        ('{"format": 1, "weights": [1.0]}', "a key is missing or wrong"),
        ('{"format": 1, "weights": ["x"], "bias": 0, "encoder": "aptness", "features": "0"}', "a key is missing"),
    ],
)
def test_a_folder_that_is_none_is_told_so(tmp_path: Path, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / cards.CARD_FILE).write_text(text)
    with pytest.raises(InputError, match=said):
        cards.read_idk_card(tmp_path)


@shipped
def test_weights_that_belong_to_other_vectors_are_refused_with_the_command(tmp_path: Path) -> None:
    cards.write_idk_card(tmp_path, card((0.1,) * 384))
    with pytest.raises(InputError, match=r"trained on different vectors of 'aptness'.*rejoinder train idk -o FOLDER"):
        rejoinder.score(["hi"], metrics=f"idk(folder={str(tmp_path)!r})", contexts=["hello"])


# The metric, as shipped


@shipped
def test_the_score_is_the_logistic_function_of_the_weighted_pair_vector() -> None:
    contexts, replies = (
        [["Is it open?", "I think so."], ["Where are you from?"]],
        ["Then let us go in.", "i don't know."],
    )
    found = rejoinder.score(replies, metrics="idk", contexts=contexts).values["idk"]
    made = json.loads((weights_folder("idk") / cards.CARD_FILE).read_text())
    features = open_aptness().cross_features(contexts, replies)
    for i in range(2):
        odds = math.fsum(w * float(x) for w, x in zip(made["weights"], features[i], strict=True)) + made["bias"]
        assert found[i] == pytest.approx(1 / (1 + math.exp(-odds)), abs=1e-4)
    assert found[0] > found[1]


@shipped
def test_the_shipped_weights_say_where_they_come_from() -> None:
    about = cards.read_idk_card(weights_folder("idk")).about
    assert about["licence"] == "CC-BY-SA-4.0"
    assert about["recipe"] == {
        "mode": "paper",
        "negative": "idk",
        "regularization": "l1",
        "loss": "bce",
        "weight": 1.0,
        "seed": 0,
        "contexts": 3_750,
    }
    assert about["data"] == {"corpus": "chitchat", "split": "train", "contexts": 3_750}


@shipped
def test_a_long_pair_is_counted_as_cut() -> None:
    metric = rejoinder.parse("idk")
    long = Item("i", (Turn("word " * 400),))
    short = Item("j", (Turn("word"),))
    assert metric.cut([Pair(long, Response("r", "i", "s", "ok")), Pair(short, Response("q", "j", "s", "ok"))]) == [
        True,
        False,
    ]


# The command


@shipped
def test_the_command_trains_a_folder_that_scores(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from rejoinder.cli import program

    write(talks(n=14), tmp_path / "talks.jsonl")
    target = tmp_path / "mine"
    command = ["train", "idk", str(tmp_path / "talks.jsonl"), "-o", str(target), "--contexts", "12"]
    done = CliRunner().invoke(program, [*command, "--mode", "exact"])
    assert done.exit_code == 0, done.output
    assert f"idk(folder='{target}')" in done.output
    found = rejoinder.score(["shop 1 says 4"], metrics=f"idk(folder={str(target)!r})", contexts=["shop 1 says 3"])
    assert 0 < next(iter(found.values.values()))[0] < 1
    again = CliRunner().invoke(program, command)
    assert again.exit_code != 0


def test_training_writes_what_a_counted_encoder_taught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted()
    monkeypatch.setattr("rejoinder_lab.training.idk.load_pair_encoder", lambda name: counted)
    made = train_idk(talks(n=30), tmp_path / "new", IdkRecipe("exact", contexts=25), "shop")
    true, false = idk_training_vectors(counted, sample_next_turns(talks(n=30), 25, "shop"), IdkRecipe(contexts=25))
    assert made.weights == pytest.approx(fit_exactly(true, false).weights, abs=1e-8)
    assert made.about["licence"] == "none"
    assert cards.read_idk_card(tmp_path / "new") == made
