"""The networks' answers: the loss of every candidate after its context, and a generated reply to each context.

Answers are cached under a digest of the request, one folder per network, so that the slow part can be done on another
machine (``jobs``) and the tables are made from what it returns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from rejoinder.data.questions import find_right_candidates
from rejoinder.errors import InputError
from rejoinder.files import sha256_of_bytes
from rejoinder.models.tensors import read_tensors, write_tensors
from rejoinder.paths import cache_home
from rejoinder.types import Question

Losses = NDArray[np.float32]


@dataclass(frozen=True)
class LossRequest:
    """Contexts, and for each the texts whose losses are needed, without duplicates."""

    contexts: tuple[tuple[str, ...], ...]
    texts: tuple[tuple[str, ...], ...]

    @cached_property
    def digest(self) -> str:
        """The digest of the whole request."""
        return sha256_of_bytes(orjson.dumps([self.contexts, self.texts]))

    @cached_property
    def places(self) -> dict[tuple[tuple[str, ...], str], int]:
        """The position of the loss of each text after its context."""
        pairs = ((context, text) for context, texts in zip(self.contexts, self.texts, strict=True) for text in texts)
        return {pair: place for place, pair in enumerate(pairs)}

    @cached_property
    def order(self) -> dict[tuple[str, ...], int]:
        """The position of each context."""
        return {context: place for place, context in enumerate(self.contexts)}

    def at(self, questions: Sequence[Question]) -> NDArray[np.int64]:
        """Return the positions of the candidates' losses, the true reply's first: questions, candidates."""
        return np.array(
            [[self.places[(context_texts(q), text)] for text in candidate_texts(q)] for q in questions],
            np.int64,
        )


class NetworkAnswers(NamedTuple):
    """The answers of one network."""

    losses: Losses
    replies: list[str]


def context_texts(question: Question) -> tuple[str, ...]:
    """The texts of a question's context."""
    return tuple(turn.text for turn in question.context)


def candidate_texts(question: Question) -> tuple[str, ...]:
    """The texts of a question's candidates, the true reply first."""
    (truth,) = find_right_candidates(question)
    texts = [candidate.text for candidate in question.candidates]
    return (texts[truth], *(text for place, text in enumerate(texts) if place != truth))


def make_loss_request(questions: Iterable[Question]) -> LossRequest:
    """Return the request for the losses that some questions need."""
    texts_by_context: dict[tuple[str, ...], dict[str, None]] = {}
    for question in questions:
        texts_by_context.setdefault(context_texts(question), {}).update(dict.fromkeys(candidate_texts(question)))
    return LossRequest(tuple(texts_by_context), tuple(tuple(texts) for texts in texts_by_context.values()))


def ask_network(folder: Path, request: LossRequest, device: str | None = None) -> NetworkAnswers:
    """Compute the answers of the network in a folder; replies are decoded greedily."""
    from rejoinder.models.generator.model import load_generator

    generator = load_generator(folder, device)
    losses = generator.losses(request.contexts, request.texts)
    return NetworkAnswers(np.array([v for row in losses for v in row], np.float32), generator.replies(request.contexts))


def save_answers(folder: Path, answers: NetworkAnswers) -> None:
    """Write answers to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    write_tensors(folder / "losses.safetensors", {"losses": answers.losses})
    (folder / "replies.json").write_bytes(orjson.dumps(answers.replies))


def load_answers(folder: Path, request: LossRequest) -> NetworkAnswers:
    """Read the answers in a folder; raise an error if they belong to another request."""
    try:
        replies = orjson.loads((folder / "replies.json").read_bytes())
    except (OSError, ValueError):
        raise InputError(f"{folder}: has no answers of a network; load them again") from None
    losses = read_tensors(folder / "losses.safetensors").get("losses")
    if losses is None or len(losses) != len(request.places) or len(replies) != len(request.contexts):
        raise InputError(f"{folder}: has answers to another request; delete it")
    return NetworkAnswers(losses, replies)


def chosen_answers_home(request: LossRequest) -> Path:
    """Return the cache folder for the answers to a request."""
    return cache_home() / "chosen" / request.digest[:16]
