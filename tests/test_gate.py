"""The gate: it passes, fails with a readable reason, or says what was asked wrongly."""

from __future__ import annotations

import random

import pytest

import rejoinder
from rejoinder.comparison.check import check, parse_condition
from rejoinder.errors import RunError, SpecError
from rejoinder.scoring.result import Scores


def replies(shift: int = 0, n: int = 30, seed: int = 0) -> Scores:
    """Replies that share some words with their reference; the shift takes words away."""
    r = random.Random(seed)
    words = [f"w{i}" for i in range(20)]
    references = [r.sample(words, 12) for _ in range(n)]
    texts = [" ".join(ref[: r.randint(5, 9) - shift] + ["x"] * (3 + shift)) for ref in references]
    return rejoinder.score(texts, references=[" ".join(ref) for ref in references], metrics=["rouge_l", "length"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bleu>=0.1", ("bleu", None, ">=", 0.1)),
        ("bleu(n=2) @ my bot < 3", ("bleu(n=2)", "my bot", "<", 3.0)),
        ("length<=-1e3", ("length", None, "<=", -1000.0)),
    ],
)
def test_a_condition_is_read_as_typed(text: str, expected: tuple[object, ...]) -> None:
    assert tuple(parse_condition(text)) == expected


@pytest.mark.parametrize("text", ["bleu", "bleu>=", ">=3", "bleu>=three", "bleu>=nan", "bleu>=1>=2"])
def test_a_condition_that_says_nothing_is_an_error(text: str) -> None:
    with pytest.raises(SpecError):
        parse_condition(text)


def test_a_threshold_passes_or_fails_with_the_figure() -> None:
    scores = replies()
    good, bad = check(scores, ["rouge_l>=0.3", "rouge_l@system>0.99"])
    assert good.passed
    assert not bad.passed
    assert "rouge_l of system is 0." in bad.reason
    assert "required > 0.99" in bad.reason


def test_an_unknown_metric_or_system_is_named() -> None:
    with pytest.raises(RunError, match="no scores of bleu"):
        check(replies(), ["bleu>=0"])
    with pytest.raises(RunError, match="did you mean 'system'"):
        check(replies(), ["rouge_l@systm>=0"])
    with pytest.raises(SpecError, match="nothing to check"):
        check(replies(), [])


def test_a_metric_without_scores_does_not_pass() -> None:
    scores = rejoinder.score(["a b c"], metrics=["rouge_l"])
    finding = check(scores, ["rouge_l>=0"])[0]
    assert not finding.passed
    assert "has no scores" in finding.reason


def test_a_run_that_is_surely_worse_fails_and_a_margin_forgives() -> None:
    old, new = replies(), replies(shift=3)
    worse = check(new, [], old)
    assert [f.passed for f in worse] == [False]  # length has no direction and is not held against anybody
    assert "surely worse" in worse[0].reason
    assert check(old, [], new)[0].passed
    assert check(new, [], old, margin=0.9)[0].passed


def test_the_same_run_is_not_worse_than_itself() -> None:
    assert all(f.passed for f in check(replies(), [], replies()))


def test_runs_with_nothing_in_common_cannot_be_compared() -> None:
    other = rejoinder.score(["a"], metrics=["length"])
    with pytest.raises(RunError, match="no metric with a direction in common"):
        check(replies(), [], other)
