"""A metric restricted to references from some sources."""

from __future__ import annotations

import math

import pytest

import rejoinder
from rejoinder.errors import SpecError
from rejoinder.metric import signature
from rejoinder.metrics.bleu import Bleu
from rejoinder.metrics.with_references import WithReferences
from rejoinder.scoring import compute
from rejoinder.types import Item, Pair, Reference, Response, Turn

REFERENCES = (
    Reference("we went home late"),
    Reference("the train was late today", "retrieval"),
    Reference("I feel tired now", "commonsense/atomic", 0.5, "x | oReact | tired"),
    Reference("I am very tired", "human-edited"),
)


def pair(text: str, references: tuple[Reference, ...] = REFERENCES) -> Pair:
    return Pair(Item("i", (Turn("And?"),), references), Response("r", "i", "s", text))


@pytest.mark.parametrize(
    ("sources", "kept"),
    [
        ("human", [0, 3]),
        ("retrieval", [1]),
        ("commonsense", [2]),
        ("commonsense/atomic", [2]),
        ("human-edited", [3]),
        ("retrieval + human", [0, 1, 3]),
    ],
)
@pytest.mark.parametrize("spec", ["bleu(n=2)", "rouge_l", "chrf"])
def test_it_scores_what_the_metric_scores_with_those_references_alone(spec: str, sources: str, kept: list[int]) -> None:
    metric, inner = WithReferences(spec, sources), rejoinder.parse(spec)
    for text in ("the train was late", "I feel very tired", "we went by train"):
        alone = pair(text, tuple(REFERENCES[i] for i in kept))
        assert metric.score([pair(text)]) == inner.score([alone])
        place = inner.match([alone])[0]
        assert metric.match([pair(text)]) == [kept[place] if place is not None else None]


def test_a_source_is_no_mere_beginning_of_a_word() -> None:
    assert math.isnan(WithReferences("bleu", "retri").score([pair("the train was late")])[0])


def test_without_such_a_reference_there_is_no_score_and_no_match() -> None:
    metric = WithReferences("bleu(n=1)", "paraphrase")
    pairs = [pair("the train"), pair("the train", (*REFERENCES, Reference("a train", "paraphrase")))]
    found = metric.score(pairs)
    assert math.isnan(found[0])
    assert found[1] == pytest.approx(0.5)
    assert metric.match(pairs) == [None, 4]
    assert metric.cut(pairs) == [False, False]
    assert compute.measure_pairs(metric, pairs)[0] is None


def test_it_has_what_the_metric_has() -> None:
    metric = WithReferences("sentence_cosine", "human")
    assert metric.range == (-1.0, 1.0)
    assert metric.decimals == rejoinder.parse("sentence_cosine").decimals
    assert metric.needs == {"references"}


def test_two_ways_to_write_it_are_one_metric() -> None:
    metric = rejoinder.parse("with_references(metric='bleu(n = 4, smoothing=\"none\")', sources=' retrieval+human ')")
    assert metric == WithReferences("bleu(smoothing='none')", "human+retrieval")
    assert rejoinder.parse(str(metric)) == metric
    assert signature(Bleu(smoothing="none")) in signature(metric)


def test_a_metric_that_cannot_be_restricted_is_an_error() -> None:
    with pytest.raises(SpecError, match="length uses no references"):
        WithReferences("length")
    with pytest.raises(SpecError, match=r"self_bleu\(over='references'\) depends on the whole set"):
        WithReferences("self_bleu(over='references')")
    with pytest.raises(SpecError, match="did you mean 'bleu'"):
        WithReferences("blue")
    with pytest.raises(SpecError, match="names joined by '\\+'"):
        WithReferences("bleu", "human+")
