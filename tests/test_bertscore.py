"""BERTScore against the bert-score package with the same weights, and against its definition."""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rejoinder.errors import SpecError
from rejoinder.metric import parse, signature
from rejoinder.metrics import bertscore as module
from rejoinder.metrics.bertscore import Bertscore, ContextualTokens, _harmonic_mean, compare_tokens
from rejoinder.models.encoder.probe_sentences import probe_texts
from rejoinder.paths import cache_home
from rejoinder.types import Item, Pair, Reference, Response
from tests import tiny_models

PARTS = ("precision", "recall", "f1")
MINILM = cache_home() / "models" / "minilm"  # of the user: each test has an empty cache of its own


def pair(reply: str, *references: str) -> Pair:
    return Pair(Item("i", (), tuple(map(Reference, references))), Response("r", "i", "s", reply))


def score(metric: Bertscore, reply: str, *references: str) -> float:
    return metric.score([pair(reply, *references)])[0]


def made_up(n: int, seed: int = 0) -> list[Pair]:
    r = random.Random(seed)
    words = [*tiny_models.WORDS, "Train,", "unheard", "x?", "日本", "  "]
    texts = [" ".join(r.choices(words, k=r.randint(1, 14))).strip() or "ok" for _ in range(2 * n)]
    return [pair(r.choice(texts), *r.sample(texts, r.randint(1, 4))) for _ in range(n)]


def by_package(pairs: Sequence[Pair], folder: Path, layer: int) -> dict[str, Any]:
    """What the bert-score package says: precision, recall and F of each pair, the best over references.

    It compares in batches filled up with padding, which counts as a cosine of 0: a token whose best cosine is below 0
    gets 0 where a longer text is in the batch. In batches of one its numbers are those of the paper's formula.
    """
    package = pytest.importorskip("bert_score", reason="the bert-score package is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = package.score(
            [one.response.text for one in pairs],
            [[reference.text for reference in one.item.references] for one in pairs],
            model_type=str(folder),
            num_layers=layer,
            device="cpu",
            batch_size=1,
        )
    return dict(zip(PARTS, (part.numpy() for part in found), strict=True))


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch", reason="the torch extra is not installed")
    return tiny_models.write_transformers_encoder(tmp_path_factory.mktemp("bert") / "bert")


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    return str(tiny_models.write_exported_encoder(tmp_path / "tiny"))


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_every_part_is_that_of_the_package(bert: Path, layer: int) -> None:
    pairs = made_up(40)
    expected = by_package(pairs, bert, layer)
    for part in PARTS:
        found = Bertscore(part, str(bert), layer).score(pairs)  # type: ignore[arg-type]
        assert found == pytest.approx(expected[part], abs=1e-5), part


