from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence

import pytest

from rejoinder.metric import parse
from rejoinder.metrics._bleu import Smoothing
from rejoinder.metrics.bleu import Bleu
from rejoinder.metrics.distinct import Distinct
from rejoinder.metrics.self_bleu import SelfBleu
from rejoinder.types import Item, Pair, Reference, Response

WORDS = "the the the . . , i i you do not know what is it a b c d e".split()


def said(texts: Sequence[str], system: str = "s") -> list[Pair]:
    return [
        Pair(Item(f"{system}{i}", ()), Response(f"{system}{i}", f"{system}{i}", system, t)) for i, t in enumerate(texts)
    ]


def with_references(*references: str, reply: str = "yes") -> Pair:
    return Pair(Item("i", (), tuple(map(Reference, references))), Response("r", "i", "s", reply))


def sentences(seed: int, n: int, longest: int = 12) -> list[str]:
    r = random.Random(seed)
    return [" ".join(r.choices(WORDS, k=r.randint(1, longest))) for _ in range(n)]


# distinct


def test_distinct_of_a_response_counts_its_own_n_grams() -> None:
    # "ha ha ha": bigrams ha-ha twice; "a b a b": a-b, b-a, a-b.
    found = Distinct(n=2).score(said(["ha ha ha", "a b a b", "a b c", "one", " "]))
    assert found[:3] == [0.5, pytest.approx(2 / 3), 1.0]
    assert [math.isnan(v) for v in found[3:]] == [True, True]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_distinct_over_a_system_has_the_corpus_ratio_of_li_et_al_as_its_mean(n: int) -> None:
    first, second = sentences(1, 60), sentences(2, 40, longest=5)
    found = Distinct(n=n, over="system").score(said(first, "one") + said(second, "two"))
    for texts, scores in ((first, found[:60]), (second, found[60:])):
        grams = [tuple(t.split()[i : i + n]) for t in texts for i in range(len(t.split()) - n + 1)]
        known = [v for v in scores if not math.isnan(v)]
        assert len(known) == sum(len(t.split()) >= n for t in texts)
        assert sum(known) / len(known) == pytest.approx(len(set(grams)) / len(grams), rel=1e-12)


def test_distinct_over_a_system_shares_a_repeated_n_gram_between_its_owners() -> None:
    # Four unigrams, "a" three times: shares (1/3 + 1) and 1/3 + 1/3, times 2 responses / 4 unigrams.
    found = Distinct(n=1, over="system").score(said(["a b", "a a"]))
    assert found == [pytest.approx(2 / 3), pytest.approx(1 / 3)]


def test_distinct_over_a_system_may_be_above_1_for_a_long_response() -> None:
    metric = Distinct(n=1, over="system")
    assert max(metric.score(said(["a b c d e f", "a"]))) > 1
    assert metric.range == (0.0, math.inf)
    assert Distinct().range == (0.0, 1.0)


# self_bleu


@pytest.mark.parametrize("smoothing", ["epsilon", "method7", "exp", "none"])
@pytest.mark.parametrize("n", [1, 2, 4])
def test_self_bleu_of_responses_is_bleu_against_all_others(smoothing: Smoothing, n: int) -> None:
    texts = sentences(3, 40)
    found = SelfBleu(n=n, smoothing=smoothing).score(said(texts))
    bleu = Bleu(n=n, smoothing=smoothing)
    for i, text in enumerate(texts):
        against_others = bleu.score([with_references(*texts[:i], *texts[i + 1 :], reply=text)])
        assert [found[i]] == [pytest.approx(against_others[0], rel=1e-12)]


@pytest.mark.parametrize("n", [2, 3])
def test_self_bleu_of_few_responses_is_bleu_against_all_others(n: int) -> None:
    for seed in range(100):
        texts = sentences(seed, n, longest=8)
        found = SelfBleu().score(said(texts))
        expected = [
            Bleu().score([with_references(*texts[:i], *texts[i + 1 :], reply=text)])[0] for i, text in enumerate(texts)
        ]
        assert found == [pytest.approx(value, rel=1e-12) for value in expected]


def test_self_bleu_keeps_systems_apart_and_cannot_be_said_of_one_response() -> None:
    one, two = sentences(5, 8), sentences(6, 8)
    mixed = [pair for both in zip(said(one, "one"), said(two, "two"), strict=True) for pair in both]
    found = SelfBleu().score([*mixed, *said(["hello there"], "three"), *said([" "], "one")])
    assert found[0:16:2] == SelfBleu().score(said(one, "one"))
    assert found[1:16:2] == SelfBleu().score(said(two, "two"))
    assert math.isnan(found[16])
    assert math.isnan(found[17])


def test_self_bleu_of_a_system_that_always_says_the_same_is_1() -> None:
    assert SelfBleu().score(said(["I do not know , sorry ."] * 3)) == [pytest.approx(1, abs=1e-6)] * 3


def test_self_bleu_of_references_is_the_mean_over_them_whatever_the_response() -> None:
    references = sentences(7, 5)
    metric = SelfBleu(over="references")
    expected = [
        Bleu().score([with_references(*references[:i], *references[i + 1 :], reply=r)])[0]
        for i, r in enumerate(references)
    ]
    found = metric.score([with_references(*references, reply=reply) for reply in ("yes", "something else")])
    assert found == [pytest.approx(sum(expected) / 5, rel=1e-12)] * 2
    assert metric.needs == {"references"}
    assert SelfBleu().needs == frozenset()


def test_self_bleu_of_fewer_than_two_references_is_nan() -> None:
    found = SelfBleu(over="references").score([with_references("a b"), with_references(), with_references("a", " ")])
    assert all(math.isnan(v) for v in found)


@pytest.mark.parametrize("spec", ["distinct", "distinct(over='system')", "self_bleu", "self_bleu(over='references')"])
def test_statistics_are_json(spec: str) -> None:
    metric = parse(spec)
    assert isinstance(metric, Distinct | SelfBleu)
    pairs = [with_references("a b", "b a", reply=reply) for reply in ("a b c", "x", " ")]
    statistics = metric.statistic(pairs)
    assert json.loads(json.dumps(statistics, allow_nan=False)) == statistics
