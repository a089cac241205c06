from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from rejoinder.errors import SpecError
from rejoinder.metric import parse
from rejoinder.metrics.rouge_l import RougeL
from rejoinder.types import Item, Pair, Reference, Response

LINE = st.lists(st.sampled_from("the cat's cat, sat on. mat a 3.5 Ça x-y".split()), min_size=1, max_size=12).map(
    " ".join
)


def pair(reply: str, *references: str) -> Pair:
    return Pair(Item("i", (), tuple(map(Reference, references))), Response("r", "i", "s", reply))


@given(LINE, st.lists(LINE, min_size=1, max_size=4))
@settings(deadline=None, derandomize=True, database=None)
def test_best_is_the_score_of_the_rouge_score_package(reply: str, references: list[str]) -> None:
    expected = RougeScorer(["rougeL"]).score_multi(references, reply)["rougeL"].fmeasure
    found = RougeL(tokenizer="rouge", aggregate="best").score([pair(reply, *references)])
    assert found == [pytest.approx(expected, abs=1e-12)]


def common_length(first: list[str], second: list[str]) -> int:
    """The textbook table."""
    above = [0] * (len(second) + 1)
    for a in first:
        row = [0]
        for j, b in enumerate(second):
            row.append(above[j] + 1 if a == b else max(row[-1], above[j + 1]))
        above = row
    return above[-1]


def test_coco_combines_the_best_precision_and_the_best_recall() -> None:
    r = random.Random(1)
    for _ in range(200):
        reply, *references = (r.choices("a b c d e f word".split(), k=r.randint(1, 12)) for _ in range(4))
        common = [common_length(reply, reference) for reference in references]
        precision = max(c / len(reply) for c in common)
        recall = max(c / len(reference) for c, reference in zip(common, references, strict=True))
        expected = 2.44 * precision * recall / (recall + 1.44 * precision) if precision else 0.0
        found = RougeL().score([pair(" ".join(reply), *map(" ".join, references))])
        assert found == [pytest.approx(expected, abs=1e-12)]


def test_the_two_aggregates_differ_where_two_references_share_the_praise() -> None:
    # Reply of 4. "a b c d x x x x": precision 4/4, recall 4/8; "a": precision 1/4, recall 1/1.
    given_ = [pair("a b c d", "a b c d x x x x", "a")]
    assert RougeL().score(given_) == [1.0]
    assert RougeL(aggregate="best").score(given_) == [pytest.approx(2 / 3)]


def test_beta_weighs_recall() -> None:
    # Precision 1, recall 1/2: F2 = 5 * .5 / (.5 + 4).
    given_ = [pair("a b", "a b c d")]
    assert RougeL(beta=2.0).score(given_) == RougeL(aggregate="best", beta=2.0).score(given_) == [pytest.approx(5 / 9)]
    assert RougeL(beta=1.2).score(given_) == RougeL().score(given_)


def test_what_cannot_be_said_is_nan() -> None:
    found = RougeL().score([pair("hello"), pair(" ", "hello"), pair("hello", " "), pair("hello", " ", "bye")])
    assert [math.isnan(v) for v in found] == [True, True, True, False]


def test_a_reply_that_the_tokeniser_cannot_see_is_nan() -> None:
    assert math.isnan(RougeL(tokenizer="rouge").score([pair("你好", "你好")])[0])
    assert RougeL().score([pair("你好 👍", "你好 👍")]) == [1.0]


def test_a_beta_that_is_not_positive_is_told() -> None:
    with pytest.raises(SpecError, match=r"rouge_l: beta must be above 0, not 0\.0"):
        parse("rouge_l(beta=0)")


@pytest.mark.parametrize("references", ["singleref", "multiref", "scarce.singleref", "scarce.multiref"])
def test_correlations_with_ratings_are_those_of_the_scarce_authors(published: Path, references: str) -> None:
    """To .001, against the authors' result logs (harsh19/Diverse-Reference-Augmentation).

    The authors' code cut at each single space, so that the 55 references with a double space got an empty token.
    """
    from scipy.stats import kendalltau, pearsonr, spearmanr

    folder = published / "judgements" / "scarce"
    rows = json.loads((folder / f"{references}.json").read_text("utf-8"))
    expected = json.loads((folder / f"{references}.published.json").read_text("utf-8"))["ROUGE_L"]
    pairs = [pair(row["response"], *filter(None, row["all_references"])) for row in rows]
    ratings = [float(row["human_average_rating"]) for row in rows]
    scores = RougeL(tokenizer="whitespace", lowercase=False).score(pairs)
    assert spearmanr(scores, ratings)[0] == pytest.approx(expected["spearmanr"], abs=0.001)
    assert pearsonr(scores, ratings)[0] == pytest.approx(expected["pearsonr"], abs=0.001)
    assert kendalltau(scores, ratings)[0] == pytest.approx(expected["kendall_tau"], abs=0.001)
