"""GRADE (Huang et al. 2020): the authors' checkpoint applied to pairs of context and reply.

The folder contains what the authors publish, in their subfolders or flat, and what their code takes from elsewhere
(docs/adapters.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rejoinder.errors import InputError, MissingExtraError
from rejoinder.files import sha256_of_files
from rejoinder.model_use import ModelUse, record_use
from rejoinder.models.batching import pad_token_ids, split_into_batches
from rejoinder.models.device import count_threads, device_batch_limits
from rejoinder.models.tokenization import TextTokenizer
from rejoinder.models.translation.checkpoint import (
    AUTHORS,
    checkpoint_folder,
    find_checkpoint_file,
    read_checkpoint_lines,
    read_checkpoint_weights,
)
from rejoinder_lab.models.grade.graph import (
    KeywordConcepts,
    KeywordGraph,
    build_keyword_graph,
    concept_files,
    read_concepts,
)
from rejoinder_lab.models.grade.head import GradeHead
from rejoinder_lab.models.grade.keywords import EnglishTagger, keyword_files, language_files, read_rarity
from rejoinder_lab.models.head.model import CARD_FILE, Head, open_head

if TYPE_CHECKING:
    from rejoinder_lab.models.grade.network import GradeNetwork

MAX_TOKENS = 128  # of a pair, with [CLS] and both [SEP]
MAX_WORDS = 128  # of a context, and of a reply
_MAX_PAIR_TOKENS = MAX_TOKENS - 3


@dataclass(frozen=True)
class PairTokenizer:
    """BERT's lower-casing tokeniser, for pairs."""

    tokenizer: TextTokenizer
    separator: int
    size: int  # of the vocabulary

    def read(self, context: Sequence[str], reply: str) -> tuple[list[int], list[int]]:
        """Return the token ids of a pair, and to which of the two each belongs; the longer text loses its end."""
        context_ids, reply_ids = truncate_pair(*self._pieces(context, reply), _MAX_PAIR_TOKENS)
        second = [*reply_ids, self.separator] if reply_ids else []
        return [*context_ids, self.separator, *second], [0] * (len(context_ids) + 1) + [1] * len(second)

    def is_cut(self, context: Sequence[str], reply: str) -> bool:
        """Whether a pair has more words or tokens than are read."""
        words = max(sum(len(text.split()) for text in context), len(reply.split()))
        return words > MAX_WORDS or sum(map(len, self._pieces(context, reply))) > _MAX_PAIR_TOKENS

    def _pieces(self, context: Sequence[str], reply: str) -> tuple[list[int], list[int]]:
        texts = [" ".join(text.split()[:MAX_WORDS]) for text in (" ".join(context), reply)]
        context_ids, reply_ids = self.tokenizer.pieces(texts)
        return context_ids, reply_ids


def truncate_pair(first: list[int], second: list[int], most: int) -> tuple[list[int], list[int]]:
    """Shorten the longer list (the second, if they are equal) at its end until both fit together."""
    a, b = len(first), len(second)
    while a + b > most:
        a, b = (a - 1, b) if a > b else (a, b - 1)
    return first[:a], second[:b]


