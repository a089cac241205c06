"""How rare a word is in conversation: its inverse document frequency over the turns of public dialogues.

The counts are in ``rarity.txt.gz``: the number of turns on the first line, then ``word count`` by falling count.
``python -m tools.build_rarity`` writes it from dialogues whose licences allow commercial use.
"""

from __future__ import annotations

import gzip
import math
import re
from functools import lru_cache
from pathlib import Path

RARITY_FILE = Path(__file__).parent / "rarity.txt.gz"
_RUN = re.compile(r"[^\W_]+")


def split_runs(text: str) -> list[str]:
    """Return the runs of letters and digits of a text, in lower case: ``don't`` has two."""
    return _RUN.findall(text.lower())


def word_rarity(word: str) -> float:
    """Return ln(turns / turns with the word); a word that the table lacks is as rare as its rarest."""
    rarities = _read_rarities()
    return rarities.get(word, rarities[""])


@lru_cache(maxsize=1)
def _read_rarities() -> dict[str, float]:
    with gzip.open(RARITY_FILE, "rt", encoding="utf-8") as lines:
        turns = int(next(lines))
        counts = {word: int(count) for word, count in (line.split() for line in lines)}
    rarities = {word: math.log(turns / count) for word, count in counts.items()}
    return {**rarities, "": max(rarities.values())}


def mean_rarity(text: str) -> float:
    """Return the mean rarity of a text's words: how specific it is; 0 if it has none."""
    words = split_runs(text)
    return sum(map(word_rarity, words)) / len(words) if words else 0.0
