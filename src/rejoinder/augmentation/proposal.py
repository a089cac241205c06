"""What the parts of augmentation hand to each other: a text that may serve as a reference."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Proposal:
    """A text proposed as a further reference for an item, and where it came from.

    ``score`` is the source's own (larger is better). ``origin`` is the text it was adapted from or made of, None where
    it stands as it was found. ``past`` is the context that the text came from, oldest first: what adaptation starts
    from.
    """

    text: str
    source: str
    score: float | None = None
    origin: str | None = None
    past: tuple[str, ...] = ()
