"""Count in how many turns of dialogues each word occurs, for ``rejoinder.text.rarity``.

``python -m tools.build_rarity`` reads the split ``train`` of ``dataset:corpus/permissive``.
"""

from __future__ import annotations

import gzip
import sys
from collections import Counter
from pathlib import Path

from rejoinder.data.inputs import read_dialogues
from rejoinder.text.rarity import RARITY_FILE, split_runs

WORDS = 12_000  # the most frequent ones


def count_turns(files: list[str]) -> tuple[int, Counter[str]]:
    """Return the number of turns and, for each word, the number of those with it."""
    turns, counts = 0, Counter[str]()
    for dialogue in read_dialogues(files):
        if dialogue.split in (None, "train"):
            for turn in dialogue.turns:
                turns += 1
                counts.update(set(split_runs(turn.text)))
    return turns, counts


def write_rarity(path: Path, turns: int, counts: Counter[str]) -> None:
    """Write the most frequent words; the same counts give the same bytes."""
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))[:WORDS]
    text = "".join([f"{turns}\n", *(f"{word} {count}\n" for word, count in rows)])
    path.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


if __name__ == "__main__":
    write_rarity(RARITY_FILE, *count_turns(sys.argv[1:] or ["dataset:corpus/permissive"]))
