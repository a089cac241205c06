from __future__ import annotations

import math
import random

import pytest
from sacrebleu.metrics.chrf import CHRF

from rejoinder.errors import SpecError
from rejoinder.metric import parse, signature
from rejoinder.metrics.chrf import Chrf
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


def test_many_pairs_of_any_alphabet_are_scored_as_by_sacrebleu_to_the_last_bit() -> None:
    rng = random.Random(0)
    chinese = "".join(chr(0x4E00 + n) for n in range(3_000))
    alphabets = ["ab", "abcdefghij klmno", chinese, "aé日👍 \t\n\u3000x", "".join(map(chr, range(32, 600)))]

    def text() -> str:
        alphabet = rng.choice(alphabets)
        return "".join(rng.choice(alphabet) for _ in range(rng.choice([0, 1, 2, 5, 30, 150])))

    for _ in range(60):
        metric = Chrf(order=rng.choice([1, 2, 6, 10]), beta=rng.choice([1, 2, 3]), lowercase=rng.random() < 0.5)
        sacrebleu = CHRF(metric.order, 0, metric.beta, metric.lowercase)
        pairs = [pair(text(), *(text() for _ in range(rng.randint(0, 3)))) for _ in range(rng.choice([1, 3, 40]))]
        for one, found in zip(pairs, metric.score(pairs), strict=True):
            references = [r.text for r in one.item.references if r.text.strip()]
            if references and one.response.text.strip():
                assert found == min(1.0, sacrebleu.sentence_score(one.response.text, references).score / 100)
            else:
                assert math.isnan(found)


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
