"""The records of rejoinder: plain frozen values, nothing else.

dialogue: turns. turn: speaker and text. item: a context that awaits a reply. response: what a system said to an item.
reference: a reply known to be good. question: an item with graded candidates. rating: what a person said of a response
(or of a whole dialogue). preference: which of two responses a person liked better.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Meta: TypeAlias = Mapping[str, Any]
Split: TypeAlias = Literal["train", "valid", "test"]
Choice: TypeAlias = Literal["first", "second", "tie"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance; the speaker is None where the file does not name one."""

    text: str
    speaker: str | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """A reply known to be good, and where it came from ("human" unless said otherwise).

    One that was retrieved or generated also has how sure its source was (``score``) and the text that it was adapted
    from or made of (``origin``), where there is one.
    """

    text: str
    source: str = "human"
    score: float | None = None
    origin: str | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing known about the situation; whether it is relevant is None where unknown."""

    text: str
    category: str | None = None
    relevant: bool | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A text proposed as a reply to an item, with its grade where it was graded.

    ``source`` says what found or wrote it, ``labels`` why it is wrong where that is known, ``meta`` anything else about
    where it came from.
    """

    text: str
    id: str | None = None
    grade: str | float | None = None
    source: str | None = None
    labels: tuple[str, ...] = ()
    meta: Meta = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Dialogue:
    """Turns in order."""

    id: str
    turns: tuple[Turn, ...]
    corpus: str | None = None
    split: str | None = None
    meta: Meta = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Item:
    """A context that awaits a reply, with what is known around it.

    ``truncated`` says that the beginning of the context was cut off before it came here.
    """

    id: str
    context: tuple[Turn, ...]
    references: tuple[Reference, ...] = ()
    future: tuple[Turn, ...] = ()
    situation: tuple[Statement, ...] = ()
    dialogue: str | None = None
    truncated: bool = False
    meta: Meta = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Response:
    """What a system said to an item."""

    id: str
    item: str
    system: str
    text: str
    meta: Meta = field(default_factory=dict, hash=False)


# Before the number of a rater without a name: unnamed:2 is the second person who rated one reply, and of another reply
# somebody else.
UNNAMED = "unnamed:"


def is_unnamed(rater: str) -> bool:
    """Whether a rater is a person without a name, who is somebody else on every reply."""
    return rater.startswith(UNNAMED)


@dataclass(frozen=True, slots=True)
class Rating:
    """What a person said of one response, or of one whole dialogue, in one aspect."""

    rater: str
    aspect: str
    value: float
    response: str | None = None
    dialogue: str | None = None
    meta: Meta = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Preference:
    """Which of two responses to one item a person preferred, in one aspect."""

    item: str
    first: str
    second: str
    rater: str
    choice: Choice
    aspect: str = "overall"
    meta: Meta = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Question:
    """An item with graded candidates."""

    id: str
    context: tuple[Turn, ...]
    candidates: tuple[Candidate, ...]
    situation: tuple[Statement, ...] = ()
    dialogue: str | None = None
    split: str | None = None
    meta: Meta = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Pair:
    """An item and one response to it: what a metric scores.

    ``is_last`` says that it is the last reply of its system in the dialogue, at which the whole dialogue is scored;
    ``is_followed`` that the item's future came after this very reply, and not after another one.
    """

    item: Item
    response: Response
    is_last: bool = True
    is_followed: bool = False


Record: TypeAlias = Dialogue | Item | Response | Rating | Preference | Question
