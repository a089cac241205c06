"""A metric that is slow as long as it is told so: of several processes, all but the first are slower than any test."""

from __future__ import annotations

from pathlib import Path

SLOW = """
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass

from rejoinder.metric import Metric
from rejoinder.types import Pair

_seconds = 0


def seconds() -> float:
    global _seconds
    if not os.path.exists("wait"):
        return 0.0
    if not _seconds:
        try:
            os.rename("first", "taken")
            _seconds = 3
        except OSError:
            _seconds = 100
    return _seconds


@dataclass(frozen=True)
class Slow(Metric):
    needs = frozenset({"context"})
    range = (0.0, 1000.0)
    version = 1

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        time.sleep(seconds())
        return [float(len(pair.response.text) % 7) for pair in pairs]
"""


def write_slow(folder: Path) -> None:
    """``./slow.py`` for commands that are typed in a folder; slow until ``wait`` is taken away."""
    (folder / "slow.py").write_text(SLOW)
    for name in ("wait", "first"):
        (folder / name).touch()