def test_a_byte_level_tokeniser_sees_a_space_before_the_first_word(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the torch extra is not installed")
    # The package asks for the space in a way that transformers 5 does not hear, unless the tokeniser adds it itself.
    with_space = tiny_models.write_transformers_encoder(tmp_path / "with", "roberta", space_first=True)
    without = tiny_models.write_transformers_encoder(tmp_path / "without", "roberta")
    pairs = made_up(15)
    found = Bertscore(encoder=str(without)).score(pairs)
    assert found == pytest.approx(by_package(pairs, with_space, 2)["f1"], abs=1e-5)
    assert found == pytest.approx(Bertscore(encoder=str(with_space)).score(pairs), abs=1e-6)


@pytest.mark.skipif(not (MINILM / "encoder.json").is_file(), reason="minilm is not in the cache")
def test_minilm_scores_as_the_package_does_with_the_same_weights() -> None:
    texts = probe_texts()[:100]
    r = random.Random(1)
    pairs = [pair(text, *r.sample(texts, 2)) for text in texts]
    expected = by_package(pairs, MINILM, 6)
    for part in PARTS:
        found = Bertscore(part, str(MINILM)).score(pairs)  # type: ignore[arg-type]
        assert found == pytest.approx(expected[part], abs=1e-5), part


def test_a_match_below_zero_counts_as_it_is() -> None:
    greedy_cos_idf = pytest.importorskip("bert_score.utils", reason="bert-score is not installed").greedy_cos_idf
    import torch

    own = np.array([False, True, False])  # one token between two special ones
    reply = np.array([[0, 1], [1, 0], [0, -1]], np.float32)
    reference = np.array([[-0.6, 0.8], [-0.8, 0.6], [-0.6, -0.8]], np.float32)
    found = compare_tokens([ContextualTokens(reply, own)], [ContextualTokens(reference, own)], "precision")
    assert found.tolist() == [[pytest.approx(-0.6)]]
    for padding, expected in ((0, -0.6), (1, 0.0)):  # the package's own number, alone and in a batch
        weights = torch.tensor(own).float()[None]
        filled = torch.nn.functional.pad(torch.tensor(reference), (0, 0, 0, padding), value=2.0)[None]
        mask = torch.nn.functional.pad(torch.ones(1, 3), (0, padding))
        idf = torch.nn.functional.pad(weights.clone(), (0, padding))
        precision, _, _ = greedy_cos_idf(filled, mask, idf, torch.tensor(reply)[None], torch.ones(1, 3), weights)
        assert precision.item() == pytest.approx(expected)


def test_a_text_is_nearest_to_itself(tiny: str) -> None:
    for part in PARTS:
        metric = Bertscore(part, tiny)  # type: ignore[arg-type]
        assert score(metric, "the cat sat", "the cat sat") == pytest.approx(1)
        assert score(metric, "the cat sat", "no", "The cat sat ") == pytest.approx(1)
        assert score(metric, "the cat sat", "a dog ran") < 1


def test_precision_of_one_text_is_recall_of_the_other(tiny: str) -> None:
    precision, recall = Bertscore("precision", tiny), Bertscore("recall", tiny)
    a, b = "the cat sat on the mat", "a dog ran very fast"
    assert score(precision, a, b) == pytest.approx(score(recall, b, a), abs=1e-6)
    p, r = score(precision, a, b), score(recall, a, b)
    assert score(Bertscore("f1", tiny), a, b) == pytest.approx(2 * p * r / (p + r), abs=1e-6)


def test_a_text_without_a_token_cannot_be_compared(tiny: str) -> None:
    metric = Bertscore(encoder=tiny)
    assert math.isnan(score(metric, "\u200b", "yes"))
    assert math.isnan(score(metric, "yes", " ", "\u200b"))
    assert math.isnan(score(metric, "yes"))
    assert score(metric, "yes", " ", "yes") == pytest.approx(1)


def test_blocks_order_and_neighbours_change_nothing(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs, metric = made_up(60, seed=2), Bertscore(encoder=tiny)
    whole = metric.score(pairs)
    assert metric.score(pairs[::-1])[::-1] == pytest.approx(whole, abs=1e-5)
    assert [metric.score([one])[0] for one in pairs] == pytest.approx(whole, abs=1e-5)
    monkeypatch.setattr(module, "_MOST_CHARACTERS", 50)
    assert metric.score(pairs) == pytest.approx(whole, abs=1e-5)


def test_each_text_is_encoded_once(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    contextual = module.contextual_vectors

    def counted(texts: Sequence[str], encoder: str, layer: int) -> Any:
        asked.extend(texts)
        return contextual(texts, encoder, layer)

    monkeypatch.setattr(module, "contextual_vectors", counted)
    Bertscore(encoder=tiny).score([pair(f"reply {i % 7}", "yes", "no", "reply 1") for i in range(50)])
    assert len(asked) == len(set(asked)) == 9


def test_the_layer_is_the_authors_where_they_chose_one() -> None:
    assert Bertscore(encoder="roberta-large")._layer == 17
    assert Bertscore(encoder="hf:bert-base-uncased")._layer == 9
    assert Bertscore(encoder="minilm")._layer == -1
    assert Bertscore(encoder="roberta-large", layer=3)._layer == 3


def test_the_signature_names_the_model_and_the_layer(tiny: str) -> None:
    shown = signature(Bertscore(encoder=tiny))
    assert "|model:tiny " in shown
    assert "|taken:last layer|" in shown
    assert "taken" not in signature(Bertscore(encoder=tiny, layer=1))


def test_an_exported_encoder_has_one_layer(tiny: str) -> None:
    with pytest.raises(SpecError, match="hf:"):
        score(Bertscore(encoder=tiny, layer=1), "yes", "no")


@pytest.mark.parametrize("spec", ["bertscore(layer=-1)", "bertscore(layer='last')", "bertscore(part='f')"])
def test_wrong_parameters_are_told(spec: str) -> None:
    with pytest.raises(SpecError):
        parse(spec)


def test_one_part_above_zero_alone_gives_no_f() -> None:
    found = _harmonic_mean(np.array([0.5, -0.5, 0.5, 0.0]), np.array([0.5, 0.5, -0.4, 0.0]))
    assert found.tolist() == [0.5, 0.0, 0.0, 0.0]
