"""A context and a reply as GRADE's BERT reads them: ``context [SEP] reply [SEP]``.

The released code encodes ``[CLS] context [SEP] reply [SEP]`` and then leaves the first token out, so that the pooled
vector is that of the context's first word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rejoinder.errors import InputError
from rejoinder.models.checkpoint import read_lines
from rejoinder.models.tokenization import TextTokenizer

MOST_TOKENS = 128  # of a pair, with [CLS] and both [SEP]
MOST_WORDS = 128  # of a context, and of a reply
_ROOM = MOST_TOKENS - 3


@dataclass(frozen=True)
class PairTokenizer:
    """BERT's lower-casing tokeniser, for pairs."""

    tokenizer: TextTokenizer
    separator: int
    size: int  # of the vocabulary

    def read(self, context: Sequence[str], reply: str) -> tuple[list[int], list[int]]:
        """The token ids of a pair, and to which of the two each belongs; the longer of the two loses its end."""
        before, said = shortened(*self._pieces(context, reply), _ROOM)
        second = [*said, self.separator] if said else []
        return [*before, self.separator, *second], [0] * (len(before) + 1) + [1] * len(second)

    def is_cut(self, context: Sequence[str], reply: str) -> bool:
        """Whether a pair has more words or tokens than are read."""
        words = max(sum(len(text.split()) for text in context), len(reply.split()))
        return words > MOST_WORDS or sum(map(len, self._pieces(context, reply))) > _ROOM

    def _pieces(self, context: Sequence[str], reply: str) -> tuple[list[int], list[int]]:
        texts = [" ".join(text.split()[:MOST_WORDS]) for text in (" ".join(context), reply)]
        before, said = self.tokenizer.pieces(texts)
        return before, said


def shortened(first: list[int], second: list[int], most: int) -> tuple[list[int], list[int]]:
    """Both lists with ends taken from the longer one (the second, where they are equal) until they fit together."""
    a, b = len(first), len(second)
    while a + b > most:
        a, b = (a - 1, b) if a > b else (a, b - 1)
    return first[:a], second[:b]


def read_pair_tokenizer(path: Path) -> PairTokenizer:
    """The tokeniser of a ``vocab.txt``."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    lines = read_lines(path)
    tokens = {token.rstrip("\r"): i for i, token in enumerate(lines[:-1] if lines[-1] == "" else lines)}
    if absent := [mark for mark in ("[UNK]", "[SEP]") if mark not in tokens]:
        raise InputError(f"{path}: has no {absent[0]}; it must be the vocabulary of bert-base-uncased")
    core = Tokenizer(models.WordPiece(tokens, unk_token="[UNK]", max_input_chars_per_word=100))
    core.normalizer = normalizers.BertNormalizer(lowercase=True)
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return PairTokenizer(TextTokenizer(core.to_str(), MOST_TOKENS), tokens["[SEP]"], len(tokens))
