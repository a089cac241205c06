"""The cosine of context and reply: against numpy on word vectors, against transformers' own states and pooler."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models

import rejoinder
from rejoinder.errors import SpecError
from rejoinder.metrics.cosine import Cosine
from rejoinder.models.encoder.factory import load_encoder
from rejoinder.models.word_vectors.model import load_word_vectors
from rejoinder.types import Item, Pair, Response, Turn

SAID = [
    (["the cat sat on the mat", "what do you think about it?"], "i think the cat is fast"),
    (["how are you?"], "fine, thanks!"),
    (["a dog ran", "", "so fast", "very fast"], "no"),
]


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_THREADS", "1")


def pair(context: Sequence[str], reply: str) -> Pair:
    return Pair(Item("i", tuple(Turn(text) for text in context)), Response("r", "i", "s", reply))


PAIRS = [pair(*one) for one in SAID]


def cosine(first: Any, second: Any) -> float:
    return float(first @ second / (np.linalg.norm(first) * np.linalg.norm(second)))


def joined(context: Sequence[str]) -> str:
    return " ".join(text for text in context if text)


# --- static vectors: COS-FT


@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_static_vectors_are_pooled_over_the_words_of_the_whole_context(pooling: Any, tmp_path: Path) -> None:
    folder = str(tiny_models.write_word_vectors(tmp_path))
    pool = np.mean if pooling == "mean" else np.max

    def vector(words: str) -> Any:
        return pool(load_word_vectors(folder).vectors(words.split())[0].astype(np.float64), axis=0)

    expected = [
        cosine(vector("the cat sat on the mat what do you think about it"), vector("i think the cat is fast")),
        cosine(vector("how are you"), vector("fine thanks")),
        cosine(vector("a dog ran so fast very fast"), vector("no")),
    ]
    assert Cosine(folder, pooling).score(PAIRS) == pytest.approx(expected, abs=1e-6)


def test_a_text_without_a_known_word_has_no_score(tmp_path: Path) -> None:
    folder = str(tiny_models.write_word_vectors(tmp_path))
    found = Cosine(folder).score([pair(["qqq zzz"], "the cat"), pair(["the cat"], "!"), pair(["the"], "the the")])
    assert [math.isnan(value) for value in found] == [True, True, False]
    assert found[2] == pytest.approx(1.0)
    assert Cosine(folder).cut(PAIRS) == [False] * 3


def test_words_have_no_first_token(tmp_path: Path) -> None:
    folder = str(tiny_models.write_word_vectors(tmp_path))
    with pytest.raises(SpecError, match=r"have no first token; use pooling='mean' or 'max'"):
        Cosine(folder, "first")
    with pytest.raises(SpecError, match=r"pooling must be one of 'mean', 'max', 'first', not 'median'"):
        rejoinder.parse("cosine(pooling='median')")


# --- contextual vectors: COS-MAX-BERT and COS-NSP-BERT


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    pytest.importorskip("torch")
    return tiny_models.write_transformers_encoder(tmp_path / "bert")


def states(folder: Path, text: str, cut: str = "right") -> tuple[Any, Any]:
    """The last layer and the pooled first token, by transformers alone; what is too long is cut."""
    import torch
    from tokenizers import Tokenizer
    from transformers import BertModel

    network = BertModel.from_pretrained(folder).eval()
    ids = Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text, add_special_tokens=False).ids
    room = tiny_models.MAX_TOKENS - 2
    ids = [2, *(ids[:room] if cut == "right" else ids[-room:]), 3]
    with torch.no_grad():
        found = network(torch.tensor([ids]))
    return found.last_hidden_state[0].numpy(), found.pooler_output[0].numpy()


@pytest.mark.parametrize("pooling", ["mean", "max", "first"])
def test_contextual_vectors_are_those_of_transformers(pooling: Any, bert: Path) -> None:
    expected = []
    for context, reply in SAID:
        before, after = states(bert, joined(context)), states(bert, reply)
        if pooling == "first":
            expected.append(cosine(before[1], after[1]))
        else:
            pool = np.max if pooling == "max" else np.mean
            expected.append(cosine(pool(before[0], axis=0), pool(after[0], axis=0)))
    assert Cosine(str(bert), pooling).score(PAIRS) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("pooling", ["mean", "max", "first"])
def test_a_long_context_loses_its_beginning_and_a_long_reply_its_end(pooling: Any, bert: Path) -> None:
    long = ["what about the dog", *["the cat sat on the mat"] * 12, "do you think so"]
    pairs = [pair(long, "yes"), pair(["yes"], joined(long)), *PAIRS]
    metric = Cosine(str(bert), pooling)
    assert metric.cut(pairs) == [True, True, False, False, False]
    end, beginning, short = states(bert, joined(long), "left"), states(bert, joined(long)), states(bert, "yes")
    if pooling == "first":
        expected = [cosine(end[1], short[1]), cosine(beginning[1], short[1])]
    else:
        pool = np.max if pooling == "max" else np.mean
        expected = [cosine(pool(one[0], axis=0), pool(short[0], axis=0)) for one in (end, beginning)]
    assert metric.score(pairs)[:2] == pytest.approx(expected, abs=1e-5)


def test_a_network_without_a_pooler_gives_its_first_token_as_it_is_and_the_signature_says_so(
    bert: Path, tmp_path: Path
) -> None:
    from transformers import BertModel

    bare = tmp_path / "bare"
    BertModel.from_pretrained(bert, add_pooling_layer=False).save_pretrained(bare)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (bare / name).write_bytes((bert / name).read_bytes())
    with_pooler, without = Cosine(str(bert), "first"), Cosine(str(bare), "first")
    assert (with_pooler.details()["pooler"], without.details()["pooler"]) == ("yes", "no")
    assert "pooler" not in Cosine(str(bare)).details()
    expected = [cosine(states(bert, joined(c))[0][0], states(bert, r)[0][0]) for c, r in SAID]
    assert without.score(PAIRS) == pytest.approx(expected, abs=1e-5)
    assert with_pooler.score(PAIRS) != pytest.approx(expected, abs=1e-3)


def test_an_exported_encoder_pools_the_same_ways(own_cache: Path) -> None:
    tiny_models.install(own_cache)
    encoder = load_encoder("minilm", cache=False)
    tokens = [encoder.encode_tokens([joined(context), reply]) for context, reply in SAID]
    largest, first = [], []
    for of_pair in tokens:
        every = [np.concatenate([one.special, one.vectors]) for one in of_pair]
        largest.append(cosine(every[0].max(axis=0), every[1].max(axis=0)))
        first.append(cosine(every[0][0], every[1][0]))
    assert Cosine("minilm", "max").score(PAIRS) == pytest.approx(largest, abs=1e-6)
    assert Cosine("minilm", "first").score(PAIRS) == pytest.approx(first, abs=1e-6)
    own = [cosine(*encoder.encode([joined(context), reply])) for context, reply in SAID]
    assert Cosine("minilm").score(PAIRS) == pytest.approx(own, abs=1e-6)


def test_a_blank_context_has_no_score(own_cache: Path) -> None:
    tiny_models.install(own_cache)
    found = Cosine("minilm").score([pair([], "yes"), pair(["  ", ""], "yes"), pair(["yes"], " "), pair(["yes"], "yes")])
    assert [math.isnan(value) for value in found] == [True, True, True, False]
    assert found[3] == pytest.approx(1.0)
