"""Two replies compared in both orders: which is better, and how much the order mattered."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rejoinder.judges.prompt import NOTHING, Shown
from rejoinder.text.tokens import get_tokenizer
from rejoinder.types import Choice, Item, Response, Turn

POINTS = {"first": 1.0, "tie": 0.5, "second": 0.0}


class ResponsePair(NamedTuple):
    """Two replies to one context, or two dialogues in ``shown``."""

    context: Sequence[Turn]
    first: str
    second: str
    shown: Shown = NOTHING

    def swap(self) -> ResponsePair:
        """The same two in the other order."""
        shown = {_swap_name(name): value for name, value in self.shown.items()}
        ordered = {name: shown[name] for name in [*(n for n in self.shown if n in shown), *shown]}
        return ResponsePair(self.context, self.second, self.first, ordered or NOTHING)


@dataclass(frozen=True)
class PairComparison:
    """Which of two replies is better, in both orders; the choices are about the same replies, whatever the order.

    ``advantage`` says how much better the first is (from -1 to 1, or in log-odds for a judge that gives
    probabilities); NaN where no order could be read.
    """

    choice: Choice | None
    forward: Choice | None
    backward: Choice | None
    advantage: float

    @classmethod
    def of_choices(cls, forward: Choice | None, backward: Choice | None) -> PairComparison:
        """Combine both orders: their common choice, else a tie; if one cannot be read, the other counts."""
        known = [POINTS[c] for c in (forward, backward) if c is not None]
        if not known:
            return cls(None, None, None, math.nan)
        return cls._of(sum(known) / len(known) * 2 - 1, forward, backward)

    @classmethod
    def of_odds(cls, forward: float, backward: float) -> PairComparison:
        """From the log-odds of the first reply in both orders, whose mean is free of position bias."""
        if math.isnan(forward) or math.isnan(backward):
            return cls(None, None, None, math.nan)
        return cls._of((forward + backward) / 2, _choice_from_advantage(forward), _choice_from_advantage(backward))

    @classmethod
    def _of(cls, advantage: float, forward: Choice | None, backward: Choice | None) -> PairComparison:
        return cls(_choice_from_advantage(advantage), forward, backward, advantage)


class ComparedPair(NamedTuple):
    """Two replies to one item, and what the judge chose."""

    item: Item
    first: Response
    second: Response
    comparison: PairComparison

    @property
    def cluster(self) -> tuple[str, str]:
        """The dialogue, or the item where it names none."""
        return ("item", self.item.id) if self.item.dialogue is None else ("dialogue", self.item.dialogue)

    @property
    def is_equal(self) -> bool:
        """Whether the replies are the same, so that nothing was asked."""
        return self.first.text.split() == self.second.text.split()

    @property
    def points(self) -> float:
        """The points of the first reply; NaN where no answer could be read."""
        return math.nan if self.comparison.choice is None else POINTS[self.comparison.choice]

    @property
    def doublings(self) -> float:
        """How much longer the first reply is, in doublings of its words."""
        first, second = (max(1, len(get_tokenizer("words")(reply.text))) for reply in (self.first, self.second))
        return math.log2(first / second)


class OrderConsistency(NamedTuple):
    """How much the order of two replies matters, over the pairs that were read in both orders."""

    n: int
    same: float  # share of pairs with the same choice in both orders
    first_position: float  # share of answers without ties that chose the reply shown first; .5 if order does not matter


def order_consistency(found: Sequence[PairComparison]) -> OrderConsistency:
    """How often both orders agree, and how often the reply shown first wins.

    - ``found``: comparisons, from ``compare_pair``.

    >>> import rejoinder
    >>> both = rejoinder.judges.PairComparison("first", "first", "first", 1.0)
    >>> rejoinder.judges.order_consistency([both]).same
    1.0
    """
    both = [c for c in found if c.forward is not None and c.backward is not None]
    if not both:
        return OrderConsistency(0, math.nan, math.nan)
    same = sum(c.forward == c.backward for c in both) / len(both)
    first_wins = [c.forward == "first" for c in both if c.forward != "tie"]
    first_wins += [c.backward == "second" for c in both if c.backward != "tie"]
    share = sum(first_wins) / len(first_wins) if first_wins else math.nan
    return OrderConsistency(len(both), same, share)


def _swap_name(name: str) -> str:
    """The name of what is shown of the first as that of the second, and the reverse."""
    words = {"first": "second", "second": "first"}
    return " ".join(words.get(word, word) for word in name.split(" "))


def _choice_from_advantage(advantage: float) -> Choice:
    return "first" if advantage > 0 else "second" if advantage < 0 else "tie"
