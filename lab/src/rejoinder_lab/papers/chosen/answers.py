"""What the systems of the ladders are asked: the loss of every candidate after its context, and alone."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import orjson

from rejoinder.data.questions import find_right_candidates
from rejoinder.files import atomic_write, sha256_of_bytes
from rejoinder.types import Question
from rejoinder_lab.papers.chosen.stored import CandidateKind, Losses, Positions, StoredLosses, SystemLosses

Context = tuple[str, ...]


@dataclass(frozen=True)
class LossRequest:
    """The contexts of questions, for each the texts whose losses are needed, and which of them each set offers."""

    contexts: tuple[Context, ...]
    texts: tuple[tuple[str, ...], ...]
    positions: dict[CandidateKind, Positions] = field(hash=False, compare=False)

    @cached_property
    def digest(self) -> str:
        """The digest of contexts and texts."""
        return sha256_of_bytes(orjson.dumps([self.contexts, self.texts]))

    def start_storing(self) -> StoredLosses:
        """Return the stored form of this request, without any system yet."""
        return StoredLosses(self.digest, self.positions)


def make_loss_request(sets: Mapping[CandidateKind, Sequence[Sequence[Question]]]) -> LossRequest:
    """Return the request for sets that have the same questions in the same order."""
    contexts = [context_texts(question) for question in next(iter(sets.values()))[0]]
    texts: list[dict[str, int]] = [{} for _ in contexts]
    for questions in (one for kind in sets.values() for one in kind):
        for number, question in enumerate(questions):
            if context_texts(question) != contexts[number]:
                raise ValueError(f"question {question.id} is not in all sets")
            for text in candidate_texts(question):
                texts[number].setdefault(text, len(texts[number]))
    starts = np.cumsum([0, *map(len, texts)])
    positions = {
        kind: np.array(
            [
                [[starts[n] + texts[n][text] for text in candidate_texts(question)] for n, question in enumerate(one)]
                for one in questions
            ],
            np.int64,
        )
        for kind, questions in sets.items()
    }
    return LossRequest(tuple(contexts), tuple(map(tuple, texts)), positions)


def context_texts(question: Question) -> Context:
    """The texts of a question's context."""
    return tuple(turn.text for turn in question.context)


def candidate_texts(question: Question) -> tuple[str, ...]:
    """The texts of a question's candidates, the true reply first."""
    (truth,) = find_right_candidates(question)
    texts = [candidate.text for candidate in question.candidates]
    return (texts[truth], *(text for place, text in enumerate(texts) if place != truth))


def write_request(path: Path, request: LossRequest) -> None:
    """Write a request, with its texts, for another machine."""
    positions = {kind.value: one.tolist() for kind, one in request.positions.items()}
    with atomic_write(path) as file:
        file.write(orjson.dumps([request.contexts, request.texts, positions]))


def read_request(path: Path) -> LossRequest:
    """Read a request."""
    contexts, texts, positions = orjson.loads(gzip.decompress(path.read_bytes()))
    by_kind = {CandidateKind(kind): np.array(one, np.int64) for kind, one in positions.items()}
    return LossRequest(tuple(map(tuple, contexts)), tuple(map(tuple, texts)), by_kind)


def ask_network(folder: Path, request: LossRequest, device: str | None = None) -> tuple[SystemLosses, list[str]]:
    """Return the losses of the network in a folder, after contexts and after an empty one, and its greedy replies."""
    from rejoinder_lab.models.generator.model import load_generator

    generator = load_generator(folder, device)
    empty = [("",)] * len(request.contexts)
    after, alone = (_flatten(generator.losses(contexts, request.texts)) for contexts in (request.contexts, empty))
    return SystemLosses(after, alone), generator.replies(request.contexts)


def _flatten(losses: Sequence[Sequence[float]]) -> Losses:
    return np.array([value for row in losses for value in row], np.float32)
