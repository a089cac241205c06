"""A plain Python function as a metric: its parameters, its name, its digest, and where it cannot go."""

from __future__ import annotations

import functools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import rejoinder
from rejoinder.cli import program
from rejoinder.engines.local import LocalEngine
from rejoinder.metric import metric_of_function
from rejoinder.scoring.worker import score_pairs_with_engine

REPLIES, CONTEXTS = ["Fine, and you?", "No."], [["Hi!", "How are you?"], ["Tea?"]]


def asks_back(context: list[str], reply: str) -> float:
    return float(reply.endswith("?"))


def score(*functions: Any) -> rejoinder.Scores:
    return rejoinder.score(REPLIES, list(functions), contexts=CONTEXTS, references=[["Well."], ["No.", "Yes."]])


def first(function: Any) -> list[float]:
    scores = score(function)
    found: list[float] = scores[next(iter(scores.metrics))].tolist()
    return found


def test_a_function_of_context_and_reply_is_a_metric_with_its_name_and_digest() -> None:
    scores = score(asks_back)
    assert scores["asks_back"].tolist() == [1.0, 0.0]
    name, digest, version = scores.metrics["asks_back"].split("|")
    assert (name, version) == ("asks_back", "version:1")
    assert digest.startswith("function:")
    assert len(digest) == len("function:") + 12
    assert "asks_back" in str(scores)


def test_parameters_are_passed_by_name_or_as_context_and_reply() -> None:
    assert first(lambda turns, text: len(turns)) == [2, 1]
    assert first(lambda reply: len(reply)) == [14, 3]
    assert first(lambda reply, context: len(context)) == [2, 1]
    assert first(lambda references, reply: reply in references) == [0, 1]
    assert first(lambda pair: len(pair.item.references)) == [1, 2]

    def of_text(text: str, scale: float = 2.0) -> float:
        return scale * len(text)

    def of_pair(one: rejoinder.Pair) -> int:
        return len(one.item.context)

    assert first(of_text) == [28, 6]
    assert first(of_pair) == [2, 1]


def test_true_and_none_and_numpy_are_scores_and_a_text_is_not() -> None:
    assert first(lambda context, reply: reply == "No.") == [0, 1]
    assert first(lambda context, reply: np.bool_(True)) == [1, 1]
    assert first(lambda context, reply: np.float32(0.5)) == [0.5, 0.5]
    found = first(lambda context, reply: None if reply == "No." else 3)
    assert found[0] == 3
    assert math.isnan(found[1])
    with pytest.raises(rejoinder.RejoinderError, match="returned 'good'; a score must be a number"):
        score(lambda context, reply: "good")


def test_lambdas_are_named_by_their_place_and_a_function_twice_counts_once() -> None:
    scores = score("length", lambda c, r: 1, lambda c, r: 2, asks_back, asks_back)
    assert list(scores.metrics) == ["length", "lambda_2", "lambda_3", "asks_back"]


def test_what_the_source_does_not_say_makes_the_digest_unknown() -> None:
    def at_least(n: int) -> Any:
        def long_enough(context: list[str], reply: str) -> bool:
            return len(reply) >= n

        return long_enough

    class Rule:
        def __call__(self, context: list[str], reply: str) -> float:
            return 1.0

    for function in (at_least(5), functools.partial(lambda n, context, reply: n, 7), Rule()):
        signature = next(iter(score(function).metrics.values()))
        assert "|function:unknown|" in signature


def test_attributes_of_the_function_are_those_of_the_metric() -> None:
    def complaints(reply: str) -> float:
        return float(reply.count("no"))

    complaints.range = (0, 10)  # type: ignore[attr-defined]
    complaints.higher_is_better = False  # type: ignore[attr-defined]
    facts = score(complaints).facts["complaints"]
    assert facts.range == (0, 10)
    assert facts.higher_is_better is False


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda: 1, "has the parameters none; write it as"),
        (lambda a, b, c: 1, "has the parameters a, b, c"),
        (len, "has the parameters obj"),
        (lambda context, reply, *, scale: 1, "only has a name"),
        (lambda context, reply: 1 / 0, "failed: ZeroDivisionError"),
        (lambda context, reply: math.inf, "outside its range"),
        (int, "is not a metric"),
        (3, "is not a metric"),
    ],
)
def test_a_function_that_cannot_be_used_is_one_sentence(function: Any, said: str) -> None:
    with pytest.raises(rejoinder.RejoinderError, match=said):
        score(function)


def test_an_async_function_is_an_error() -> None:
    async def later(context: list[str], reply: str) -> float:
        return 1.0

    with pytest.raises(rejoinder.RejoinderError, match="async function"):
        score(later)


def test_two_functions_with_one_name_and_a_name_of_ours_are_errors() -> None:
    def bleu(context: list[str], reply: str) -> float:
        return 1.0

    def make(value: float) -> Any:
        def rule(context: list[str], reply: str) -> float:
            return value

        return rule

    with pytest.raises(rejoinder.RejoinderError, match="rename your function"):
        score(bleu)
    with pytest.raises(rejoinder.RejoinderError, match="two metrics are called rule"):
        score(make(1), make(2))


def test_a_function_of_this_program_says_that_other_processes_cannot_have_it() -> None:
    from rejoinder.data.collection import from_lists

    pairs = list(from_lists(["Yes."] * 600, None, None).pairs())
    metric = metric_of_function(asks_back)
    assert score_pairs_with_engine(LocalEngine(1), metric, pairs).tolist() == [0.0] * 600
    with pytest.raises(rejoinder.RejoinderError, match=r"other processes cannot load.*'\./mine\.py:asks_back'"):
        score_pairs_with_engine(LocalEngine(2), metric, pairs)
    with pytest.raises(rejoinder.RejoinderError, match=r"put it into a file and name it as '\./mine\.py:asks_back'"):
        rejoinder.Plan.of([asks_back])  # type: ignore[list-item]


def test_a_function_in_a_file_is_a_metric_for_every_command_and_any_number_of_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("def asks_back(context, reply):\n    return reply.endswith('?')\n")
    metric = rejoinder.parse("./mine.py:asks_back")
    assert str(metric) == "./mine.py:asks_back"
    assert rejoinder.parse(str(metric)) == metric
    before = rejoinder.signature(metric)
    assert "|file:" in before
    chats = Path(__file__).parents[1] / "examples" / "chats.jsonl"
    command = ["score", str(chats), "-m", "./mine.py:asks_back", "--processes", "2", "-o", "run"]
    done = CliRunner().invoke(program, command)
    assert done.exit_code == 0, done.output
    assert 0 < rejoinder.load("run").mean("./mine.py:asks_back", "attentive").value < 1
    (tmp_path / "mine.py").write_text("def asks_back(context, reply):\n    return 'What' in reply\n")
    assert rejoinder.signature(rejoinder.parse("./mine.py:asks_back")) != before
    with pytest.raises(rejoinder.RejoinderError, match="has no metric 'asks'"):
        rejoinder.parse("./mine.py:asks")
