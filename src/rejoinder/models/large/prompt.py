"""The text that the large judge reads, as token ids: one context, and after it each of its replies.

Version 1::

    Conversation:
    A: ...
    B: ...
    A: the turn that is answered
    B: a reply
    Does the last reply fit?

The reply is always B, and letters alternate from there back, whoever spoke. The replies to one context stand in one
sequence. Each is a segment that sees the context and itself only, and its positions begin where the context ends, so
that the network computes for it what it would compute without the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rejoinder.models.large.card import LargeLimits
from rejoinder.models.large.tokenization import LargeTokenizer

Ids = Sequence[int]
OPENING, LETTERS, QUESTION = "Conversation:", ("\nB:", "\nA:"), "\nDoes the last reply fit?"
CONTEXT = 0  # the segment of the context; those of replies are numbered from 1
# Replies to one context beyond this many tokens form another sequence, because attention takes memory by its square.
MOST_TOKENS = 2048


@dataclass(frozen=True)
class PromptSequence:
    """A context and some of its replies: the segments' token ids, and which replies they are."""

    context: Ids
    replies: tuple[Ids, ...]
    numbers: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.context) + sum(map(len, self.replies))

    @property
    def ids(self) -> list[int]:
        """Return the token ids of the whole sequence."""
        return [*self.context, *(token for reply in self.replies for token in reply)]

    @property
    def positions(self) -> list[int]:
        """Return the position of each token: that of a reply's first token follows the context's last."""
        start = len(self.context)
        return [*range(start), *(start + i for reply in self.replies for i in range(len(reply)))]

    @property
    def segments(self) -> list[int]:
        """Return the segment of each token."""
        lengths = [len(self.context), *map(len, self.replies)]
        return [segment for segment, length in enumerate(lengths, start=CONTEXT) for _ in range(length)]

    @property
    def ends(self) -> list[int]:
        """Return where each reply's last token stands, at which the head reads."""
        ends, end = [], len(self.context) - 1
        for reply in self.replies:
            end += len(reply)
            ends.append(end)
        return ends


class PromptFormat:
    """The parts of the text that are always the same, and how turns and replies are put between them."""

    def __init__(self, tokenizer: LargeTokenizer, limits: LargeLimits) -> None:
        self._limits = limits
        self._opening, self._question, *letters = tokenizer.encode([OPENING, QUESTION, *LETTERS])
        self._letters = letters

    def context(self, turns: Sequence[Ids]) -> tuple[list[int], bool]:
        """Return a context with as many of its last turns as fit, and whether any of it was left out.

        Older turns are dropped whole. The last turn is never dropped: if it is too long by itself, it loses its
        beginning.
        """
        room = self._limits.context_tokens - len(self._opening)
        parts: list[Ids] = []
        for number, turn in enumerate(reversed(turns), start=1):
            letter = self._letters[number % 2]
            if len(letter) + len(turn) > room:
                if not parts:
                    parts.append([*letter, *turn[-max(1, room - len(letter)) :]])
                break
            parts.append([*letter, *turn])
            room -= len(letter) + len(turn)
        else:
            return self._join(parts), False
        return self._join(parts), True

    def reply(self, reply: Ids) -> tuple[list[int], bool]:
        """Return a reply with the question that follows it, and whether the reply lost its end."""
        most = self._limits.reply_tokens
        return [*self._letters[0], *reply[:most], *self._question], len(reply) > most

    def sequences(self, context: Ids, replies: Sequence[tuple[int, Ids]]) -> Iterator[PromptSequence]:
        """Yield the sequences of a context and its numbered replies: one, or several if they are long."""
        group: list[tuple[int, Ids]] = []
        size = len(context)
        for number, reply in replies:
            if group and size + len(reply) > MOST_TOKENS:
                yield self._sequence(context, group)
                group, size = [], len(context)
            group.append((number, reply))
            size += len(reply)
        yield self._sequence(context, group)

    def _sequence(self, context: Ids, group: Sequence[tuple[int, Ids]]) -> PromptSequence:
        return PromptSequence(context, tuple(reply for _, reply in group), tuple(number for number, _ in group))

    def _join(self, parts: Sequence[Ids]) -> list[int]:
        return [*self._opening, *(token for part in reversed(parts) for token in part)]
