"""Contexts and replies as token ids of a generator: one vocabulary of pieces learned from the training turns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rejoinder.models.encoder.tokenization import TextTokenizer

PADDING, UNKNOWN, BEGIN, END, TURN = range(5)
SPECIAL_TOKENS = ("<pad>", "<unk>", "<s>", "</s>", "<turn>")


@dataclass(frozen=True)
class GeneratorLimits:
    """How much a generator reads and writes; a context loses its beginning, a reply its end."""

    context_turns: int = 3  # the dialogues of the paper have four turns
    context_tokens: int = 96
    reply_tokens: int = 48


def train_tokenizer(texts: Iterable[str], size: int) -> str:
    """A ``tokenizer.json`` with byte-pair pieces of the texts (Sennrich et al. 2016), the marks among them."""
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
    """Texts as ids and back."""

    def __init__(self, tokenizer: str, limits: GeneratorLimits) -> None:
        from tokenizers import Tokenizer

        self.limits = limits
        self.serialized = tokenizer
        self._reader = TextTokenizer(tokenizer, max_tokens=0)  # asked for whole texts only
        self._writer = Tokenizer.from_str(tokenizer)

    @property
    def size(self) -> int:
        """How many pieces there are."""
        return int(self._writer.get_vocab_size())

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of whole texts."""
        return self._reader.pieces(texts)

    def context(self, turns: Sequence[str]) -> tuple[int, ...]:
        """The last turns of a context, each ended by a mark; an empty context is a mark alone."""
        return self.joined(self.ids(turns[-self.limits.context_turns :]))

    def joined(self, turns: Sequence[Sequence[int]]) -> tuple[int, ...]:
        """Turns that are ids already, as the context of a reply."""
        ids = [i for turn in turns[-self.limits.context_turns :] for i in (*turn, TURN)]
        return tuple(ids[-self.limits.context_tokens :]) or (TURN,)

    def reply(self, text: str) -> tuple[int, ...]:
        """A reply, without its marks."""
        return tuple(self.ids([text])[0][: self.limits.reply_tokens])

    def text(self, ids: Sequence[int]) -> str:
        """The text of ids, marks left out."""
        return str(self._writer.decode([i for i in ids if i >= len(SPECIAL_TOKENS)])).strip()
