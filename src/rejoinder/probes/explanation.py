"""An explanation: what each part of the context and each word of the reply contributes to the score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rejoinder.probes.segments import Unit

_TOGETHER = 1.1  # words cost (or earn) something together if it is a tenth more than one by one
_NOTHING = 1e-9


@dataclass(frozen=True)
class ContextPart:
    """An utterance of the context, or a piece of one.

    ``utterance`` counts from 0 (of several grouped together, the last); ``is_piece`` is true for a sentence or clause
    of it. ``without`` is the score when it is left out, ``alone`` the score with nothing else. ``share`` is what the
    score loses without it (for a metric where lower is better: what it gains).
    """

    utterance: int
    text: str
    without: float
    alone: float
    share: float
    speaker: str | None = None
    is_piece: bool = False
    n_utterances: int = 1


@dataclass(frozen=True)
class ReplySpan:
    """A word of the reply, or two or three neighbours, from ``start`` to ``end``.

    ``without`` is the score when it is left out. ``worth`` is its contribution: above 0 it earned that much, below 0
    it cost that much.
    """

    start: int
    end: int
    text: str
    without: float
    worth: float


@dataclass(frozen=True)
class Explanation:
    """The score of one reply and where it comes from.

    ``words`` are the reply's pieces one by one (sentences or stretches, where ``unit`` says so), ``spans`` two and
    three neighbouring words.
    """

    metric: str
    signature: str
    response: str
    system: str
    reply: str
    score: float
    higher_is_better: bool | None
    context: Sequence[ContextPart]
    unit: Unit
    words: Sequence[ReplySpan]
    spans: Sequence[ReplySpan]
    notes: Sequence[str]

    def answers(self) -> tuple[ContextPart, ...]:
        """What the reply leans on: an utterance and, if it was split, a piece of it; empty if none is needed.

        It is the part with the highest share; of several, the one with the better score alone. A piece is included
        only if no part elsewhere has a higher share.
        """
        whole = [part for part in self.context if not part.is_piece]
        if not whole or (len(whole) > 1 and not any(part.share > _NOTHING for part in whole)):
            return ()
        strongest = max(self.context, key=self._strength)
        if math.isnan(strongest.share) and math.isnan(strongest.alone):
            return ()
        best = next(part for part in whole if part.utterance == strongest.utterance)
        pieces = [part for part in self.context if part.is_piece and part.utterance == best.utterance]
        piece = max(pieces, key=self._strength, default=None)
        if piece is None or not piece.share > _NOTHING:
            return (best,)
        others = [part for part in self.context if part.utterance != best.utterance]
        return (best,) if any(part.share > piece.share for part in others) else (best, piece)

    def costly(self, n: int = 5) -> list[ReplySpan]:
        """The spans that cost most, the costliest first; they do not overlap."""
        return self._ranked(-1, n)

    def earning(self, n: int = 5) -> list[ReplySpan]:
        """The spans that earned most, the highest first; they do not overlap."""
        return self._ranked(1, n)

    def _strength(self, part: ContextPart) -> tuple[float, float]:
        """The sort key of parts; unknown values count least."""
        alone = -part.alone if self.higher_is_better is False else part.alone
        return -math.inf if math.isnan(part.share) else part.share, -math.inf if math.isnan(alone) else alone

    def _ranked(self, sign: int, n: int) -> list[ReplySpan]:
        known = [s for s in (*self.words, *self.spans) if sign * s.worth > _NOTHING]
        by_place = {(s.start, s.end): sign * s.worth for s in known}
        strong = [s for s in known if sign * s.worth > _TOGETHER * self._apart(s, by_place)]
        chosen: list[ReplySpan] = []
        for span in sorted(strong, key=lambda s: (-sign * s.worth, s.end - s.start, s.start)):
            if all(span.end <= other.start or other.end <= span.start for other in chosen):
                chosen.append(span)
        return chosen[:n]

    def _apart(self, span: ReplySpan, by_place: dict[tuple[int, int], float]) -> float:
        """The most that the words of a span contribute in smaller pieces (0 for a single word)."""
        inside = [w for w in self.words if span.start <= w.start and w.end <= span.end]
        if len(inside) < 2:
            return 0.0
        places = [(w.start, w.end) for w in inside]
        ways = [places]
        if len(places) == 3:
            ways += [[(places[0][0], places[1][1]), places[2]], [places[0], (places[1][0], places[2][1])]]
        return max(sum(by_place.get(place, 0.0) for place in way) for way in ways)
