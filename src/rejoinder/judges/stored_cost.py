"""The answers of endpoints in the cache: how many there are, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import orjson

from rejoinder.engines.spending import format_money
from rejoinder.judges.completion import parse_chat_completion
from rejoinder.judges.prices import find_price

FOLDERS = ("judge", "systems")  # of the cache: what was paid for


class StoredCost(NamedTuple):
    """Stored answers, what those with a known price cost, and how many have none."""

    answers: int
    cost: float
    without_price: int

    def describe(self) -> str:
        """The answers and their cost in words."""
        known = self.answers - self.without_price
        if not known:
            return f"{self.answers:,} answers of endpoints (their cost is not known)"
        rest = f"; that of {self.without_price:,} is not known" if self.without_price else ""
        return f"{self.answers:,} answers of endpoints (cost {format_money(self.cost)} by the prices known here{rest})"


def count_stored_answers(home: Path) -> StoredCost:
    """Count the paid answers below a cache folder."""
    answers = without_price = 0
    cost = 0.0
    for body in _read_bodies(home):
        answers += 1
        completion = parse_chat_completion(body.encode())
        price = None if completion.model is None else find_price(completion.model)
        paid = None if price is None else price.cost_of(completion.usage)
        without_price += paid is None
        cost += paid or 0.0
    return StoredCost(answers, cost, without_price)


def _read_bodies(home: Path) -> Iterator[str]:
    """The bodies of paid answers; lines that are damaged are left out."""
    for path in sorted(path for folder in FOLDERS for path in (home / folder).glob("*.jsonl")):
        with path.open("rb") as lines:
            for line in lines:
                try:
                    answer = orjson.loads(line)
                    if answer["outcome"] != "refused":
                        yield str(answer["body"])
                except (ValueError, TypeError, KeyError):
                    continue
