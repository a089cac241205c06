"""The expected score under the probabilities of the score's token (G-Eval, Liu et al. 2023, equation 1).

An answer's score is one token out of those that the model might have written in its place. Where the endpoint returns
their log-probabilities, the score is the mean of the scale's levels, weighted with their probabilities there.

Numbers of several tokens are left to the written score: after "1" a model may go on to "10", and the probability of
that is not in the answer. So on a scale with numbers above 9, the probabilities count only where a number of two digits
is itself among the tokens, which shows that the model writes such numbers as one token.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from rejoinder.judges.answer import read_score
from rejoinder.judges.completion import ChatCompletion
from rejoinder.judges.rubric import Rubric

_KEY = re.compile(r"(?:score|rating|grade)\W{1,9}\Z", re.IGNORECASE)
_AROUND_NUMBER = " \t\n\"'*`:Ġ▁"


def compute_expected_score(completion: ChatCompletion, rubric: Rubric, written: float) -> float | None:
    """The expected score at the token of the written one; None where the log-probabilities do not show it."""
    texts = [token.get("token") if isinstance(token, dict) else None for token in completion.tokens]
    if not texts or not all(isinstance(text, str) for text in texts):
        return None
    whole = "".join(str(text) for text in texts)
    reading = read_score(whole, rubric, completion.ending)
    if reading.score != written or reading.span is None:
        return None
    place = _find_token([str(text) for text in texts], whole, _number_span(whole, reading.span, written))
    if place is None:
        return None
    weights = _level_weights(completion.tokens[place], rubric)
    total = sum(weights.values())
    if written not in weights or not total:
        return None
    return sum(level * weight for level, weight in weights.items()) / total


def _number_span(text: str, span: tuple[int, int], written: float) -> tuple[int, int] | None:
    """The place of a whole number in a span that states it; None where it is there more than once."""
    number = f"{written:g}"
    starts = [
        place
        for place in range(span[0], span[1] - len(number) + 1)
        if text.startswith(number, place) and not (text[place - 1 : place] + text[place + len(number) :][:1]).isalnum()
    ]
    if len(starts) > 1:
        starts = [place for place in starts if _KEY.search(text[span[0] : place])]
    return (starts[0], starts[0] + len(number)) if len(starts) == 1 else None


def _find_token(texts: Sequence[str], whole: str, span: tuple[int, int] | None) -> int | None:
    """The index of the token that has a span of the text, and nothing else but blanks and quotation marks."""
    position = 0
    for index, text in enumerate(texts):
        end = position + len(text)
        if span is not None and position <= span[0] < end:
            is_number = span[1] <= end and text.strip(_AROUND_NUMBER) == whole[span[0] : span[1]]
            return index if is_number else None
        position = end
    return None


def _level_weights(token: Any, rubric: Rubric) -> dict[float, float]:
    """The probability of each level among the tokens that were possible at one place; empty where it is not known."""
    weights: dict[str, float] = {}
    for text, log_probability in _alternatives(token):
        weights.setdefault(text, math.exp(log_probability))
    by_level: dict[float, float] = {}
    for text, weight in weights.items():
        number = text.strip(_AROUND_NUMBER)
        if number.isdecimal() and len(number) <= 3 and int(number) in rubric.levels:
            by_level[float(number)] = by_level.get(float(number), 0.0) + weight
    has_one_token_numbers = rubric.high <= 9 or any(level > 9 for level in by_level)
    return by_level if has_one_token_numbers else {}


def _alternatives(token: Any) -> Iterator[tuple[str, float]]:
    """The tokens of one place with their log-probabilities, the written one first."""
    others = token.get("top_logprobs")
    for one in (token, *(others if isinstance(others, list) else ())):
        fields: dict[str, Any] = one if isinstance(one, dict) else {}
        text, value = fields.get("token"), fields.get("logprob", math.nan)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if isinstance(text, str) and is_number and -1e6 <= value <= 1e-6:  # NaN is not
            yield text, float(value)
