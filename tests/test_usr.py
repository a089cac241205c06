"""USR: its masked language model against transformers' own call on a tiny BERT, its parts and their combination."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import tiny_models

import rejoinder
from rejoinder.errors import InputError, SpecError
from rejoinder.metrics.usr import Usr
from rejoinder.models.encoder.transformers import load_tokenizer
from rejoinder.types import Item, Pair, Response, Turn

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
CONTEXT, REPLY = "the cat sat on the mat", "the dog ran fast"


@pytest.fixture
def bert(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A random BERT with a masked language model of 2 layers."""
    import transformers

    monkeypatch.setenv("REJOINDER_THREADS", "1")
    folder = tiny_models.write_transformers_encoder(tmp_path / "bert")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        transformers.BertForMaskedLM(transformers.BertConfig.from_pretrained(folder)).save_pretrained(folder)
    return folder


def pair(context: str, reply: str) -> Pair:
    return Pair(Item("i", (Turn(context),) if context else ()), Response("r", "i", "s", reply))


def test_each_token_is_masked_in_turn_as_transformers_computes_it(bert: Path) -> None:
    from transformers import BertForMaskedLM

    network = BertForMaskedLM.from_pretrained(bert).eval()
    before, after = load_tokenizer(bert, 64).pieces([CONTEXT, REPLY])
    ids = [2, *before, 3, *after, 3]
    logs = []
    for at in range(len(before) + 2, len(ids) - 1):
        masked = torch.tensor([[*ids[:at], 4, *ids[at + 1 :]]])
        kinds = torch.tensor([[0] * (len(before) + 2) + [1] * (len(after) + 1)])
        with torch.no_grad():
            logs.append(network(input_ids=masked, token_type_ids=kinds).logits[0, at].log_softmax(-1)[ids[at]].item())
    metric = Usr(model=str(bert), part="mlm")
    found = metric.score([pair(CONTEXT, REPLY), pair("how are you", "no"), pair("", "no")])
    assert found[0] == pytest.approx(math.exp(np.mean(logs)), abs=1e-6)
    assert math.isnan(found[2])


def test_both_parts_are_weighted(bert: Path) -> None:
    given = [pair(CONTEXT, REPLY)]
    parts = {name: Usr(str(bert), "context_overlap", 0.3, name).score(given)[0] for name in ("all", "mlm", "dr")}
    assert parts["dr"] == rejoinder.parse("context_overlap").score(given)[0]
    assert parts["all"] == pytest.approx(0.3 * parts["mlm"] + 0.7 * parts["dr"])


def test_an_encoder_without_a_language_model_is_refused(tmp_path: Path) -> None:
    folder = tiny_models.write_transformers_encoder(tmp_path / "plain")
    with pytest.raises(InputError, match="no complete masked language model"):
        Usr(model=str(folder)).score([pair(CONTEXT, REPLY)])


def test_parameters_out_of_range_are_refused() -> None:
    for spec in ("usr(mlm_weight=2)", "usr(part='x')", "usr(retrieval='bleu')"):
        with pytest.raises(SpecError, match="usr: "):
            rejoinder.parse(spec)
