"""How fast candidates are drawn from speaker sets, over the published corpus or made-up dialogues of its size."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.synthetic import sentences
from rejoinder.data.datasets import read_dataset
from rejoinder.indexes.corpus import Corpus
from rejoinder.indexes.pool_sampling import draw_keys
from rejoinder.indexes.speakers import SETS, SpeakerSet
from rejoinder.paths import data_home
from rejoinder.sources._base import Moment, parse_source
from rejoinder.types import Dialogue, Turn

TURNS = 838_860
RATE = 200_000  # samples a second on one core
_MOMENTS = 200_000
_PROPOSED = 20_000
_K = 4


def measure(turns: int = TURNS) -> list[dict[str, Any]]:
    """Samples a second of CPU time, k = 1, from each set; candidates with their texts; building and memory."""
    begun = time.process_time()
    corpus = Corpus.of(_dialogues(turns))
    _ = corpus.speakers.by_pair
    built = time.process_time() - begun
    size = f"{corpus.n_turns} turns"
    random = np.random.default_rng(0)
    moments = random.choice(corpus.moments(), _MOMENTS)
    sample(corpus, SpeakerSet("random"), moments[:1])  # what is found out once for all draws
    rates = {name: sample(corpus, SpeakerSet(name), moments) for name in SETS}
    together = len(SETS) / sum(1 / rate for rate in rates.values())
    entries = [_entry(f"speaker sets, the four by turns, {size}, one core", together)]
    entries += [_entry(f"speaker set {name}, {size}, one core", rate) for name, rate in rates.items()]
    entries.append(_entry(f"candidates with texts from random, k = {_K}, {size}, one core", _propose(corpus, moments)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    entries.append(
        {
            "name": f"speaker index of {size}: peak memory of the process",
            "value": round(peak, 2),
            "unit": "GB",
            "against": f"1 GB; built in {built:.1f} s of CPU time, reading included",
            "ratio": round(peak, 2),
            "floor": 1.0,
            "at_most": True,
        }
    )
    return entries


def sample(corpus: Corpus, of: SpeakerSet, moments: np.ndarray[Any, np.dtype[np.int64]]) -> float:
    """Candidates drawn a second; moments that have none cost time and count for nothing."""
    begun = time.process_time()
    drawn = corpus.speakers.sample(of, moments, 1, draw_keys(moments, 0))
    return int((drawn >= 0).sum()) / (time.process_time() - begun)


def _propose(corpus: Corpus, moments: np.ndarray[Any, np.dtype[np.int64]]) -> float:
    proposer = parse_source("random").over(corpus)
    dialogue = corpus.dialogue[moments[:_PROPOSED]]
    places = moments[:_PROPOSED] - corpus.starts[dialogue]
    asked = [Moment(corpus.ids[d], p) for d, p in zip(dialogue.tolist(), places.tolist(), strict=True)]
    _ = corpus.numbers
    begun = time.process_time()
    proposer.propose(asked, _K)
    return _PROPOSED * _K / (time.process_time() - begun)


def _entry(name: str, rate: float) -> dict[str, Any]:
    return {
        "name": name,
        "value": round(rate),
        "unit": "samples/s",
        "against": f"{RATE} samples/s",
        "ratio": round(rate / RATE, 2),
        "floor": 1.0,
    }


def _dialogues(turns: int) -> Iterator[Dialogue]:
    """The corpus where it is here, else made-up dialogues of 300 speakers."""
    if turns == TURNS and (data_home() / Path("corpora/dialogues.jsonl.gz")).is_file():
        yield from (record for record in read_dataset("corpus/dialogues") if isinstance(record, Dialogue))
        return
    random = np.random.default_rng(0)
    texts = sentences(min(turns, 50_000))
    for number in range(turns // 8):
        two = random.integers(0, 300, 2)
        said = random.integers(0, len(texts), 8)
        yield Dialogue(
            f"d{number}", tuple(Turn(texts[t], f"speaker {two[i % 2]}x") for i, t in enumerate(said)), "c", "train"
        )


if __name__ == "__main__":
    for entry in measure():
        print(entry)
