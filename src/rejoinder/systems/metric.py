"""A metric as a system: candidates become responses, and the one with the best score is chosen."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rejoinder.data.parts import read_part
from rejoinder.errors import RejoinderError, SpecError, brief
from rejoinder.metric import NAN, Metric, Row, SetMetric, Statistic, parse, signature
from rejoinder.systems._base import System
from rejoinder.systems._texts import distinct_texts, place_scores, spoken_question_turns
from rejoinder.types import Item, Pair, Question, Response

_UNAVAILABLE = ("references", "future", "documents", "tool_calls")
_MOST_PAIRS = 1024  # that a metric gets at once


@dataclass(frozen=True)
class Measured(System):
    """The score of a metric, negated if lower is better; ``spec`` is the metric's own.

    Metrics that need references or the future cannot answer a question, and metrics without a better direction cannot
    choose. A metric of the whole set gets all candidates of all questions. NaN if the metric has no score.
    """

    spec: str

    citation = "that of the metric"
    alone = True  # the scores of a question do not depend on the others

    def __post_init__(self) -> None:
        metric = self._metric
        if missing := [part for part in _UNAVAILABLE if part in metric.needs]:
            raise SpecError(
                f"the metric {metric} needs {missing[0]}, which a question does not have; use one that needs only the "
                "context, such as aptness or idk"
            )
        if metric.higher_is_better is None:
            raise SpecError(
                f"the metric {metric} does not say whether higher or lower is better, so it cannot choose; use one "
                "that does, such as aptness or idk"
            )
        object.__setattr__(self, "spec", str(metric))  # one metric has one spec, however it was typed
        object.__setattr__(self, "decimals", metric.decimals)
        object.__setattr__(self, "alone", not isinstance(metric, SetMetric))

    @cached_property
    def _metric(self) -> Metric:
        return parse(self.spec)

    def score(self, questions: Sequence[Question]) -> list[list[float]]:
        """Return one score per candidate; higher is better."""
        texts = [(number, text) for number, question in enumerate(questions) for text in distinct_texts(question)]
        places: list[tuple[int, str]] = []
        rows: list[Row] = []
        for start in range(0, len(texts), _MOST_PAIRS):
            part = texts[start : start + _MOST_PAIRS]
            pairs = [_candidate_pair(questions[number], text, start + k) for k, (number, text) in enumerate(part)]
            known = [k for k, pair in enumerate(pairs) if self._has_all(pair)]
            for k, statistic in zip(known, self._statistics([pairs[k] for k in known]), strict=True):
                if statistic is not None:
                    places.append(part[k])
                    rows.append(Row(pairs[k].response.id, pairs[k].item.id, pairs[k].response.system, statistic))
        scores: list[dict[str, float]] = [{} for _ in questions]
        for (number, text), value in zip(places, self._settle(rows), strict=True):
            scores[number][text] = self._number(value)
        return [place_scores(question, by_text) for question, by_text in zip(questions, scores, strict=True)]

    def details(self) -> dict[str, str]:
        """Return the signature of the metric."""
        return {"of": signature(self._metric)}

    def _has_all(self, pair: Pair) -> bool:
        return all(read_part(pair, need) for need in self._metric.needs)

    def _statistics(self, pairs: Sequence[Pair]) -> Sequence[Statistic]:
        """Return the score of each pair, or the statistic of a metric of the whole set."""
        metric = self._metric
        try:
            verb = metric.statistic if isinstance(metric, SetMetric) else metric.score
            statistics: Sequence[Statistic] = verb(pairs) if pairs else []
        except RejoinderError:
            raise
        except Exception as error:
            if type(metric).__module__.startswith("rejoinder."):
                raise
            raise RejoinderError(f"the metric {metric} failed: {type(error).__name__}: {error}") from error
        return self._check_count(statistics, len(pairs))

    def _settle(self, rows: Sequence[Row]) -> Sequence[Any]:
        if not isinstance(self._metric, SetMetric):
            return [row.statistic for row in rows]
        return self._check_count(self._metric.settle(rows) if rows else [], len(rows))

    def _check_count(self, values: Sequence[Any], expected: int) -> Sequence[Any]:
        if len(values) != expected:
            plural = "s" if len(values) != 1 else ""
            raise RejoinderError(
                f"the metric {self._metric} returned {len(values)} value{plural} for {expected} candidates; it must "
                "return one each"
            )
        return values

    def _number(self, value: Any) -> float:
        """Return a score rounded as in a run, negated if lower is better."""
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise RejoinderError(f"the metric {self._metric} returned {brief(value)}; a score must be a number")
        number = float(value)
        if math.isnan(number):
            return NAN
        rounded = number if self._metric.decimals is None else round(number, self._metric.decimals)
        return rounded if self._metric.higher_is_better else -rounded


def _candidate_pair(question: Question, text: str, number: int) -> Pair:
    item = Item(question.id, spoken_question_turns(question), situation=question.situation, dialogue=question.dialogue)
    return Pair(item, Response(f"{question.id}/{number}", question.id, "candidate", text))