def read_pair_tokenizer(path: Path) -> PairTokenizer:
    """Return the tokeniser of a ``vocab.txt``."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    lines = read_checkpoint_lines(path)
    tokens = {token.rstrip("\r"): i for i, token in enumerate(lines[:-1] if lines[-1] == "" else lines)}
    if missing := [mark for mark in ("[UNK]", "[SEP]") if mark not in tokens]:
        raise InputError(f"{path}: has no {missing[0]}; it must be the vocabulary of bert-base-uncased")
    core = Tokenizer(models.WordPiece(tokens, unk_token="[UNK]", max_input_chars_per_word=100))
    core.normalizer = normalizers.BertNormalizer(lowercase=True)
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return PairTokenizer(TextTokenizer(core.to_str(), MAX_TOKENS), tokens["[SEP]"], len(tokens))


SOURCE = "https://github.com/li3cmz/GRADE"
_CHECKPOINT = "model_eval_best_*.ckpt"


def open_grade(folder: str | None = None) -> GradeModel | GradeHead:
    """Open the model in a folder, by default the one of this package, once per process.

    A folder with a head was trained here, any other is the authors'; ``authors`` is ``<cache>/models/grade``.
    """
    if folder is None or (Path(folder) / CARD_FILE).is_file():
        return _open_grade_head(open_head("grade", folder))
    location = checkpoint_folder("grade", None if folder == AUTHORS else folder, SOURCE)
    path = find_checkpoint_file(location, (_CHECKPOINT, f"output/*/GRADE_K2_N10_N10/{_CHECKPOINT}"), "the checkpoint")
    model = _open_grade_folder(location, path, path.stat().st_mtime_ns)
    record_use(ModelUse.of("grade", "", model.digest))
    return model


@lru_cache(maxsize=2)
def _open_grade_head(head: Head) -> GradeHead:
    return GradeHead(head)


@lru_cache(maxsize=2)
def _open_grade_folder(folder: Path, path: Path, changed: int) -> GradeModel:
    return GradeModel(folder, path)


class GradeModel:
    """The network with its keywords, concepts and tokeniser."""

    def __init__(self, folder: Path, checkpoint: Path) -> None:
        self._folder = folder
        vocabulary = find_checkpoint_file(
            folder, ("vocab.txt", "bert/vocab.txt"), "the vocabulary of bert-base-uncased"
        )
        files = [checkpoint, vocabulary, *concept_files(folder), *keyword_files(folder), *language_files(folder)]
        self.digest = sha256_of_files(files)
        self._tokens = read_pair_tokenizer(vocabulary)
        self._rarity = read_rarity(folder)
        self._english = EnglishTagger(folder)
        self._network = _open_network(checkpoint)
        self.dimensions = self._network.near.out_features
        self.nodes = self._network.near.in_features // self.dimensions
        known = int(self._network.bert.config.vocab_size)
        if known != self._tokens.size:
            raise InputError(f"{vocabulary}: has {self._tokens.size:,} tokens, but the checkpoint's BERT has {known:,}")

    def scores(self, contexts: Sequence[Sequence[str]], replies: Sequence[str], keep: float, seed: int) -> list[float]:
        """Return the coherence of each pair; ``keep`` is the share of the graph's edges kept by a seeded choice."""
        import torch

        tokens = [self._tokens.read(*pair) for pair in zip(contexts, replies, strict=True)]
        graphs = [self.graph(*pair, keep, seed) for pair in zip(contexts, replies, strict=True)]
        results = np.zeros(len(replies))
        torch.set_num_threads(count_threads())
        with torch.inference_mode():
            for batch in split_into_batches([len(ids) for ids, _ in tokens], *device_batch_limits("cpu")):
                ids, mask = pad_token_ids([tokens[i][0] for i in batch])
                segments, _ = pad_token_ids([tokens[i][1] for i in batch])
                inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": segments}
                tensors = {name: torch.from_numpy(value) for name, value in inputs.items()}
                results[batch] = self._network(tensors, _stack_graphs([graphs[i] for i in batch])).numpy()
        return [float(value) for value in results]

    def cut(self, contexts: Sequence[Sequence[str]], replies: Sequence[str]) -> list[bool]:
        """Return which pairs have more words, tokens or keywords than are read."""
        return [
            self._tokens.is_cut(context, reply) or sum(map(len, self._keywords(context, reply))) > self.nodes - 2
            for context, reply in zip(contexts, replies, strict=True)
        ]

    def keywords(self, text: str) -> list[str]:
        """Return the keywords of an utterance."""
        return self._rarity.keywords(self._english.words(text))

    def graph(self, context: Sequence[str], reply: str, keep: float, seed: int) -> KeywordGraph:
        """Return the graph of a pair's keywords."""
        return build_keyword_graph(
            self._concepts, *self._keywords(context, reply), self.nodes, self.dimensions, keep, seed
        )

    def _keywords(self, context: Sequence[str], reply: str) -> tuple[list[str], list[str]]:
        return list(chain.from_iterable(map(self.keywords, context))), self.keywords(reply)

    @cached_property
    def _concepts(self) -> KeywordConcepts:
        return read_concepts(self._folder, *self._network.keywords.weight.shape)


def _stack_graphs(graphs: Sequence[KeywordGraph]) -> dict[str, Any]:
    import torch

    arrays = ("ids", "near", "far", "edges")
    parts = {name: torch.from_numpy(np.stack([getattr(graph, name) for graph in graphs])) for name in arrays}
    return {**parts, "lengths": torch.tensor([graph.length for graph in graphs], dtype=torch.float32)}


def _open_network(checkpoint: Path) -> GradeNetwork:
    weights = read_checkpoint_weights(checkpoint, "model")
    try:
        from rejoinder_lab.models.grade.network import load_grade_network
    except ImportError as error:
        raise MissingExtraError(error.name or "transformers", "torch", "grade") from None
    return load_grade_network(weights, checkpoint)
