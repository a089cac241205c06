"""The settings of a test set: what decides it besides the dialogues and the repository."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
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
_POSITION = "The true reply: first, last, random, or a turn."
_QUESTIONS = "How many questions [as many as possible]."
_RANDOM = "Choose false candidates at random, without any judge."
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
    judges them. ``rejoinder build`` takes its options from the fields with a help text.
    """

    context_turns: int = field(default=3, metadata={"help": "Turns of context.", "least": 1})
    position: Position = field(default="first", metadata={"help": _POSITION})
    sources: tuple[str, ...] = SOURCES
    pool: int = field(default=10, metadata={"help": "Utterances per question.", "least": 1})
    share: float = field(default=1.0, metadata={"help": "Part of the repository used.", "above": 0, "most": 1})
    related: bool = True
    alike: bool = True
    tidy: bool = True
    false: int = field(default=3, metadata={"help": "False candidates.", "least": 1})
    judge: str | None = JUDGE
    second: SecondTruth = field(default="people", metadata={"help": "Who judges candidates in the second pass."})
    least_raters: int = field(default=3, metadata={"help": "Raters needed to decide.", "least": 1})
    questions: int | None = field(default=None, metadata={"help": _QUESTIONS, "metavar": "N", "least": 1})
    random: bool = field(default=False, metadata={"help": _RANDOM})
    seed: int = field(default=0, metadata={"least": 0})

    def __post_init__(self) -> None:
        for one in fields(self):
            value, least = getattr(self, one.name), one.metadata.get("least")
            if least is not None and value is not None and value < least:
                raise SpecError(f"{one.name} must be at least {least}, found {value}")
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
