"""The interface of an index: passages go in, and those nearest to a query come out.

There are two kinds: ``bm25`` compares words, ``dense`` the vectors of an encoder. Both are exact: they return what a
comparison with every passage would give, ties going to the smaller id (by dialogue, then by turn). In shards
(``sharded_bm25``, ``sharded_dense``) they find the same; only ``sharded_graph`` does not compare everything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from rejoinder.errors import InputError
from rejoinder.types import Dialogue


@dataclass(frozen=True, slots=True)
class Passage:
    """A turn of a dialogue that can be searched; ``turn`` counts from 0.

    ``key`` is what a query is compared with if that is not the text itself: the turns before it, for example. It
    determines the index but is not stored.
    """

    dialogue: str
    turn: int
    text: str
    speaker: str | None = None
    split: str | None = None
    key: str | None = None

    @property
    def id(self) -> str:
        """The dialogue's id and the turn's number."""
        return f"{self.dialogue}/{self.turn}"


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage and its score; ``id`` is that of the passage."""

    id: str
    dialogue: str
    turn: int
    text: str
    score: float
    speaker: str | None = None
    split: str | None = None


class Index(Protocol):
    """Passages that can be searched."""

    kind: str

    def __len__(self) -> int:
        """Return the number of passages."""
        ...

    def search(
        self,
        queries: Sequence[str],
        k: int = 5,
        *,
        split: str | None = None,
        exclude_dialogues: Sequence[Collection[str]] | None = None,
        only_dialogues: Collection[str] | None = None,
    ) -> list[list[Hit]]:
        """Return the best hits of each query, best first.

        ``split`` and ``only_dialogues`` limit the search. ``exclude_dialogues`` holds, for each query, the dialogues
        that it must not find; an exact copy of one (the same texts in the same order) is not found either. Unknown ids
        are ignored.
        """
        ...


def passages(dialogues: Iterable[Dialogue], split: str | None = None) -> Iterator[Passage]:
    """Yield each turn of dialogues as a passage.

    - ``dialogues``: the dialogues.
    - ``split``: only those of this split.

    >>> import rejoinder
    >>> talk = rejoinder.Dialogue("1", (rejoinder.Turn("Tea?"), rejoinder.Turn("Yes, please.")))
    >>> [passage.id for passage in rejoinder.indexes.passages([talk])]
    ['1/0', '1/1']
    """
    for dialogue in dialogues:
        if split is None or dialogue.split == split:
            for number, turn in enumerate(dialogue.turns):
                yield Passage(dialogue.id, number, turn.text, turn.speaker, dialogue.split)


def check_search_arguments(queries: Sequence[str], k: int, exclude_dialogues: Sequence[Collection[str]] | None) -> None:
    """Raise if the arguments of a search make no sense."""
    if isinstance(queries, str):
        raise InputError("queries must be a list of strings, found a single string; put it in a list")
    if k < 1:
        raise InputError(f"k must be at least 1, found {k}")
    if exclude_dialogues is None:
        return
    if len(exclude_dialogues) != len(queries):
        raise InputError(
            f"exclude_dialogues has {len(exclude_dialogues)} entries but there are {len(queries)} queries; "
            "give one collection of ids per query"
        )
    if any(isinstance(ids, str) for ids in exclude_dialogues):
        raise InputError(
            "exclude_dialogues must hold a collection of ids for each query, found a string; put it in a list"
        )
