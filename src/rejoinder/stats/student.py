"""Student's t: the quantile behind the interval of a mean.

scipy computes it, but takes a quarter of a second to import, which would be half of what the first score of a process
takes. ``t_quantiles.json`` holds scipy's own values (1.17) for the 95% level up to 1,000 degrees of freedom.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("t_quantiles.json")
_TABLE_PROBABILITY = 0.975


def t_quantile(degrees: int, probability: float) -> float:
    """Return the value that Student's t with ``degrees`` degrees of freedom exceeds with 1 - ``probability``."""
    if probability == _TABLE_PROBABILITY and 1 <= degrees <= len(_read_table()):
        return _read_table()[degrees - 1]
    from scipy.special import stdtrit

    return float(stdtrit(degrees, probability))


@cache
def _read_table() -> list[float]:
    table: list[float] = json.loads(_FILE.read_text(encoding="ascii"))
    return table
