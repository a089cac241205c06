"""Judge: a language model rates, by a rubric, how good a reply is in its conversation, or a whole dialogue."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, ClassVar

from rejoinder.data.parts import read_part
from rejoinder.errors import SpecError
from rejoinder.judges import answer, prompt
from rejoinder.judges.answer_summary import price_answers, summarise_answers
from rejoinder.judges.embedded import VERSION, EmbeddedJudge
from rejoinder.judges.endpoint import AnswerFormat, RatingRequest, RemoteJudge
from rejoinder.judges.factory import EMBEDDED
from rejoinder.judges.material import build_rating_request
from rejoinder.judges.rubric import load_rubric
from rejoinder.metric import NAN, Metric
from rejoinder.metrics._context import has_spoken, map_spoken
from rejoinder.scoring.cost import RequestPreview, RequestPrice
from rejoinder.spec import check_between, check_choice
from rejoinder.types import Pair


@dataclass(frozen=True)
class Judge(Metric):
    """The score that a language model gives a reply, on the scale of a rubric (from 1 to 5 by default).

    ``model='embedded'`` reads the probabilities of a small model's answers, free of charge; any other model is
    requested from the endpoint that the environment sets. ``rubric`` is a packaged one (``rejoinder list rubrics``) or
    a .toml file; ``repeats`` asks several times, to see how consistent the judge is, and takes the mean. ``format``
    says how the answer is requested; ``logprobs`` takes the expected score under the log-probabilities of the score's
    token, where the endpoint returns them. NaN without a context, without what the rubric needs (documents, for
    example), and if no answer can be read. By a rubric of whole dialogues, each dialogue is rated once, at its system's
    last reply.
    """

    model: str = EMBEDDED
    rubric: str = "default"
    repeats: int = 1
    temperature: float | None = 0.0
    max_tokens: int | None = 512
    format: AnswerFormat = "auto"
    logprobs: bool = False

    needs = frozenset({"context"})
    range = (1.0, 5.0)
    languages = "model"
    citation = "Zheng et al. 2023, Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena; docs/judge.md"
    decimals = 4
    large = True
    endpoint_parameters = frozenset({"model"})
    replaced_parameters: ClassVar[Mapping[str, str]] = {"json_mode": "format='schema'"}

    def __post_init__(self) -> None:
        check_between("judge", "repeats", self.repeats, 1, 100)
        if not self.model or self.model.isspace():
            raise SpecError("judge: model must name a model; write e.g. judge(model='embedded')")
        if self.temperature is not None and not 0 <= self.temperature <= 2:
            raise SpecError(f"judge: temperature must be from 0 to 2, or None, not {self.temperature}")
        if self.max_tokens is not None:
            check_between("judge", "max_tokens", self.max_tokens, 1, 100_000)
        if self.model == EMBEDDED and self.repeats > 1:
            raise SpecError("judge: the embedded model always gives the same answer; leave repeats out")
        check_choice("judge", "format", self.format, AnswerFormat)
        if self.model == EMBEDDED and (self.logprobs or self.format != "auto"):
            raise SpecError("judge: the embedded model writes no text; leave format and logprobs out")
        rubric = load_rubric(self.rubric)
        object.__setattr__(self, "range", (float(rubric.low), float(rubric.high)))
        object.__setattr__(self, "needs", frozenset({"context", *rubric.needs}))
        object.__setattr__(self, "reads", frozenset(rubric.shows) - self.needs)
        object.__setattr__(self, "whole_dialogues", rubric.unit == "dialogue")

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the rating of each response, or of the dialogue that it ends; the mean of the repeats."""
        known = [all(read_part(pair, part) for part in self.needs) for pair in pairs]
        values = iter(
            map_spoken([pair for pair, has_all in zip(pairs, known, strict=True) if has_all], self._scores, NAN)
        )
        return [next(values) if has_all else NAN for has_all in known]

    def _scores(self, pairs: Sequence[Pair]) -> list[float]:
        judge, requests = self.judge(), self.to_requests(pairs)
        if isinstance(judge, EmbeddedJudge):
            return judge.rate(requests)
        readable = ([score for score in scores if score is not None] for scores in judge.rate(requests))
        return [fmean(scores) if scores else NAN for scores in readable]

    def judge(self) -> EmbeddedJudge | RemoteJudge:
        """Return the judge itself, for raw answers and comparisons."""
        rubric = load_rubric(self.rubric)
        if self.model == EMBEDDED:
            return EmbeddedJudge(rubric)
        return RemoteJudge(
            self.model, rubric, self.repeats, self.temperature, self.max_tokens, self.format, self.logprobs
        )

    @property
    def is_remote(self) -> bool:
        """Whether the model is at an endpoint, where a request may cost something."""
        return self.model != EMBEDDED

    def to_requests(self, pairs: Sequence[Pair]) -> list[RatingRequest]:
        """Return pairs as requests to the judge: what the rubric shows of each."""
        rubric = load_rubric(self.rubric)
        return [build_rating_request(rubric, pair) for pair in pairs]

    def to_request(self, pair: Pair) -> RatingRequest:
        """Return a pair as a request to the judge."""
        return self.to_requests([pair])[0]

    def is_open(self, pairs: Sequence[Pair]) -> bool:
        """Whether some pair's answer was refused or unreadable and would be requested again."""
        judge = self.judge()
        return isinstance(judge, RemoteJudge) and judge.is_open(self.to_requests(pairs))

    def trace(self, pairs: Sequence[Pair]) -> Iterator[list[dict[str, Any]]]:
        """Yield every raw answer about each pair and what was read from it; nothing for the embedded model."""
        judge = self.judge()
        if isinstance(judge, EmbeddedJudge):
            return
        for answers in judge.stored_answers(self.to_requests(pairs)):
            yield [one.record() for one in answers]

    def summarise_traces(self, records: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Return how many answers there are, how they were asked for, and why some could not be read."""
        return summarise_answers(records)

    def preview_requests(self, pairs: Sequence[Pair]) -> Iterator[RequestPreview]:
        """Yield the requests about some pairs, without sending them; none for the embedded model."""
        judge = self.judge()
        spoken = [pair for pair in pairs if has_spoken(pair)]
        return iter(()) if isinstance(judge, EmbeddedJudge) else judge.preview(self.to_requests(spoken))

    def request_price(self) -> RequestPrice | str:
        """Return the price of the model's tokens, or why it is not known; an empty text for the embedded model."""
        judge = self.judge()
        return "" if isinstance(judge, EmbeddedJudge) else judge.request_price()

    def longest_output(self) -> int | None:
        """Return the most tokens of an answer."""
        return self.max_tokens

    def price_answers(self, summary: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the answers of a run cost, from their summary."""
        return price_answers(summary, self.model)

    def cut(self, pairs: Sequence[Pair]) -> list[bool]:
        """Return which pairs are too long for the embedded model; the limits of an endpoint are not known here."""
        judge = self.judge()
        if isinstance(judge, EmbeddedJudge):
            return judge.cut(self.to_requests(pairs))
        return [False] * len(pairs)

    def details(self) -> dict[str, str]:
        """Return the digest of the rubric, the version of the wording, and the embedded model's digest."""
        judge = self.judge()
        own = {"rubric_digest": judge.rubric.digest[:12]}
        if isinstance(judge, EmbeddedJudge):
            return {**own, "wording": f"embedded {VERSION}", "weights": judge.model.digest[:12]}
        return {**own, "wording": f"chat {prompt.VERSION}", "reading": str(answer.VERSION)}
