"""Finding the five turns whose past, response and future are nearest, of all 838,860 turns, beside rank-bm25."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.retrieval import TURNS
from benchmarks.synthetic import sentences
from rejoinder.data.reader import stream
from rejoinder.indexes.three_field.bm25 import ThreeFieldIndex
from rejoinder.paths import data_home
from rejoinder.text.tokens import tokenize
from rejoinder.types import Dialogue, Item, Reference, Turn

EVERY = 16  # rank-bm25 is given the turns of one dialogue in so many: all would take it gigabytes
ITEMS, K = 20, 5
FLOOR, MOST = 30, 150  # times as fast as rank-bm25; microseconds a turn
EPSILON = 1e-3


def dialogues() -> Iterator[Dialogue]:
    """Every dialogue of the corpus; where it is not here, as many turns that are made up."""
    file = data_home() / "corpora" / "dialogues.jsonl.gz"
    if file.is_file():
        return (record for record in stream(file) if isinstance(record, Dialogue))
    texts = sentences(TURNS)
    return (Dialogue(f"d{start}", tuple(map(Turn, texts[start : start + 6]))) for start in range(0, TURNS, 6))


def fields(texts: list[str], place: int) -> tuple[str, str, str]:
    return " ".join(texts[max(0, place - 2) : place]), texts[place], " ".join(texts[place + 1 : place + 3])


def rank_bm25(documents: list[tuple[str, str, str]]) -> Callable[[Item], object]:
    """The same sum by rank-bm25: one index a field, every document's score from each.

    Its idf is another one, (N - df + 1/2) / (df + 1/2), which costs the same; only the time is compared.
    """
    okapi = import_module("rank_bm25").BM25Okapi
    models = [okapi([tokenize(d[n], "words") for d in documents], k1=0.5, b=0.7) for n in range(3)]

    def search(item: Item) -> object:
        texts = [turn.text for turn in (*item.context, Turn(item.references[0].text), *item.future)]
        total = np.zeros(len(documents))
        for model, text in zip(models, fields(texts, len(item.context)), strict=True):
            total += np.log(np.maximum(model.get_scores(tokenize(text, "words")), EPSILON))
        return np.argsort(-total)[:K]

    return search


def items_of(some: list[Dialogue]) -> list[Item]:
    """Places in the middle of dialogues, with two turns on either side."""
    long = [dialogue for dialogue in some if len(dialogue.turns) >= 5]
    return [
        Item(d.id, d.turns[:2], (Reference(d.turns[2].text),), d.turns[3:5], dialogue=d.id)
        for d in random.Random(0).sample(long, ITEMS)
    ]


def measure() -> list[dict[str, Any]]:
    """Milliseconds of CPU time an item, one at a time, by turns with rank-bm25; microseconds a turn of building."""
    some = list(islice(dialogues(), 0, None, EVERY))
    documents = [fields([t.text for t in d.turns], n) for d in some for n in range(len(d.turns))]
    items = items_of(some)
    with tempfile.TemporaryDirectory() as name:
        begun = time.perf_counter()
        index = ThreeFieldIndex.build(dialogues(), Path(name) / "index", epsilon=EPSILON)
        built = (time.perf_counter() - begun) / len(index) * 1e6
        theirs = rank_bm25(documents)
        index.search(items[:1], K)
        spent = [0.0, 0.0]
        calls: tuple[Callable[[Item], object], ...] = (lambda item: index.search([item], K), theirs)
        for item in items:
            for number, call in enumerate(calls):
                begun = time.process_time()
                call(item)
                spent[number] += time.process_time() - begun
        turns = len(index)
    mine, other = (seconds / len(items) * 1e3 for seconds in spent)
    scaled = other * turns / len(documents)
    return [
        {
            "name": f"finding the {K} turns of {turns:,} nearest in past, response and future",
            "value": round(mine, 2),
            "unit": "ms/item",
            "against": f"rank-bm25: {other:.0f} ms over {len(documents):,} of them, {scaled:.0f} ms scaled to all",
            "ratio": round(scaled / mine, 1),
            "floor": FLOOR,
        },
        {
            "name": f"building the three-field index of {turns:,} turns",
            "value": round(built, 1),
            "unit": "microseconds/turn",
            "against": f"at most {MOST} microseconds",
            "ratio": round(built / MOST, 3),
            "floor": 1.0,
            "at_most": True,
        },
    ]


if __name__ == "__main__":
    for entry in measure():
        print(entry)
