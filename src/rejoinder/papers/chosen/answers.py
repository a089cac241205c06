"""What the networks say: the loss of every candidate after its context, and a reply of their own to each context.

Answers are kept in the cache under a digest of what was asked, one folder a network, so that the slow part can be done
on another machine (``jobs``) and the tables are made from what came back.
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
    """Contexts, and the texts whose losses are wanted after each; every text of a context once."""

    contexts: tuple[tuple[str, ...], ...]
    texts: tuple[tuple[str, ...], ...]

    @cached_property
    def digest(self) -> str:
        """Of all of it."""
        return sha256_of_bytes(orjson.dumps([self.contexts, self.texts]))

    @cached_property
    def places(self) -> dict[tuple[tuple[str, ...], str], int]:
        """Where the loss of a text after a context stands in the answers."""
        pairs = ((context, text) for context, texts in zip(self.contexts, self.texts, strict=True) for text in texts)
        return {pair: place for place, pair in enumerate(pairs)}

    @cached_property
    def order(self) -> dict[tuple[str, ...], int]:
        """Where a context stands."""
        return {context: place for place, context in enumerate(self.contexts)}

    def at(self, questions: Sequence[Question]) -> NDArray[np.int64]:
        """Where the losses of the candidates of questions stand, the true reply's first: questions, candidates."""
        return np.array(
            [[self.places[(context_texts(q), text)] for text in candidate_texts(q)] for q in questions],
            np.int64,
        )


class NetworkAnswers(NamedTuple):
    """What one network said."""

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


def make_request(questions: Iterable[Question]) -> LossRequest:
    """All that is to be asked for some questions."""
    found: dict[tuple[str, ...], dict[str, None]] = {}
    for question in questions:
        found.setdefault(context_texts(question), {}).update(dict.fromkeys(candidate_texts(question)))
    return LossRequest(tuple(found), tuple(tuple(texts) for texts in found.values()))


def ask_network(folder: Path, asked: LossRequest, device: str | None = None) -> NetworkAnswers:
    """Ask the network of a folder; its replies are written greedily."""
    from rejoinder.models.generator.model import load_generator

    generator = load_generator(folder, device)
    losses = generator.losses(asked.contexts, asked.texts)
    return NetworkAnswers(np.array([v for row in losses for v in row], np.float32), generator.replies(asked.contexts))


def save_answers(folder: Path, found: NetworkAnswers) -> None:
    """Write answers."""
    folder.mkdir(parents=True, exist_ok=True)
    write_tensors(folder / "losses.safetensors", {"losses": found.losses})
    (folder / "replies.json").write_bytes(orjson.dumps(found.replies))


def load_answers(folder: Path, asked: LossRequest) -> NetworkAnswers:
    """Read answers; those to something else are an error."""
    try:
        replies = orjson.loads((folder / "replies.json").read_bytes())
    except (OSError, ValueError):
        raise InputError(f"{folder}: holds no answers of a network") from None
    losses = read_tensors(folder / "losses.safetensors").get("losses")
    if losses is None or len(losses) != len(asked.places) or len(replies) != len(asked.contexts):
        raise InputError(f"{folder}: holds answers to something else; delete it")
    return NetworkAnswers(losses, replies)


def answers_home(asked: LossRequest) -> Path:
    """The folder of the cache for the answers to all that was asked."""
    return cache_home() / "chosen" / asked.digest[:16]
