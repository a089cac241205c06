"""One epoch of `ssrem` over Cornell's ``train`` with V in the cache, and the memory that it takes beyond the index."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rejoinder_lab.training.speaker.trainer import ScorerRecipe, prepare_places, train_places
from rejoinder_lab.training.turn_vectors import TurnVectors, open_turn_vectors

from benchmarks.synthetic import sentences
from rejoinder.indexes.corpus import Corpus
from rejoinder.model_use import ModelUse
from rejoinder.models.speaker.vectors import WeightedVectors
from rejoinder.types import Dialogue, Turn

SECONDS = 20.0
DIALOGUES = 74_063  # of Cornell's train
_DIMENSIONS = 384  # as the default encoder's


class Drawn:
    """Vectors of the default encoder's size without its time: V is in the cache when an epoch begins."""

    name, digest, dimensions = "drawn", "drawn", _DIMENSIONS
    use = ModelUse("drawn", "none", "drawn")

    def encode_turns(self, texts: Sequence[str]) -> WeightedVectors:
        """A random vector a text."""
        random = np.random.default_rng(len(texts))
        vectors = random.normal(size=(len(texts), self.dimensions)).astype(np.float32)
        return WeightedVectors(vectors, np.array([bool(text.strip()) for text in texts], np.float32))

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """None."""
        return [False] * len(texts)


def measure(count: int = DIALOGUES) -> list[dict[str, Any]]:
    """Seconds of an epoch, and what is allocated during one for a fifth and for all of the dialogues."""
    dialogues, kind = _films(count)
    with tempfile.TemporaryDirectory() as scratch:
        whole = _epoch(dialogues, Path(scratch) / "whole")
        part = _epoch(dialogues[: count // 5], Path(scratch) / "part")
    return [
        {
            "name": f"rejoinder train ssrem: one epoch, {whole['places']:,} contexts {kind}, V cached",
            "value": round(whole["seconds"], 1),
            "unit": "s",
            "against": f"at most {SECONDS:g} s; {whole['places'] / whole['seconds']:,.0f} contexts/s",
            "ratio": round(whole["seconds"], 1),
            "floor": SECONDS,
            "at_most": True,
        },
        {
            "name": "rejoinder train ssrem: memory allocated by an epoch, all dialogues against a fifth",
            "value": round(whole["memory"], 1),
            "unit": "MiB",
            "against": f"{part['memory']:.1f} MiB for a fifth",
            "ratio": round(whole["memory"] / part["memory"], 2),
            "floor": 1.5,
            "at_most": True,
        },
    ]


def _epoch(dialogues: list[Dialogue], folder: Path) -> dict[str, float]:
    """An epoch with everything ready: its time, then in another one the peak of what is allocated."""
    import tracemalloc

    corpus = Corpus.of(dialogues)
    vectors: TurnVectors = open_turn_vectors(corpus, Drawn(), lambda line: None)
    recipe = ScorerRecipe("ssrem", epochs=1)
    places = prepare_places(recipe, vectors, folder, lambda line: None)
    places.negatives(np.arange(1), 0)  # the index of speakers, built once
    begun = time.perf_counter()
    train_places(places, folder, Drawn(), False, lambda line: None)
    spent = time.perf_counter() - begun
    few = replace(places, train=places.train[:: max(1, places.n // 20_000)])
    tracemalloc.start()
    train_places(few, folder, Drawn(), False, lambda line: None)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return {"seconds": spent, "places": places.n, "memory": peak}


def _films(count: int) -> tuple[list[Dialogue], str]:
    """Cornell's dialogues where the corpus is here, else made-up ones of its size."""
    from rejoinder.data.datasets import read_dataset
    from rejoinder.errors import InputError

    try:
        records = (r for r in read_dataset("corpus/dialogues") if isinstance(r, Dialogue) and r.corpus == "cornell")
        found = sorted((d for d in records if d.split in ("train", "valid")), key=lambda d: d.split != "valid")
        return found, "of films"
    except InputError:
        return list(_made(count)), "made up"


def _made(count: int) -> Iterator[Dialogue]:
    random = np.random.default_rng(0)
    texts = sentences(50_000)
    for number in range(count):
        said = random.integers(0, len(texts), 4)
        two = random.integers(0, 9_000, 2)
        turns = tuple(Turn(texts[t], f"speaker {two[i % 2]}x") for i, t in enumerate(said))
        yield Dialogue(f"d{number}", turns, "made", "valid" if number % 20 == 0 else "train")


if __name__ == "__main__":
    for entry in measure():
        print(entry)
