"""Training `idk` on 3,750 dialogues: with nothing in the cache, and again with the vectors in it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.aptness import dialogues
from rejoinder.data.writer import write
from rejoinder.models.aptness.model import open_aptness
from rejoinder.types import Dialogue, Turn

COUNT = 3_750


def films(count: int) -> tuple[list[Dialogue], str]:
    """Dialogues of films where the corpus is here, else others."""
    from rejoinder.data.datasets import read_dataset
    from rejoinder.errors import InputError

    try:
        records = read_dataset("corpus/dialogues")
        found = [r for r in records if isinstance(r, Dialogue) and r.corpus == "cornell" and r.split == "train"]
        return sorted(found, key=lambda dialogue: dialogue.id)[:: len(found) // count][:count], "of films"
    except InputError:
        spoken, kind = dialogues(8 * count)
        made = [Dialogue(f"d{i}", tuple(map(Turn, texts)), "made", "train") for i, texts in enumerate(spoken)]
        return [dialogue for dialogue in made if len(dialogue.turns) > 1][:count], kind


def seconds(file: Path, target: Path, cache: Path) -> float:
    """How long the command takes from start to end."""
    command = [sys.executable, "-m", "rejoinder", "train", "idk", str(file), "-o", str(target)]
    begun = time.perf_counter()
    subprocess.run(command, check=True, env={**os.environ, "REJOINDER_CACHE": str(cache)}, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begun


def measure(count: int = COUNT) -> list[dict[str, Any]]:
    """The command twice, in a cache of its own."""
    open_aptness()  # says what is missing where it is
    found, kind = films(count)
    entries = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write(found, folder / "talks.jsonl")
        for name, most in (("cold", 90.0), ("warm", 5.0)):
            spent = seconds(folder / "talks.jsonl", folder / name, folder / "cache")
            entries.append(
                {
                    "name": f"rejoinder train idk, {len(found):,} dialogues {kind}, vectors {name}",
                    "value": round(spent, 1),
                    "unit": "s",
                    "against": f"at most {most:g} s",
                    "ratio": round(spent, 1),
                    "floor": most,
                    "at_most": True,
                }
            )
    return entries


if __name__ == "__main__":
    for entry in measure():
        print(entry)
