"""BERTScore of the replies of five systems to shared items, against the bert-score package with the same weights."""

from __future__ import annotations

import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.encoding import folder_of_minilm, made_up
from rejoinder.metrics.bertscore import Bertscore
from rejoinder.models.device import count_threads, silence_transformers
from rejoinder.types import Item, Pair, Reference, Response

REFERENCES = SYSTEMS = 5
LAYERS = 6
ROUNDS = 2


def pairs_of(responses: int) -> list[Pair]:
    """Every system answers every item; no two texts are alike but the references that the systems share."""
    texts = iter(made_up(responses // SYSTEMS * (SYSTEMS + REFERENCES)))
    pairs = []
    for i in range(responses // SYSTEMS):
        item = Item(str(i), (), tuple(Reference(next(texts)) for _ in range(REFERENCES)))
        pairs += [Pair(item, Response(f"{i}/{s}", item.id, str(s), next(texts))) for s in range(SYSTEMS)]
    return pairs


def a_model(spare: Path) -> Path:
    """MiniLM where it is in the cache, else random weights with a tokeniser that both read alike."""
    folder = folder_of_minilm(spare)
    if folder == spare:
        from transformers import AutoTokenizer

        loaded: Any = AutoTokenizer.from_pretrained(spare)
        loaded.save_pretrained(spare)
    return folder


def the_package(folder: Path) -> Any:
    """The package's scorer, its model loaded, cutting texts where ours does."""
    import torch
    from bert_score import BERTScorer

    torch.set_num_threads(count_threads())
    with silence_transformers():
        scorer: Any = BERTScorer(model_type=str(folder), num_layers=LAYERS, device="cpu")
    scorer._tokenizer.model_max_length = 256
    return scorer


def by_package(scorer: Any, pairs: list[Pair]) -> Any:
    replies = [pair.response.text for pair in pairs]
    return scorer.score(replies, [[r.text for r in pair.item.references] for pair in pairs])[2].numpy()


def measure(responses: int = 1_000, compared: int = 200) -> list[dict[str, Any]]:
    """Replies a second, tokenising included, nothing cached, the two in turns."""
    pairs = pairs_of(responses)
    ours = theirs = apart = 0.0
    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the package's libraries
        folder = a_model(Path(scratch) / "random")
        metric, scorer = Bertscore(encoder=str(folder)), the_package(folder)
        metric.score(pairs[:SYSTEMS])  # neither is measured while it warms up
        by_package(scorer, pairs[:SYSTEMS])
        for turn in range(ROUNDS):
            mine = pairs[turn * responses // ROUNDS : (turn + 1) * responses // ROUNDS]
            yours = mine[: compared // ROUNDS]
            begun = time.perf_counter()
            found = metric.score(mine)
            ended = time.perf_counter()
            other = by_package(scorer, yours)
            ours, theirs = ours + ended - begun, theirs + time.perf_counter() - ended
            apart = max(apart, float(np.abs(np.array(found[: len(yours)]) - other).max()))
    if apart > 2e-3:  # its padding moves the package's own numbers by less: docs/embedding_metrics.md
        raise RuntimeError(f"the two do not score the same: they differ by {apart}")
    rate, their_rate = responses / ours, compared / theirs
    return [
        {
            "name": f"bertscore, {responses:,} replies of {SYSTEMS} systems, {REFERENCES} references, {folder.name}",
            "value": round(rate, 1),
            "unit": "replies/s",
            "against": f"bert-score, same weights, on {compared} of the replies, {their_rate:.1f} replies/s",
            "ratio": round(rate / their_rate, 2),
            "floor": 2.8,
        }
    ]


if __name__ == "__main__":
    for entry in measure():
        print(entry)
