"""What a training step sees: windows of dialogues, contexts of varying form, replies that are false in known ways."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from rejoinder.training.batch import (
    MASKED,
    TokenRows,
    gather_slices,
    keep_tokens,
    repeat_texts,
    reverse_words,
    truncate_rows,
)
from rejoinder.training.tokens import BETWEEN, CorpusTokens

CONTEXT_TOKENS = 96  # of a context that is read as one text
REPLY_TOKENS = 64
UTTERANCE_TOKENS = 96
MAX_TURNS = 5  # of a context


@dataclass(frozen=True)
class TokenProperties:
    """What is known of each token id, on the device."""

    continued: Tensor  # goes on with a word
    punctuation: Tensor
    generic: TokenRows  # replies that fit nearly everywhere

    @staticmethod
    def of(tokenizer: str, generic: list[str], device: torch.device) -> TokenProperties:
        """Of a ``tokenizer.json``."""
        from tokenizers import Tokenizer

        reader = Tokenizer.from_str(tokenizer)
        reader.no_padding()
        reader.no_truncation()
        size = reader.get_vocab_size()
        words = [reader.id_to_token(i) or "" for i in range(size)]
        rows = [reader.encode(text, add_special_tokens=False).ids for text in generic]
        ids = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
        for i, row in enumerate(rows):
            ids[i, : len(row)] = torch.tensor(row)
        return TokenProperties(
            torch.tensor([word.startswith("##") for word in words], device=device),
            torch.tensor([bool(word) and not any(c.isalnum() for c in word) for word in words], device=device),
            TokenRows(ids.to(device), torch.tensor([len(row) for row in rows], device=device)),
        )


class ResponsePlaces(NamedTuple):
    """Replies and where their contexts begin: turn numbers."""

    start: Tensor
    reply: Tensor


class TokenCorpus:
    """The tokens of one split on a device, and random places in it."""

    def __init__(self, tokens: CorpusTokens, device: torch.device) -> None:
        self.tokens = tokens
        self.device = device
        self.ids = torch.from_numpy(tokens.ids).to(device)
        self.begin, self.end, self.dialogue, self.first, self.same = (
            torch.from_numpy(np.ascontiguousarray(part)).to(device)
            for part in (tokens.begin, tokens.end, tokens.dialogue, tokens.first, tokens.same)
        )
        self.turn_bounds = torch.from_numpy(tokens.first[tokens.corpus_first]).to(device)

    def random_turns(self, corpora: Tensor, generator: torch.Generator) -> Tensor:
        """One turn of each of the corpora."""
        low, high = self.turn_bounds[corpora], self.turn_bounds[corpora + 1]
        share = torch.rand(corpora.shape, generator=generator, device=self.device, dtype=torch.float64)
        return low + (share * (high - low)).long()  # a share is below 1, in float64 also after the product

    def random_places(self, corpora: Tensor, generator: torch.Generator) -> ResponsePlaces:
        """A reply in each of the corpora, with a context of 1 to MOST_TURNS turns."""
        reply = self.random_turns(corpora, generator)
        first = self.first[self.dialogue[reply]]
        reply = torch.where(reply == first, reply + 1, reply)  # every dialogue has two turns
        turns = torch.randint(1, MAX_TURNS + 1, reply.shape, generator=generator, device=self.device)
        return ResponsePlaces(torch.maximum(first, reply - turns), reply)

    def texts(self, turns: Tensor, most: int = UTTERANCE_TOKENS, side: str = "right") -> TokenRows:
        """The ids of turns."""
        begin, end = self.begin[turns], self.end[turns]
        if side == "right":
            return gather_slices(self.ids, begin, torch.minimum(end, begin + most))
        return gather_slices(self.ids, torch.maximum(begin, end - most), end)

    def contexts(self, places: ResponsePlaces, most: int = CONTEXT_TOKENS) -> TokenRows:
        """The ids of the turns before each reply, with BETWEEN between them."""
        begin, end = self.begin[places.start], self.end[places.reply - 1]
        return gather_slices(self.ids, torch.maximum(begin, end - most), end)


def merge_turns(texts: TokenRows, share: float, generator: torch.Generator) -> TokenRows:
    """The contexts, a share of them without the marks between utterances: logs often do not tell turns apart."""
    chosen = torch.rand(len(texts.ids), generator=generator, device=texts.ids.device) < share
    return keep_tokens(texts, ~(chosen[:, None] & (texts.ids == BETWEEN)))


def roughen_texts(texts: TokenRows, words: TokenProperties, generator: torch.Generator) -> TokenRows:
    """The texts as people also type them: a fifth without punctuation, a third with a few words missing or masked."""
    device = texts.ids.device
    bare = torch.rand(len(texts.ids), 1, generator=generator, device=device) < 0.2
    gappy = torch.rand(len(texts.ids), 1, generator=generator, device=device) < 0.33
    chance = torch.rand(texts.ids.shape, generator=generator, device=device)
    punctuation = words.punctuation[texts.ids] & (texts.ids != BETWEEN)
    ids = torch.where(gappy & (chance > 0.94) & (texts.ids != BETWEEN), MASKED, texts.ids)
    thinned = keep_tokens(
        TokenRows(ids * texts.mask, texts.lengths), ~((bare & punctuation) | (gappy & (chance < 0.06)))
    )
    return thinned


def spoiled(
    corpus: TokenCorpus,
    places: ResponsePlaces,
    replies: TokenRows,
    words: TokenProperties,
    generator: torch.Generator,
    kinds: Tensor,
) -> TokenRows:
    """One false reply a place, made by rule: 0 words reversed, 1 repeated, 2 copied, 3 nearly copied, 4 generic."""
    device = replies.ids.device
    span = (places.reply - places.start).clamp(min=1)
    back = (torch.rand(span.shape, generator=generator, device=device) ** 2 * span).long()
    copied = corpus.texts(places.reply - 1 - back, REPLY_TOKENS, "left")
    chance = torch.rand(copied.ids.shape, generator=generator, device=device)
    strange = corpus.ids[torch.randint(0, len(corpus.ids), copied.ids.shape, generator=generator, device=device)].long()
    near = TokenRows(torch.where((chance < 0.15) & copied.mask, strange, copied.ids), copied.lengths)
    near = keep_tokens(near, chance < 0.92)
    choice = torch.randint(0, len(words.generic.ids), span.shape, generator=generator, device=device)
    generic = TokenRows(words.generic.ids[choice], words.generic.lengths[choice])
    made = [
        reverse_words(replies, words.continued),
        truncate_rows(repeat_texts(replies), 2 * REPLY_TOKENS, "right"),
        copied,
        near,
        generic,
    ]
    width = max(part.ids.shape[1] for part in made)
    ids = torch.stack([torch.nn.functional.pad(part.ids, (0, width - part.ids.shape[1])) for part in made])
    lengths = torch.stack([part.lengths for part in made])
    rows = torch.arange(len(kinds), device=device)
    return TokenRows(ids[kinds, rows], lengths[kinds, rows])
