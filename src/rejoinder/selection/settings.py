"""The settings of a test set: what decides it besides the dialogues and the repository."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from rejoinder.errors import SpecError

# Which turn is the true reply: the first with a full context before it, the last, a random one (by the seed), or a turn
# by its number, counted from 1.
Position: TypeAlias = Literal["first", "last", "random"] | int
# Who must accept an utterance before it can be the true reply of a second question.
SecondTruth: TypeAlias = Literal["people", "model", "none"]

SOURCES = ("bm25(query='reply')", "sif(query='reply')")
WITHOUT_VECTORS = (SOURCES[0], "dense(query='reply')")  # these need no other model
JUDGE = "aptness(model='bi')"
# The settings that the pools depend on.
POOL_SETTINGS = ("context_turns", "position", "sources", "pool", "share", "related", "alike", "tidy", "random")


@dataclass(frozen=True)
class SelectionSettings:
    """How questions are built (Sato et al. 2020, section 3).

    The context has ``context_turns`` turns. For each true reply, ``sources`` take turns to find ``pool`` utterances in
    a random ``share`` of the repository's dialogues. They must share a content word with the reply if it has any
    (``related``), begin and end like it, have about its length, and be longer as often as shorter (``alike``); all
    texts get the same spaces and quotes (``tidy``). Of those that remain, ``false`` make a question; twice as many make
    a ``second`` one. ``judge`` is the metric of the model pass (None for no pass). A candidate scored by fewer than
    ``least_raters`` people counts as not judged. ``questions`` is how many are wanted (None for as many as possible).
    With ``random`` the false candidates are drawn at random from those of the repository that are ``alike``, and nobody
    judges them.
    """

    context_turns: int = 3
    position: Position = "first"
    sources: tuple[str, ...] = SOURCES
    pool: int = 10
    share: float = 1.0
    related: bool = True
    alike: bool = True
    tidy: bool = True
    false: int = 3
    judge: str | None = JUDGE
    second: SecondTruth = "people"
    least_raters: int = 3
    questions: int | None = None
    random: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("context_turns", 1), ("pool", 1), ("false", 1), ("least_raters", 1), ("seed", 0)):
            if (value := getattr(self, name)) < least:
                raise SpecError(f"{name} must be at least {least}, found {value}")
        if self.questions is not None and self.questions < 1:
            raise SpecError(f"questions must be at least 1, found {self.questions}")
        if isinstance(self.position, int) and self.position <= self.context_turns:
            raise SpecError(
                f"turn {self.position} cannot be the true reply, since {self.context_turns} turns of context come "
                f"before it; use turn {self.context_turns + 1} or later"
            )
        if not 0 < self.share <= 1:
            raise SpecError(f"share must be above 0 and at most 1, not {self.share:g}")
        if not self.random and self.pool < self.false:
            raise SpecError(f"a pool of {self.pool} is too small for {self.false} false candidates; make it larger")
        if not self.random and not self.sources:
            raise SpecError("no source is named; name at least one, e.g. bm25(query='reply')")


def parse_reply_position(text: str) -> Position:
    """Return the position given by a word or a number."""
    words: tuple[Literal["first", "last", "random"], ...] = get_args(get_args(Position)[0])
    for word in words:
        if text == word:
            return word
    if text.isdecimal():
        return int(text)
    raise SpecError(f"no position is called {text!r}; write first, last, random or the number of a turn")
