"""Requests to a judge as a file, and its answers or verdicts read back: for a server that cannot be reached from here.

Requests and answers are lines of JSON as OpenAI's batches have them, which vLLM (``vllm run-batch``) and other servers
read and write. Verdicts are what was read from the answers, by the digest of the request: no text of a request or of an
answer is in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from rejoinder.errors import InputError
from rejoinder.judges import answer, prompt
from rejoinder.judges.answer import read_choice, read_score
from rejoinder.judges.completion import parse_chat_completion
from rejoinder.judges.endpoint import RatingRequest, RemoteJudge, swap_choice
from rejoinder.judges.expected_score import compute_expected_score
from rejoinder.judges.pairs import PairComparison, ResponsePair
from rejoinder.judges.protocol import EndpointRequest, RequestStyle, write_request

_URL = "/v1/chat/completions"
_DECIMALS = 6  # of expected scores


@dataclass(frozen=True)
class AskedRequests:
    """Everything that a judge is asked: ratings of single replies, and choices between two."""

    judge: RemoteJudge
    ratings: Sequence[RatingRequest]
    pairs: Sequence[ResponsePair]

    @property
    def by_rating(self) -> dict[str, EndpointRequest]:
        """The requests for ratings, by key."""
        return {request.key: request for one in self.ratings for request in self.judge.rating_requests(one)}

    @property
    def by_choice(self) -> dict[str, EndpointRequest]:
        """The requests for choices, by key."""
        return {request.key: request for one in self.pairs for request in self.judge.choice_requests(one)}

    def lines(self) -> Iterator[bytes]:
        """Every request as a line of a batch."""
        for key, request in {**self.by_rating, **self.by_choice}.items():
            style = RequestStyle(request.form.formats[0] if request.form is not None else "text")
            body = orjson.loads(write_request(request.body, request.form, style, is_anthropic=False))
            line = {"custom_id": key, "method": "POST", "url": _URL, "body": body}
            yield orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)

    def describe(self) -> dict[str, Any]:
        """What decides what is asked, and how answers are read."""
        versions = {"wording": prompt.VERSION, "reading": answer.VERSION}
        return {"model": self.judge.model, "rubric": self.judge.rubric.digest[:12], **versions}


@dataclass(frozen=True)
class Verdicts:
    """The verdicts of a judge on what it was asked: None where an answer could not be read.

    ``expected`` are the expected scores under the log-probabilities, where the answers have them.
    """

    asked: AskedRequests
    values: Mapping[str, float | str | None]
    models: Sequence[str]  # as the answers name them
    expected: Mapping[str, float] = field(default_factory=dict)

    def rate(self, requests: Sequence[RatingRequest], as_written: bool = False) -> list[list[float | None]]:
        """The scores of each reply, one per repeat: the expected ones where they are known, or as written."""
        judge = self.asked.judge
        scores: Mapping[str, Any] = self.values if as_written else {**self.values, **self.expected}
        return [[scores[r.key] for r in judge.rating_requests(one)] for one in requests]

    def compare(self, pairs: Sequence[ResponsePair]) -> list[PairComparison]:
        """Which of two replies is better, in both orders."""
        found: list[list[Any]] = [[self.values[r.key] for r in self.asked.judge.choice_requests(one)] for one in pairs]
        return [PairComparison.of_choices(forward, swap_choice(backward)) for forward, backward in found]

    def to_json(self) -> str:
        """The verdicts as a file: no texts, digests of what was asked."""
        verdicts = {"verdicts": dict(self.values), "expected": dict(self.expected)}
        content = {**self.asked.describe(), "models": list(self.models), **verdicts}
        return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def read_verdicts(path: Path, asked: AskedRequests) -> Verdicts:
    """The verdicts on everything that was asked, from a file of answers or of verdicts."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); name a file with the judge's answers") from None
    stored = _parse_json(content)
    if isinstance(stored, dict) and "verdicts" in stored:
        found = Verdicts(asked, stored["verdicts"], stored.get("models", ()), stored.get("expected", {}))
    else:
        found = _read_answers(content.splitlines(), path, asked)
    keys = [*asked.by_rating, *asked.by_choice]
    missing = sum(key not in found.values for key in keys)
    if missing:
        raise InputError(
            f"{path}: {missing:,} of {len(keys):,} requests have no answer; answer all requests of the present wording"
        )
    expected = {key: found.expected[key] for key in keys if key in found.expected}
    return replace(found, values={key: found.values[key] for key in keys}, expected=expected)


def _read_answers(lines: Iterable[bytes], path: Path, asked: AskedRequests) -> Verdicts:
    ratings, choices, rubric = asked.by_rating, asked.by_choice, asked.judge.rubric
    values: dict[str, float | str | None] = {}
    expected: dict[str, float] = {}
    models: set[str] = set()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        found = _parse_json(line)
        if not isinstance(found, dict) or "custom_id" not in found:
            raise InputError(f"{path} line {number}: is not an answer of a batch; it needs custom_id and response")
        key, response = found["custom_id"], found.get("response")
        if not isinstance(response, dict) or response.get("status_code", 200) != 200:
            continue  # a request that failed has no answer
        completion = parse_chat_completion(orjson.dumps(response.get("body")))
        models |= {completion.model} if completion.model else set()
        if key in ratings:
            score = values[key] = read_score(completion.content, rubric, completion.ending).score
            mean = None if score is None else compute_expected_score(completion, rubric, score)
            expected |= {} if mean is None else {key: round(mean, _DECIMALS)}
        elif key in choices:
            values[key] = read_choice(completion.content, completion.ending).choice
    return Verdicts(asked, values, sorted(models), expected)


def _parse_json(content: bytes) -> Any:
    try:
        return orjson.loads(content)
    except ValueError:
        return None
