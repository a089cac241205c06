"""Delta-BLEU against a direct computation, against BLEU where all weigh the same, and the authors' own figures."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest

from rejoinder.errors import InputError, SpecError
from rejoinder.metrics.bleu import Bleu
from rejoinder.metrics.delta_bleu import DeltaBleu
from rejoinder.types import Item, Pair, Reference, Response

WORDS = "a b c d e f".split()


def pair(text: str, references: list[Reference]) -> Pair:
    return Pair(Item("i", (), tuple(references)), Response("r", "i", "s", text))


def grams(words: list[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def direct(reply: str, references: list[tuple[str, float]], n: int) -> float:
    """The formula of Galley et al. (2015) for one reply, written out; no smoothing."""
    words, product = reply.split(), 1.0
    for k in range(1, n + 1):
        above = below = 0.0
        for gram, times in grams(words, k).items():
            having = [w * min(times, grams(r.split(), k)[gram]) for r, w in references if grams(r.split(), k)[gram]]
            above += max(having, default=0.0)
            below += max(w * times for _, w in references)
        product *= above / below if below else 0.0
    length = len(words)
    closest = min((abs(len(r.split()) - length), len(r.split())) for r, w in references if w)[1]
    brevity = 1.0 if length >= closest else math.exp(1 - closest / length)
    return brevity * product ** (1 / n)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_it_is_the_formula_computed_directly(n: int) -> None:
    draw = random.Random(n)
    metric = DeltaBleu(n, retrieval=0.7, commonsense=0.3, other=0.1, smoothing="none", tokenizer="whitespace")
    weights = {"human": 1.0, "retrieval": 0.7, "commonsense/comet": 0.3, "elsewhere": 0.1}
    for _ in range(200):
        sources = draw.choices(list(weights), k=draw.randint(1, 5))
        references = [Reference(" ".join(draw.choices(WORDS, k=draw.randint(1, 9))), source) for source in sources]
        reply = " ".join(draw.choices(WORDS, k=draw.randint(n, 9)))
        expected = direct(reply, [(r.text, weights[r.source]) for r in references], n)
        assert metric.score([pair(reply, references)])[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("smoothing", ["exp", "epsilon", "none"])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_where_all_weigh_the_same_it_is_bleu(n: int, smoothing: str) -> None:
    draw = random.Random(n)
    pairs = []
    for _ in range(100):
        references = [Reference(" ".join(draw.choices(WORDS, k=draw.randint(1, 9)))) for _ in range(draw.randint(1, 4))]
        pairs.append(pair(" ".join(draw.choices(WORDS, k=draw.randint(1, 9))), references))
    plain = Bleu(n, smoothing).score(pairs)  # type: ignore[arg-type]
    for human in (1.0, 0.4):
        ours = DeltaBleu(n, human=human, smoothing=smoothing).score(pairs)  # type: ignore[arg-type]
        assert ours == pytest.approx(plain, rel=1e-12)


def test_the_precisions_are_those_that_the_authors_print() -> None:
    """The example of the authors' program (mgalley/sacreBLEU, README): 77.3 and 54.4 for the first system.

    It is over the whole set: the sums of the matches over the sums of the n-grams, so n-grams are counted here again.
    References of weight 0 or less are left out: they can neither match better nor weigh more.
    """
    first = [("the food was delicious .", "human"), ("it was tasty .", "retrieval"), ("it was good .", "commonsense")]
    second = [
        ("it was great .", "human"),
        ("i enjoyed the music .", "retrieval"),
        ("i liked the music .", "commonsense"),
    ]
    said = ["the food was quite good .", "the music was great ."]
    pairs = [pair(t, [Reference(*r) for r in rs]) for t, rs in zip(said, (first, second), strict=True)]
    metrics = [DeltaBleu(1, retrieval=w, commonsense=0.3, smoothing="none") for w in (0.7, 0.6)]
    words = [m.score([p])[0] * len(t.split()) for m, p, t in zip(metrics, pairs, said, strict=True)]
    assert 100 * sum(words) / 11 == pytest.approx(77.3, abs=0.05)
    both = [DeltaBleu(2, retrieval=w, commonsense=0.3, smoothing="none") for w in (0.7, 0.6)]
    bigrams = [
        m.score([p])[0] ** 2 / (found / len(t.split())) * (len(t.split()) - 1)
        for m, p, t, found in zip(both, pairs, said, words, strict=True)
    ]
    assert 100 * sum(bigrams) / 9 == pytest.approx(54.4, abs=0.05)


def test_matching_a_light_reference_is_worth_less_and_no_match_least() -> None:
    references = [Reference("one two three"), Reference("four five six", "retrieval")]
    metric = DeltaBleu(2, other=0.5)
    best, less, none = metric.score([pair(t, references) for t in ("one two three", "four five six", "seven")])
    assert best == 1.0
    assert less == pytest.approx(0.5)
    assert none == 0.0
    # One word and no pair: the pair counts as half a match of the lightest reference, so less than a match of it.
    unpaired = metric.score([pair("four six", references)])[0]
    assert unpaired == pytest.approx(math.exp(1 - 3 / 2) * math.sqrt(0.5 * 0.25))
    assert unpaired < metric.score([pair("four five", references)])[0]


def test_scores_become_weights_source_by_source() -> None:
    references = [
        Reference("a"),
        Reference("b", "retrieval", 4.0),
        Reference("c", "retrieval", 3.0),
        Reference("d", "retrieval", 2.0),
        Reference("e", "commonsense/atomic", 0.4),
        Reference("f", "retrieval"),
    ]
    assert DeltaBleu(weight="score", other=0.5).weights(references) == [1.0, 0.5, 0.25, 0.0, 0.5, 0.5]
    assert DeltaBleu(other=0.5).weights(references) == [1.0, 0.5, 0.5, 0.5, 0.5, 0.5]


def test_probabilities_are_weights_as_they_are() -> None:
    references = [Reference("a"), Reference("b", "retrieval", 0.7), Reference("c", "retrieval")]
    assert DeltaBleu(weight="probability", retrieval=0.5).weights(references) == [1.0, 0.35, 0.5]
    with pytest.raises(InputError, match="needs scores from 0 to 1, a reference has 4"):
        DeltaBleu(weight="probability").weights([Reference("b", "retrieval", 4.0)])


def test_edited_by_people_counts_as_human_and_named_sources_have_their_own_weight() -> None:
    sources = ["human", "human-edited", "commonsense/comet", "paraphrase", "example"]
    metric = DeltaBleu(commonsense=0.2, other=0.1)
    assert metric.weights([Reference("x", source) for source in sources]) == [1.0, 1.0, 0.2, 0.1, 0.1]


def test_the_match_is_the_best_by_score_and_weight() -> None:
    references = [Reference("four five six seven", "retrieval"), Reference("four five six eight nine ten")]
    reply = "four five six seven"
    assert DeltaBleu(2, other=1.0).match([pair(reply, references)]) == [0]
    assert DeltaBleu(2, other=0.1).match([pair(reply, references)]) == [1]
    assert DeltaBleu(2, other=0.0).match([pair(reply, references[:1])]) == [None]


def test_without_a_reference_that_weighs_there_is_no_score() -> None:
    assert math.isnan(DeltaBleu(other=0.0).score([pair("a b", [Reference("a b", "retrieval")])])[0])
    assert math.isnan(DeltaBleu().score([pair("a b", [])])[0])
    assert math.isnan(DeltaBleu().score([pair("a b", [Reference("")])])[0])


def test_a_weight_outside_0_and_1_is_an_error() -> None:
    with pytest.raises(SpecError, match=r"other is a weight and must be from 0 to 1, not 1\.5"):
        DeltaBleu(other=1.5)
    with pytest.raises(SpecError, match="human is a weight"):
        DeltaBleu(human=-0.1)
    with pytest.raises(SpecError, match="weight must be one of 'source', 'score'"):
        DeltaBleu(weight="rating")  # type: ignore[arg-type]
