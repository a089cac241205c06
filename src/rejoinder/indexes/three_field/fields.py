"""The three fields by which turns are compared (SCARCE, Appendix C): the turns before, the turn, the turns after."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import SpecError
from rejoinder.indexes.one_field.base import Hit
from rejoinder.types import Item

FIELD_NAMES = ("past", "response", "future")


class Fields(NamedTuple):
    """The texts of the three fields, oldest turn first; an empty field is missing."""

    past: tuple[str, ...]
    response: tuple[str, ...]
    future: tuple[str, ...]

    def only(self, names: Collection[str]) -> Fields:
        """Return only these fields; the others are missing."""
        return Fields(*(texts if name in names else () for name, texts in zip(FIELD_NAMES, self, strict=True)))


@dataclass(frozen=True)
class Windows:
    """How many turns before and after a turn count."""

    past: int = 2
    future: int = 2

    def __post_init__(self) -> None:
        if min(self.past, self.future) < 1:
            raise SpecError(f"a window must hold at least 1 turn, found past={self.past} and future={self.future}")

    def steps(self) -> tuple[range, range, range]:
        """Return the positions of each field's turns, relative to the turn."""
        return range(-self.past, 0), range(1), range(1, self.future + 1)

    def of(self, item: Item) -> Fields:
        """Return the fields of an item: the end of its context, its first reference, the beginning of its future."""
        context = [turn.text for turn in item.context]
        future = [turn.text for turn in item.future]
        references = [reference.text for reference in item.references if reference.text.strip()]
        return Fields(
            tuple(_drop_blank(context[-self.past :])), tuple(references[:1]), tuple(_drop_blank(future[: self.future]))
        )


def is_same_dialogue(turns: NDArray[np.int64], dialogue: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which of ``turns``, one for each turn of a corpus in order, are in the same dialogue as that turn."""
    inside: NDArray[np.bool_] = (turns >= 0) & (turns < len(dialogue))
    inside[inside] &= dialogue[turns[inside]] == dialogue[inside]
    return inside


def _drop_blank(texts: Sequence[str]) -> list[str]:
    return [text for text in texts if text.strip()]


@dataclass(frozen=True, slots=True)
class FieldHit(Hit):
    """A turn with its score, the turns around it, and what each field adds to the score.

    ``logs`` are the logarithms of the scores of the past, the response and the future, None for a field that the item
    does not have.
    """

    past: tuple[str, ...] = ()
    future: tuple[str, ...] = ()
    logs: tuple[float | None, ...] = ()


class FieldIndex(Protocol):
    """Turns that can be searched by three fields."""

    kind: str

    def __len__(self) -> int:
        """Return the number of turns."""
        ...

    def search(
        self,
        items: Sequence[Item],
        k: int = 5,
        *,
        split: str | None = None,
        only_dialogues: Collection[str] | None = None,
        exclude_dialogues: Sequence[Collection[str]] | None = None,
        fields: Collection[str] = FIELD_NAMES,
    ) -> list[list[FieldHit]]:
        """Return the turns whose fields are most similar to those of each item, best first.

        An item's own dialogue is never found, nor a copy of it (see ``copies``), whichever ``fields`` are searched.
        ``split``, ``only_dialogues`` and ``exclude_dialogues`` are as in ``base.Index``.
        """
        ...
