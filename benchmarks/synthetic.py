"""Made-up conversations of any size, for measuring: words by Zipf's law, the common ones English."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rejoinder.data.writer import write
from rejoinder.types import Item, Record, Reference, Response, Turn

_COMMON = "i you the to it that and of is what in we this for do have not my be your he are on so with know was".split()
_ENDS = np.array([".", "?", "!", "..."])


def sentences(n: int, seed: int = 0) -> list[str]:
    """Sentences of made-up words, with capitals and punctuation as people write them."""
    random = np.random.default_rng(seed)
    letters = np.array(list("aaabcdeeefghiijklmnoopqrstuvwxyz"))
    made_up = ["".join(random.choice(letters, size)) for size in random.integers(2, 9, 8_000)]
    words = np.array([*_COMMON, *made_up])
    chances = 1 / np.arange(1, len(words) + 1)
    lengths = random.integers(4, 19, n)
    drawn = iter(random.choice(words, int(lengths.sum()), p=chances / chances.sum()).tolist())
    ends = random.choice(_ENDS, n).tolist()
    return [
        " ".join(next(drawn) for _ in range(length)).capitalize() + end
        for length, end in zip(lengths, ends, strict=True)
    ]


def records(items: int, systems: int = 1, references: int = 5, seed: int = 0) -> Iterator[Record]:
    """Items with a context of two turns and some references, each answered by every system."""
    pool = sentences(5_000, seed)
    random = np.random.default_rng(seed + 1)
    per_item = 2 + references + systems
    for i in range(items):
        texts = [pool[j] for j in random.integers(0, len(pool), per_item).tolist()]
        context = (Turn(texts[0], "A"), Turn(f"{texts[1]} {i}", "B"))
        yield Item(
            f"item-{i}", context, tuple(map(Reference, texts[2 : 2 + references])), dialogue=f"dialogue-{i // 4}"
        )
        for s, text in enumerate(texts[2 + references :]):
            yield Response(f"item-{i}/system-{s}", f"item-{i}", f"system-{s}", f"{text} {texts[2 + i % references]}")


def write_file(path: Path, responses: int, systems: int = 4, references: int = 5) -> Path:
    """A file with so many responses."""
    write(records(responses // systems, systems, references), path)
    return path
