"""A language model behind a completion endpoint as a system: it repeats the prompt with its log-probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from rejoinder.contract import NAN
from rejoinder.judging.asking import Request
from rejoinder.judging.consistency import Tally
from rejoinder.judging.errors import JudgeError
from rejoinder.metrics._parameters import check_between
from rejoinder.models.joining import plain
from rejoinder.systems._completions import as_chat
from rejoinder.systems._contract import System
from rejoinder.systems._echo import VERSION, UnechoedError, reply_values
from rejoinder.systems._endpoint import Endpoint, check_endpoint, request
from rejoinder.systems._likelihood import CITATION, Normalise, check_normalise, minus_loss
from rejoinder.systems._texts import placed, replies, said
from rejoinder.types import Question

_FIRST = 3  # requests that show whether the endpoint repeats prompts, before the others are paid for


class _Asked(NamedTuple):
    """A candidate, and the request that shows it behind its context."""

    text: str
    request: Request


@dataclass(frozen=True)
class Completion(System):
    """Minus the softmax cross-entropy of each candidate after its context, by an endpoint's /completions.

    The prompt is a line a turn and the candidate as the last line; it is sent with ``echo`` and ``logprobs``, and the
    log-probabilities of the tokens of the last line count. ``normalise='token'`` takes their mean, ``'none'`` their
    sum. ``max_tokens`` is 0, or 1 for servers that must write something. NaN where the endpoint refuses a prompt.
    """

    model: str
    url: str = ""
    key: str | None = None
    normalise: Normalise = "token"
    max_tokens: int = 0

    citation = CITATION
    decimals = 4
    alone = True  # what each question gets does not depend on the others

    def __post_init__(self) -> None:
        check_endpoint("completion", self.model, self.url, self.key)
        check_normalise("completion", self.normalise)
        check_between("completion", "max_tokens", self.max_tokens, 0, 1)

    def score(self, questions: Sequence[Question]) -> list[list[float]]:
        """One score a candidate."""
        asked = (one for question in questions for one in self._asked(question))
        first = list(islice(asked, _FIRST))
        if first:
            self._check_echo(first)
            self._ask(asked)
        return [
            placed(question, {one.text: self._value(one) for one in self._asked(question)}) for question in questions
        ]

    def trace(self, questions: Sequence[Question]) -> Iterator[list[dict[str, Any]]]:
        """Every raw answer about each question's candidates as it is kept."""
        self._endpoint().store.refresh()
        for question in questions:
            yield [
                {
                    **{"question": question.id, "candidate": one.text, "model": reply.model},
                    **{"usage": reply.usage._asdict(), **answer._asdict()},
                    "body": answer.body if reply.content is None else reply.content,
                }
                for one in self._asked(question)
                for answer, reply in self._endpoint().answers(one.request)
            ]

    def spent(self, questions: Sequence[Question]) -> Tally:
        """Answers and tokens that these questions took, by what is kept."""
        return self._endpoint().spent(one.request for question in questions for one in self._asked(question))

    def details(self) -> dict[str, str]:
        """How turns are joined, and the version of how an answer is read."""
        return {"join": "newline", "reading": f"echo {VERSION}"}

    def _check_echo(self, first: Sequence[_Asked]) -> None:
        """An endpoint that repeats none of the first prompts repeats none at all: it is an error, not NaN."""
        self._ask(first)
        found = [self._found(one) for one in first]
        why = next((one for one in found if isinstance(one, UnechoedError)), None)
        if why is not None and not any(isinstance(one, float) for one in found):
            wanted = f"{{'echo': true, 'logprobs': 1, 'max_tokens': {self.max_tokens}}}"
            raise JudgeError(
                f"{self}: the endpoint cannot be used, since {why}; it must know {wanted} (docs/systems.md names other "
                f"ways; where it has changed, delete {self._endpoint().store.path})"
            )

    def _ask(self, asked: Iterable[_Asked]) -> None:
        try:
            self._endpoint().ask((one.request for one in asked), _readable, as_chat)
        except JudgeError as error:
            hint = "; try max_tokens=1" if "max_tokens" in str(error) and not self.max_tokens else ""
            raise JudgeError(f"{error}{hint}") from None

    def _value(self, one: _Asked) -> float:
        found = self._found(one)
        return found if isinstance(found, float) else NAN

    def _found(self, one: _Asked) -> float | UnechoedError | None:
        """The score by the first answer that can be read, else why the last one cannot; None where all was refused."""
        found: UnechoedError | None = None
        for answer, reply in self._endpoint().answers(one.request):
            if answer.outcome != "refused":
                try:
                    return minus_loss(reply_values(reply.content), self.normalise)
                except UnechoedError as error:
                    found = error
        return found

    def _asked(self, question: Question) -> Iterator[_Asked]:
        lines = [plain(turn.text, "newline") for turn in said(question)] or [""]  # a first token needs one before it
        for text in replies(question):
            prompt = "\n".join([*lines, plain(text, "newline")])
            body = {"model": self.model, "prompt": prompt, "echo": True, "logprobs": 1}
            yield _Asked(text, request({**body, "max_tokens": self.max_tokens, "temperature": 0}))

    def _endpoint(self) -> Endpoint:
        return Endpoint(str(self), self.url, self.key, ("completion", VERSION, self.model, self.max_tokens))


def _readable(content: str | None) -> bool:
    try:
        return bool(reply_values(content))
    except UnechoedError:
        return False
