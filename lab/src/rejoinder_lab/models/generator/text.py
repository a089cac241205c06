"""Contexts and replies as token ids of a generator, with one vocabulary learned from the training turns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rejoinder.models.tokenization import TextTokenizer
from rejoinder_lab.models.generator.shape import GeneratorLimits

PADDING, UNKNOWN, BEGIN, END, TURN = range(5)
SPECIAL_TOKENS = ("<pad>", "<unk>", "<s>", "</s>", "<turn>")


def train_tokenizer(texts: Iterable[str], size: int) -> str:
    """Return a ``tokenizer.json`` with byte pairs learned from the texts (Sennrich et al. 2016) and special tokens."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE(unk_token=SPECIAL_TOKENS[UNKNOWN]))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(), pre_tokenizers.Punctuation()])
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=list(SPECIAL_TOKENS), show_progress=False, limit_alphabet=256, min_frequency=2
    )
    tokenizer.train_from_iterator(texts, trainer)
    return str(tokenizer.to_str())


class TurnTokenizer:
    """Converts texts to ids and back."""

    def __init__(self, tokenizer: str, limits: GeneratorLimits) -> None:
        from tokenizers import Tokenizer

        self.limits = limits
        self.serialized = tokenizer
        self._reader = TextTokenizer(tokenizer, max_tokens=0)  # only used for whole texts
        self._writer = Tokenizer.from_str(tokenizer)

    @property
    def size(self) -> int:
        """Return the size of the vocabulary."""
        return int(self._writer.get_vocab_size())

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of whole texts."""
        return self._reader.pieces(texts)

    def context(self, turns: Sequence[str]) -> tuple[int, ...]:
        """Return the ids of a context's last turns, each followed by the turn token; only that token if empty."""
        return self.join_turns(self.ids(turns[-self.limits.context_turns :]))

    def join_turns(self, turns: Sequence[Sequence[int]]) -> tuple[int, ...]:
        """Return turns that are already ids, joined as the context of a reply."""
        ids = [i for turn in turns[-self.limits.context_turns :] for i in (*turn, TURN)]
        return tuple(ids[-self.limits.context_tokens :]) or (TURN,)

    def reply(self, text: str) -> tuple[int, ...]:
        """Return the ids of a reply, without special tokens."""
        return tuple(self.ids([text])[0][: self.limits.reply_tokens])

    def text(self, ids: Sequence[int]) -> str:
        """Return the text of ids, without special tokens."""
        return str(self._writer.decode([i for i in ids if i >= len(SPECIAL_TOKENS)])).strip()
