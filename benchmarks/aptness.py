"""`aptness` against sentence-transformers with the same weights; encodings a turn; the first score of a process.

``python -m benchmarks.aptness FOLDER ...`` compares the networks of other folders with the shipped ones instead.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.encoding import made_up
from benchmarks.synthetic import sentences
from rejoinder.models.aptness.model import AptnessModel, open_aptness
from rejoinder.models.aptness_card import read_aptness_card
from rejoinder.models.device import count_threads, silence_transformers
from rejoinder.models.encoder.aptness import AptnessEncoder

ROUNDS = 4
BETWEEN = "[unused0]"
Pairs = list[tuple[list[str], str]]


def dialogues(turns: int) -> tuple[list[list[str]], str]:
    """Conversations as people had them where the dialogue corpus is here, else made up."""
    from rejoinder.data.datasets import read_dataset
    from rejoinder.errors import InputError
    from rejoinder.types import Dialogue

    try:
        records = read_dataset("corpus/dialogues")
        found = [[t.text for t in r.turns] for r in records if isinstance(r, Dialogue) and r.split == "test"]
    except InputError:
        ends = np.cumsum(np.random.default_rng(0).integers(2, 12, turns))
        texts = made_up(turns)
        return [texts[a:b] for a, b in itertools.pairwise(ends) if b <= turns], "made up"
    order = np.random.default_rng(0).permutation(len(found))
    ends = np.cumsum([len(found[i]) for i in order])
    return [found[i] for i in order[: int(np.searchsorted(ends, turns)) + 1]], "of the corpora's test split"


def pairs_of(texts: list[list[str]]) -> Pairs:
    """Every turn but the first as a reply to what was said before it."""
    return [(dialogue[:i], dialogue[i]) for dialogue in texts for i in range(1, len(dialogue))]


def within_limits(model: AptnessModel, pairs: Pairs) -> Pairs:
    """The pairs with only as many last utterances as the cross-encoder reads, so that both read the same tokens."""
    limits, size = model.card.limits, {}
    texts = list(dict.fromkeys(text for context, reply in pairs for text in (*context, reply)))
    for text, ids in zip(texts, model._tokenizer.pieces(texts), strict=True):
        size[text] = len(ids)
    found: Pairs = []
    for context, reply in pairs:
        ends = np.cumsum([size[text] + 1 for text in reversed(context)])
        kept = int(np.searchsorted(ends, limits.context_tokens + 1, side="right"))
        if kept and 0 < size[reply] <= limits.reply_tokens and all(size[text] for text in context[-kept:]):
            found.append((context[-kept:], reply))
    return found


class Rivals:
    """Both networks in float32 under sentence-transformers."""

    def __init__(self, folder: Path, scratch: Path) -> None:
        import torch
        from sentence_transformers import CrossEncoder, SentenceTransformer
        from sentence_transformers.base.modules import Transformer
        from sentence_transformers.sentence_transformer.modules import Pooling

        from rejoinder.models.aptness.network import float_networks, masked_mean

        torch.set_num_threads(count_threads())
        bi, cross = float_networks(folder)

        class Head(torch.nn.Module):
            """The cross-encoder's head over sentence-transformers' token vectors."""

            def __init__(self) -> None:
                super().__init__()
                self.gather, self.head = cross.gather, cross.head

            def forward(self, given: dict[str, Any]) -> dict[str, Any]:
                states, mask, kinds = (given[k] for k in ("token_embeddings", "attention_mask", "token_type_ids"))
                context, reply = masked_mean(states, mask * (1 - kinds)), masked_mean(states, mask * kinds)
                gathered = self.gather(torch.cat([states[:, 0], context, reply, context * reply], dim=-1))
                return {**given, "scores": self.head(torch.tanh(gathered))}

        with silence_transformers():
            for name, network in (("bi", bi), ("cross", cross)):
                network.trunk.save_pretrained(scratch / name)
                _tokenizer(folder).save_pretrained(scratch / name)
            width = int(bi.trunk.config.hidden_size)
            longest = read_aptness_card(folder).limits.utterance_tokens
            utterances: Any = Transformer(str(scratch / "bi"), max_seq_length=longest)
            self.bi: Any = SentenceTransformer(modules=[utterances, Pooling(width, "mean")], device="cpu")
            self.cross: Any = CrossEncoder(modules=[Transformer(str(scratch / "cross")), Head()], device="cpu")
        self._raw = torch.nn.Identity()

    def bi_vectors(self, pairs: Pairs, utterances: int = 6) -> Any:
        """Contexts as one text each, and replies: vectors of both."""
        contexts = [" ".join(context[-utterances:]) for context, _ in pairs]
        options = {"batch_size": 32, "show_progress_bar": False, "normalize_embeddings": True}
        return self.bi.encode(contexts, **options), self.bi.encode([reply for _, reply in pairs], **options)

    def cross_scores(self, pairs: Pairs) -> Any:
        """The log-odds of pairs."""
        texts = [[BETWEEN.join(context), reply] for context, reply in pairs]
        found = self.cross.predict(texts, batch_size=32, activation_fn=self._raw, show_progress_bar=False)
        return found.reshape(-1)


def _tokenizer(folder: Path) -> Any:
    from transformers import PreTrainedTokenizerFast

    names = {f"{name}_token": f"[{name.upper()}]" for name in ("cls", "sep", "pad", "unk", "mask")}
    tokenizer: Any = PreTrainedTokenizerFast
    return tokenizer(
        tokenizer_file=str(folder / "tokenizer.json"),
        additional_special_tokens=[BETWEEN],
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        model_max_length=512,
        **names,
    )


def in_turns(ours: Callable[[Pairs], Any], theirs: Callable[[Pairs], Any], pairs: Pairs) -> list[float]:
    """Pairs a second of the two, measured in turns on slices that neither has seen."""
    spent = [0.0, 0.0]
    for turn in range(ROUNDS):
        given = pairs[turn * len(pairs) // ROUNDS : (turn + 1) * len(pairs) // ROUNDS]
        for i, work in enumerate((ours, theirs)):
            begun = time.perf_counter()
            work(given)
            spent[i] += time.perf_counter() - begun
    return [len(pairs) / seconds for seconds in spent]


def speeds(model: AptnessModel, count: int) -> list[dict[str, Any]]:
    """Replies a second of each network, tokenising included, nothing cached."""
    spoken, kind = dialogues(2 * count)
    pairs = within_limits(model, pairs_of(spoken))[:count]
    entries = []
    with tempfile.TemporaryDirectory() as scratch:
        rivals = Rivals(model.folder, Path(scratch))
        _check_same(model, rivals, pairs[-100:])  # and neither is measured while it warms up
        pairs = pairs[:-100]
        for name, floor, ours, theirs, rival in (
            ("bi", 1.8, model.bi_scores, rivals.bi_vectors, "contexts joined, and replies"),
            ("cross", 1.5, model.cross_scores, rivals.cross_scores, "CrossEncoder.predict"),
        ):

            def work(given: Pairs, score: Callable[[Any, Any], Any] = ours) -> Any:
                return score([context for context, _ in given], [reply for _, reply in given])

            rate, their_rate = in_turns(work, theirs, pairs)
            entries.append(
                {
                    "name": f"aptness(model='{name}'), {len(pairs):,} replies {kind}, nothing cached",
                    "value": round(rate, 1),
                    "unit": "replies/s",
                    "against": f"sentence-transformers ({rival}) in float32, same weights, {their_rate:.1f} replies/s",
                    "ratio": round(rate / their_rate, 2),
                    "floor": floor,
                }
            )
    return entries


def _check_same(model: AptnessModel, rivals: Rivals, pairs: Pairs) -> None:
    contexts, replies = [context for context, _ in pairs], [reply for _, reply in pairs]
    apart = float(np.abs(model.cross_scores(contexts, replies) - rivals.cross_scores(pairs)).max())
    apart = max(apart, float(np.abs(model.encoder.encode(replies) - rivals.bi_vectors(pairs)[1]).max()))
    if apart > 1e-4:
        raise RuntimeError(f"the two do not compute the same: they differ by {apart}")


def encodings(count: int = 1_000, turns: int = 20) -> dict[str, Any]:
    """How many utterances a run encodes to score each turn of dialogues; the encoder only counts here."""
    from rejoinder.data.writer import write
    from rejoinder.scoring.run import Plan, run
    from rejoinder.types import Item, Response, Turn

    texts = sentences(count * turns)
    asked = 0

    def counting(self: AptnessEncoder, given: Any, cut: str = "right") -> Any:
        nonlocal asked
        asked += len(given)
        return np.full((len(given), self.dimensions), self.dimensions**-0.5, np.float32)

    records: list[Any] = []
    for i in range(count):
        said = texts[i * turns : (i + 1) * turns]
        for k in range(1, turns):
            item = Item(f"{i}-{k}", tuple(Turn(text) for text in said[:k]), dialogue=str(i))
            records += [item, Response(f"{item.id}/r", item.id, "people", said[k])]
    encode = AptnessEncoder.encode
    AptnessEncoder.encode = counting  # type: ignore[method-assign,assignment]
    try:
        with tempfile.TemporaryDirectory() as scratch:
            write(records, Path(scratch) / "data.jsonl")
            run([Path(scratch) / "data.jsonl"], Plan.of(["aptness(model='bi')"]), Path(scratch) / "run", cache=False)
    finally:
        AptnessEncoder.encode = encode  # type: ignore[method-assign]
    ratio = round(asked / len(set(texts)), 3)
    return {
        "name": f"encodings a distinct turn, scoring each turn of {count:,} dialogues of {turns} turns, model='bi'",
        "value": ratio,
        "unit": "encodings",
        "against": "at most 1.3",
        "ratio": ratio,
        "floor": 1.3,
        "at_most": True,
    }


def first_score() -> dict[str, Any]:
    """Seconds from the start of Python to the first score."""
    program = "import rejoinder; rejoinder.aptness([['hi there', 'hello, how are you?']], ['fine, thanks'])"
    spent = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as cache:
            begun = time.perf_counter()
            environment = {**os.environ, "REJOINDER_CACHE": cache}
            subprocess.run([sys.executable, "-c", program], check=True, env=environment)
            spent.append(time.perf_counter() - begun)
    return {
        "name": "first aptness of a new process, imports included, the slowest of three",
        "value": round(max(spent), 2),
        "unit": "s",
        "against": "at most half a second",
        "ratio": round(max(spent), 2),
        "floor": 0.5,
        "at_most": True,
    }


def measure(count: int = 1_300) -> list[dict[str, Any]]:
    """All of it, with an empty cache of embeddings."""
    model = open_aptness()
    before = os.environ.get("REJOINDER_CACHE")
    with tempfile.TemporaryDirectory() as cache:
        os.environ["REJOINDER_CACHE"] = cache
        try:
            return [*speeds(model, count), encodings(), first_score()]
        finally:
            os.environ.pop("REJOINDER_CACHE")
            if before is not None:
                os.environ["REJOINDER_CACHE"] = before


def compare_folders(folders: list[Path], count: int = 300) -> list[dict[str, Any]]:
    """Processor time of the networks of folders on the same replies, in turn on one core, and the shares of it."""
    shipped = open_aptness()
    spoken, kind = dialogues(2 * count)
    pairs = within_limits(shipped, pairs_of(spoken))[:count]
    contexts, replies = [context for context, _ in pairs], [reply for _, reply in pairs]
    spent: dict[tuple[Path, str], list[float]] = {}
    before = {name: os.environ.get(name) for name in ("REJOINDER_CACHE", "REJOINDER_THREADS")}
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["REJOINDER_THREADS"] = "1"
        for turn in range(ROUNDS):
            for number, folder in enumerate((shipped.folder, *folders)):
                os.environ["REJOINDER_CACHE"] = f"{scratch}/{turn}-{number}"
                model = AptnessModel(folder)
                for name, score in (("bi", model.bi_scores), ("cross", model.cross_scores)):
                    score(contexts[:2], replies[:2])  # opens the graphs
                    begun = time.process_time()
                    score(contexts[2:], replies[2:])
                    spent.setdefault((folder, name), []).append(time.process_time() - begun)
    for name, value in before.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
    return [
        {
            "name": f"{folder.name}: {name}, {len(pairs)} replies {kind}, one core",
            "value": round(min(seconds), 2),
            "unit": "s of processor time, the best of several rounds in turn",
            "against": "the shipped networks",
            "ratio": round(min(seconds) / min(spent[shipped.folder, name]), 3),
        }
        for (folder, name), seconds in spent.items()
    ]


if __name__ == "__main__":
    named = [Path(argument) for argument in sys.argv[1:]]
    for entry in compare_folders(named) if named else measure():
        print(entry)
