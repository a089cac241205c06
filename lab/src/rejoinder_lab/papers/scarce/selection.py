"""Which retrieved texts become references: by length, by aptness, and by how alike they are to each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rejoinder.augmentation.proposal import Proposal
from rejoinder.metric import parse
from rejoinder.text.similarity import dice_similarity, extract_ngrams
from rejoinder.types import Item, Pair, Response
from rejoinder_lab.papers.scarce.proposals import Proposals


@dataclass(frozen=True)
class ReferenceSelection:
    """What is taken of a list: the first ``size`` texts of at most ``longest`` words, and what is left out of them.

    ``least`` is the lowest aptness, ``alike`` the overlap with an earlier text of the list (Dice over words and pairs
    of words) from which a text is left out; ``weighted`` says that matches count by the aptness of their reference.
    """

    size: int
    longest: int | None = None
    least: float = 0.0
    alike: float | None = None
    weighted: bool = False

    def __str__(self) -> str:
        parts = [
            f"{self.size // 2} + {self.size // 2}",
            f"at most {self.longest} words" if self.longest else "",
            f"aptness of {self.least:g} or more" if self.least else "",
            f"alike below {self.alike:g}" if self.alike else "",
            "weighted by aptness" if self.weighted else "",
        ]
        return ", ".join(part for part in parts if part)

    def select(self, proposals: Sequence[Proposal]) -> list[Proposal]:
        """Return the texts that are taken; the score of each must be its aptness if ``least`` is set."""
        chosen: list[Proposal] = []
        for one in proposals[: self.size]:
            short = self.longest is None or len(one.text.split()) <= self.longest
            if short and (one.score or 0.0) >= self.least and not self._repeats(one, chosen):
                chosen.append(one)
        return chosen

    def _repeats(self, one: Proposal, chosen: Sequence[Proposal]) -> bool:
        if self.alike is None:
            return False
        grams = extract_ngrams(one.text)
        return any(dice_similarity(grams, extract_ngrams(other.text)) >= self.alike for other in chosen)


CHOSEN = ReferenceSelection(10, 12)  # by `rejoinder reproduce scarce-choice`
CHOSEN_FURTHER = ReferenceSelection(40, 12, least=0.7)  # likewise, beyond the paper


def rate_aptness(items: Sequence[Item], proposals: Proposals) -> list[list[Proposal]]:
    """Return the proposals with their aptness, by the bi-encoder alone, as their score."""
    pairs = [
        Pair(item, Response(f"{item.id}/{rank}", item.id, one.source, one.text))
        for item, of_item in zip(items, proposals, strict=True)
        for rank, one in enumerate(of_item)
    ]
    scores = iter(parse("aptness(model='bi')").score(pairs))
    return [[replace(one, score=round(float(next(scores)), 4)) for one in of_item] for of_item in proposals]
