"""A proposal: a text that may serve as a reference. All parts of augmentation exchange these."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Proposal:
    """A text proposed as a further reference for an item, and where it came from.

    ``score`` is the source's own (higher is better). ``origin`` is what the text was adapted or made from, None if it
    is unchanged. ``past`` is the context that the text came from, oldest turn first.
    """

    text: str
    source: str
    score: float | None = None
    origin: str | None = None
    past: tuple[str, ...] = ()
