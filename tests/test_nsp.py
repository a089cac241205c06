"""The next-sentence head: against transformers' own call on a tiny BERT, and the cross-encoder of the package."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import tiny_models

from rejoinder.errors import InputError, SpecError
from rejoinder.metrics.nsp import Nsp
from rejoinder.models.aptness.model import open_aptness
from rejoinder.models.catalog.entries import MODELS
from rejoinder.models.catalog.manifest import ModelManifest, ModelMissingError, is_model_available, write_model_manifest
from rejoinder.types import Item, Pair, Response, Turn

SAID = [
    (["the cat sat on the mat", "what do you think about it?"], "i think the cat is fast"),
    (["how are you?"], "fine, thanks!"),
    (["a dog ran", "so fast", "very fast"], "no"),
    (["how are you?"], "no"),
]


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_THREADS", "1")


def pair(context: Sequence[str], reply: str) -> Pair:
    return Pair(Item("i", tuple(Turn(text) for text in context)), Response("r", "i", "s", reply))


PAIRS = [pair(*one) for one in SAID]


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    """A random BERT with a next-sentence head of 2 layers."""
    torch = pytest.importorskip("torch")
    import transformers

    folder = tiny_models.write_transformers_encoder(tmp_path / "bert")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = transformers.BertConfig.from_pretrained(folder)
        transformers.BertForNextSentencePrediction(config).save_pretrained(folder)
    return folder


def direct(folder: Path, before: Sequence[int], after: Sequence[int]) -> float:
    """The head's answer by transformers alone, one pair at a time, without filling."""
    import torch
    from transformers import BertForNextSentencePrediction

    network = BertForNextSentencePrediction.from_pretrained(folder).eval()
    ids = torch.tensor([[2, *before, 3, *after, 3]])
    kinds = torch.tensor([[0] * (len(before) + 2) + [1] * (len(after) + 1)])
    with torch.no_grad():
        return float(network(input_ids=ids, token_type_ids=kinds).logits.softmax(dim=-1)[0, 0])


def ids_of(folder: Path, text: str) -> list[int]:
    from tokenizers import Tokenizer

    found: list[int] = Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text, add_special_tokens=False).ids
    return found


def test_it_is_the_probability_that_transformers_gives(bert: Path) -> None:
    expected = [direct(bert, ids_of(bert, " ".join(c)), ids_of(bert, r)) for c, r in SAID]
    assert max(expected) - min(expected) > 0.01  # the pairs differ, so that agreement says something
    assert Nsp(str(bert)).score(PAIRS) == pytest.approx(expected, abs=1e-5)
    assert Nsp(f"hf:{bert}").score(PAIRS) == pytest.approx(expected, abs=1e-5)


def test_a_long_context_loses_its_beginning_a_long_reply_its_end_and_neither_more_than_half(bert: Path) -> None:
    room = tiny_models.MAX_TOKENS - 3
    long, longer = "the cat sat on the mat " * 8, "what do you think of it " * 30
    texts = [(long, "yes so"), (longer, "yes"), ("yes so", longer), (longer, longer)]
    expected = []
    for before, after in texts:
        first, second = ids_of(bert, before), ids_of(bert, after)
        kept = second[: max(room // 2, room - len(first))]
        expected.append(direct(bert, first[-(room - len(kept)) :], kept))
    metric = Nsp(str(bert))
    pairs = [pair([before], after) for before, after in texts]
    assert metric.score(pairs) == pytest.approx(expected, abs=1e-5)
    assert metric.cut([*pairs, *PAIRS]) == [False, True, True, True, False, False, False, False]


def test_weights_as_the_published_ones_are_named_are_understood(bert: Path, tmp_path: Path) -> None:
    """bert-base-uncased is a BertForPreTraining whose norms are called gamma and beta."""
    from safetensors.torch import load_file, save_file

    weights = load_file(bert / "model.safetensors")
    named = {
        k.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): v
        for k, v in weights.items()
    }
    old = tmp_path / "old"
    old.mkdir()
    save_file(named, old / "model.safetensors", {"format": "pt"})
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (old / name).write_bytes((bert / name).read_bytes())
    assert Nsp(str(old)).score(PAIRS) == pytest.approx(Nsp(str(bert)).score(PAIRS), abs=1e-6)


def test_it_is_found_by_its_name_in_the_cache(bert: Path, own_cache: Path) -> None:
    folder = own_cache / "models" / "bert-base-uncased"
    folder.parent.mkdir(parents=True)
    bert.rename(folder)
    write_model_manifest(folder, ModelManifest("bert-base-uncased", "made by a test", "none", {}))
    assert all(0 < value < 1 for value in Nsp("bert-base-uncased").score(PAIRS))


def test_a_model_without_such_a_head_is_refused(tmp_path: Path, own_cache: Path) -> None:
    pytest.importorskip("torch")
    plain = tiny_models.write_transformers_encoder(tmp_path / "plain")
    with pytest.raises(InputError, match=r"no complete next-sentence head \(cls\.seq_relationship\.\w+ is missing\)"):
        Nsp(str(plain)).score(PAIRS)
    roberta = tiny_models.write_transformers_encoder(tmp_path / "roberta", "roberta")
    with pytest.raises(InputError, match="cannot be opened as a next-sentence head"):
        Nsp(str(roberta)).score(PAIRS)
    with pytest.raises(ModelMissingError, match="get it with: rejoinder models get bert-base-uncased"):
        Nsp("bert-base-uncased").details()
    with pytest.raises(SpecError, match="no encoder and no folder is called 'nobody'"):
        Nsp("nobody").details()


def test_a_blank_context_has_no_score(bert: Path) -> None:
    found = Nsp(str(bert)).score([pair([], "yes"), pair([" "], "yes"), pair(["yes"], " "), pair(["yes"], "yes")])
    assert [math.isnan(value) for value in found] == [True, True, True, False]


def test_the_default_is_the_cross_encoder_that_comes_with_the_package() -> None:
    if not is_model_available(MODELS["aptness"]):
        pytest.skip("the weights of aptness are not in the package")
    log_odds: Any = open_aptness().cross_scores([c for c, _ in SAID], [r for _, r in SAID])
    expected = [1 / (1 + math.exp(-value)) for value in log_odds]
    assert Nsp().score(PAIRS) == pytest.approx(expected, abs=1e-12)
    assert Nsp().details() == {"weights": open_aptness().digest[:12]}
    assert Nsp().cut([*PAIRS, pair(["the cat sat " * 120], "yes")]) == [False] * 4 + [True]
