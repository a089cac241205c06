from __future__ import annotations

import math

import pytest
from sacrebleu.metrics.chrf import CHRF

from rejoinder.errors import SpecError
from rejoinder.metrics.chrf import Chrf
from rejoinder.registry import parse, signature
from rejoinder.types import Item, Pair, Reference, Response

LINES = ["I think so.", "i think not, sorry!", "日本語です", "👍 ok", "Do you really think so?", "x"]


def pair(reply: str, *references: str) -> Pair:
    return Pair(Item("i", (), tuple(map(Reference, references))), Response("r", "i", "s", reply))


@pytest.mark.parametrize("spec", ["chrf", "chrf(word_order=2)", "chrf(order=3, beta=1)", "chrf(lowercase=True)"])
def test_it_is_the_sentence_score_of_sacrebleu(spec: str) -> None:
    metric = parse(spec)
    assert isinstance(metric, Chrf)
    sacrebleu = CHRF(metric.order, metric.word_order, metric.beta, metric.lowercase)
    for reply in LINES:
        assert metric.score([pair(reply, *LINES[1:])]) == [
            pytest.approx(sacrebleu.sentence_score(reply, LINES[1:]).score / 100, abs=1e-15)
        ]


def test_the_best_reference_decides() -> None:
    metric = Chrf()
    alone = [metric.score([pair("I think so", line)])[0] for line in LINES]
    assert metric.score([pair("I think so", *LINES)]) == [max(alone)]


def test_one_character_n_gram_order_by_hand() -> None:
    # "aab" against "abb" at order 1: 2 of 3 match both ways.
    assert Chrf(order=1).score([pair("a a b", "abb")]) == [pytest.approx(2 / 3)]


def test_what_cannot_be_said_is_nan() -> None:
    found = Chrf().score([pair("hello"), pair(" ", "hello"), pair("hello", " "), pair("hello", " ", "bye")])
    assert [math.isnan(v) for v in found] == [True, True, True, False]


def test_orders_out_of_bounds_are_told() -> None:
    with pytest.raises(SpecError, match="chrf: order must be a whole number from 1 to 10, not 0"):
        parse("chrf(order=0)")


def test_the_signature_names_the_version_of_sacrebleu() -> None:
    assert "|sacrebleu:" in signature(Chrf())
