"""The training data of a generator: every turn but the first of each dialogue, after up to three turns before it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rejoinder.errors import InputError
from rejoinder.types import Dialogue
from rejoinder_lab.models.generator.text import BEGIN, END, PADDING, TurnTokenizer

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class GeneratorExamples:
    """Contexts and replies as one long row of ids, with the beginning and the length of each."""

    ids: NDArray[np.int32]
    context: NDArray[np.int64]  # examples, 2: begin and length
    reply: NDArray[np.int64]  # the same; the tokens that begin and end a reply are among the ids

    def __len__(self) -> int:
        return len(self.reply)

    @property
    def lengths(self) -> Numbers:
        """The number of tokens of each example."""
        total: Numbers = self.context[:, 1] + self.reply[:, 1]
        return total

    def some(self, count: int, seed: int) -> GeneratorExamples:
        """Return a seeded sample, in order; all examples where there are not more."""
        if count >= len(self):
            return self
        which = np.sort(np.random.default_rng(seed).permutation(len(self))[:count])
        return GeneratorExamples(self.ids, self.context[which], self.reply[which])


def select_split_dialogues(dialogues: Iterable[Dialogue], split: str, fraction: float = 1.0) -> list[Dialogue]:
    """Return the dialogues of a split; a smaller fraction is part of a larger one, chosen by the dialogues' ids."""
    of_split = [d for d in dialogues if d.split == split and len(d.turns) > 1]
    selected = [d for d in of_split if _hash_fraction(d.id) < fraction] if fraction < 1 else of_split
    if not selected:
        raise InputError(f"no dialogue of two turns or more has the split {split!r}; a generator needs train and valid")
    return selected


def build_generator_examples(dialogues: Sequence[Dialogue], reader: TurnTokenizer) -> GeneratorExamples:
    """Return the examples of dialogues; an empty turn is not a reply."""
    turns = iter(reader.ids([turn.text for dialogue in dialogues for turn in dialogue.turns]))
    rows: list[Sequence[int]] = []
    for dialogue in dialogues:
        turn_ids = [next(turns) for _ in dialogue.turns]
        for i in range(1, len(turn_ids)):
            if turn_ids[i]:
                rows += (reader.join_turns(turn_ids[:i]), (BEGIN, *turn_ids[i][: reader.limits.reply_tokens], END))
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    ids = np.fromiter(chain.from_iterable(rows), np.int32, int(lengths.sum()))
    places = np.stack([np.cumsum(lengths) - lengths, lengths], axis=1)
    return GeneratorExamples(ids, places[::2], places[1::2])


def make_generator_batches(examples: GeneratorExamples, tokens: int, seed: int, epoch: int) -> list[Numbers]:
    """Return batches of about one length with so many tokens each, with padding, in an order of the epoch."""
    random = np.random.default_rng((seed, epoch))
    context, reply = examples.context[:, 1], examples.reply[:, 1]
    order = np.lexsort((random.random(len(examples)), reply, context // 4))
    batches, start, widest, longest = [], 0, 0, 0
    for at, example in enumerate(order.tolist()):
        wide, long = max(widest, int(context[example])), max(longest, int(reply[example]))
        if at > start and (wide + long) * (at - start + 1) > tokens:
            batches.append(order[start:at])
            start, wide, long = at, int(context[example]), int(reply[example])
        widest, longest = wide, long
    batches.append(order[start:])
    return [batches[i] for i in random.permutation(len(batches))]


class BatchLoader:
    """Examples on the device of the network; a batch is gathered there."""

    def __init__(self, examples: GeneratorExamples, device: torch.device) -> None:
        self._examples = examples
        self._ids = torch.from_numpy(examples.ids).to(device)
        self._device = device

    def batch(self, which: Numbers) -> tuple[Tensor, Tensor, Tensor]:
        """Return padded contexts and replies with special tokens, and the contexts' lengths on the CPU."""
        context, lengths = self._gather(self._examples.context[which])
        reply, _ = self._gather(self._examples.reply[which])
        return context, reply, lengths

    def all(self, tokens: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yield every example once, in batches."""
        yield from map(self.batch, make_generator_batches(self._examples, tokens, 0, 0))

    def _gather(self, places: NDArray[Any]) -> tuple[Tensor, Tensor]:
        begin, length = (torch.from_numpy(np.ascontiguousarray(column)) for column in places.T)
        width = int(length.max())
        at = torch.arange(width, device=self._device)[None]
        far = length.to(self._device, non_blocking=True)[:, None]
        index = (begin.to(self._device, non_blocking=True)[:, None] + at).clamp(max=len(self._ids) - 1)
        return torch.where(at < far, self._ids[index], PADDING).long(), length


def _hash_fraction(name: str) -> float:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") / 2**64
