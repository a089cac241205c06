"""What a training step reads: windows of dialogues, contexts of several forms, replies that are false in known ways."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from rejoinder_lab.training.token_rows import (
    MASKED,
    UNKNOWN,
    TokenRows,
    gather_slices,
    insert_row_tokens,
    keep_row_tokens,
    repeat_rows,
    reverse_row_words,
    shuffle_row_words,
    truncate_token_rows,
)
from rejoinder_lab.training.tokens import BETWEEN, CorpusTokens

CONTEXT_TOKENS = 256  # of a context that is read as one text
REPLY_TOKENS = 256
UTTERANCE_TOKENS = 256
# The ways in which a reply is corrupted by rule.
CORRUPTIONS = ("reversed", "repeated", "copy", "near_copy", "generic", "contradicted", "shuffled")
MAX_TURNS = 10  # of a context; one in four has one turn, half have at most four
_LONG_CONTEXTS = 1.7
SHARED_REPLIES = ("ms_chitchat",)  # corpora in which many contexts share a reply, which is then never a false one
_STAND_IN = "chitchat"  # where their false replies come from
_AUXILIARIES = "is are was were am do does did can could will would should must have has had may might shall".split()


@dataclass(frozen=True)
class TokenProperties:
    """What is known of each token id, on the device."""

    continued: Tensor  # continues a word
    punctuation: Tensor
    generic: TokenRows  # replies that fit nearly everywhere
    auxiliary: Tensor  # a verb that "not" follows
    no: int
    negation: int  # "not"

    @staticmethod
    def of(tokenizer: str, generic: list[str], device: torch.device) -> TokenProperties:
        """Return the properties of the tokens of a ``tokenizer.json``."""
        from tokenizers import Tokenizer

        encoder = Tokenizer.from_str(tokenizer)
        encoder.no_padding()
        encoder.no_truncation()
        size = encoder.get_vocab_size()
        words = [encoder.id_to_token(i) or "" for i in range(size)]
        rows = [encoder.encode(text, add_special_tokens=False).ids for text in generic]
        ids = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
        for i, row in enumerate(rows):
            ids[i, : len(row)] = torch.tensor(row)
        return TokenProperties(
            torch.tensor([word.startswith("##") for word in words], device=device),
            torch.tensor([bool(word) and not any(c.isalnum() for c in word) for word in words], device=device),
            TokenRows(ids.to(device), torch.tensor([len(row) for row in rows], device=device)),
            torch.tensor([word in _AUXILIARIES for word in words], device=device),
            encoder.token_to_id("no") or UNKNOWN,
            encoder.token_to_id("not") or UNKNOWN,
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
        names = tokens.corpora
        stand_in = names.index(_STAND_IN) if _STAND_IN in names else 0
        of_false = [stand_in if name in SHARED_REPLIES else i for i, name in enumerate(names)]
        self._of_false = torch.tensor(of_false, device=device)

    def random_turns(self, corpora: Tensor, generator: torch.Generator) -> Tensor:
        """Return one random turn of each of the corpora."""
        low, high = self.turn_bounds[corpora], self.turn_bounds[corpora + 1]
        share = torch.rand(corpora.shape, generator=generator, device=self.device, dtype=torch.float64)
        return low + (share * (high - low)).long()  # a share is below 1, in float64 also after the product

    def false_turns(self, corpora: Tensor, generator: torch.Generator) -> Tensor:
        """Return one random turn of each of the corpora that may be a false reply."""
        return self.random_turns(self._of_false[corpora], generator)

    def false_anywhere(self, count: int, generator: torch.Generator) -> Tensor:
        """Return random turns of all corpora that may be false replies."""
        turns = torch.randint(0, self.tokens.turns, (count,), generator=generator, device=self.device)
        corpora = torch.searchsorted(self.turn_bounds, turns, right=True) - 1
        allowed = self._of_false[corpora] == corpora
        return torch.where(allowed, turns, self.false_turns(corpora, generator))

    def random_places(self, corpora: Tensor, generator: torch.Generator) -> ResponsePlaces:
        """Return a random reply in each of the corpora, with a context of 1 to MAX_TURNS turns."""
        reply = self.random_turns(corpora, generator)
        first = self.first[self.dialogue[reply]]
        reply = torch.where(reply == first, reply + 1, reply)  # every dialogue has two turns
        share = torch.rand(reply.shape, generator=generator, device=self.device)
        turns = 1 + (share**_LONG_CONTEXTS * MAX_TURNS).long().clamp(max=MAX_TURNS - 1)
        return ResponsePlaces(torch.maximum(first, reply - turns), reply)

    def texts(self, turns: Tensor, most: int = UTTERANCE_TOKENS, side: str = "right") -> TokenRows:
        """Return the ids of turns."""
        begin, end = self.begin[turns], self.end[turns]
        if side == "right":
            return gather_slices(self.ids, begin, torch.minimum(end, begin + most))
        return gather_slices(self.ids, torch.maximum(begin, end - most), end)

    def contexts(self, places: ResponsePlaces, most: int = CONTEXT_TOKENS) -> TokenRows:
        """Return the ids of the turns before each reply, with BETWEEN between them."""
        begin, end = self.begin[places.start], self.end[places.reply - 1]
        return gather_slices(self.ids, torch.maximum(begin, end - most), end)


def corpus_weights(corpus: TokenCorpus, power: float, preferences: Mapping[str, float]) -> Tensor:
    """Return how often each corpus is sampled: its number of turns to a power, times a preference."""
    sizes = (corpus.turn_bounds[1:] - corpus.turn_bounds[:-1]).double() ** power
    factors = [preferences.get(name, 1.0) for name in corpus.tokens.corpora]
    return (sizes * torch.tensor(factors, device=corpus.device)).float()


def read_generic_responses() -> list[str]:
    """Return replies that fit nearly everywhere, which are false ones in training."""
    return (resources.files("rejoinder_lab.training.aptness") / "generic.txt").read_text(encoding="utf-8").splitlines()


def merge_turns(texts: TokenRows, share: float, generator: torch.Generator) -> TokenRows:
    """Return the contexts, a share of them without the tokens between turns, because logs often do not mark turns."""
    chosen = torch.rand(len(texts.ids), generator=generator, device=texts.ids.device) < share
    return keep_row_tokens(texts, ~(chosen[:, None] & (texts.ids == BETWEEN)))


def roughen_texts(texts: TokenRows, words: TokenProperties, generator: torch.Generator) -> TokenRows:
    """Return the texts as people also type: a fifth without punctuation, a third with a few words missing or masked."""
    device = texts.ids.device
    bare = torch.rand(len(texts.ids), 1, generator=generator, device=device) < 0.2
    gappy = torch.rand(len(texts.ids), 1, generator=generator, device=device) < 0.33
    chance = torch.rand(texts.ids.shape, generator=generator, device=device)
    punctuation = words.punctuation[texts.ids] & (texts.ids != BETWEEN)
    ids = torch.where(gappy & (chance > 0.94) & (texts.ids != BETWEEN), MASKED, texts.ids)
    thinned = keep_row_tokens(
        TokenRows(ids * texts.mask, texts.lengths), ~((bare & punctuation) | (gappy & (chance < 0.06)))
    )
    return thinned


def corrupt_reply_rows(
    corpus: TokenCorpus,
    places: ResponsePlaces,
    replies: TokenRows,
    words: TokenProperties,
    generator: torch.Generator,
    kinds: Tensor,
) -> TokenRows:
    """Return one false reply per place, made by rule; ``kinds`` are positions in CORRUPTIONS."""
    device = replies.ids.device
    span = (places.reply - places.start).clamp(min=1)
    back = (torch.rand(span.shape, generator=generator, device=device) ** 2 * span).long()
    copied = corpus.texts(places.reply - 1 - back, REPLY_TOKENS, "left")
    chance = torch.rand(copied.ids.shape, generator=generator, device=device)
    random_tokens = corpus.ids[
        torch.randint(0, len(corpus.ids), copied.ids.shape, generator=generator, device=device)
    ].long()
    near = TokenRows(torch.where((chance < 0.15) & copied.mask, random_tokens, copied.ids), copied.lengths)
    near = keep_row_tokens(near, chance < 0.92)
    choice = torch.randint(0, len(words.generic.ids), span.shape, generator=generator, device=device)
    generic = TokenRows(words.generic.ids[choice], words.generic.lengths[choice])
    own = corpus.texts(torch.maximum(places.reply - 2, places.start), REPLY_TOKENS, "left")
    corrupted = [
        reverse_row_words(replies, words.continued),
        truncate_token_rows(repeat_rows(replies), REPLY_TOKENS, "right"),
        copied,
        near,
        generic,
        contradict_rows(own, words),
        shuffle_row_words(replies, words.continued, generator),
    ]
    width = max(part.ids.shape[1] for part in corrupted)
    ids = torch.stack([functional.pad(part.ids, (0, width - part.ids.shape[1])) for part in corrupted])
    lengths = torch.stack([part.lengths for part in corrupted])
    rows = torch.arange(len(kinds), device=device)
    return TokenRows(ids[kinds, rows], lengths[kinds, rows])


def contradict_rows(texts: TokenRows, words: TokenProperties) -> TokenRows:
    """Return the texts with "not" added after, or removed from, their first auxiliary; without one, "no" is first."""
    verbs = words.auxiliary[texts.ids] & texts.mask
    has_verb = verbs.any(1)
    after = torch.where(has_verb, verbs.int().argmax(1) + 1, 0)
    follower = functional.pad(texts.ids, (0, 1)).gather(1, after[:, None])[:, 0]
    negated = has_verb & (follower == words.negation)
    longer = insert_row_tokens(texts, after, torch.where(has_verb, words.negation, words.no))
    columns = torch.arange(longer.ids.shape[1], device=texts.ids.device)
    drop = negated[:, None] & ((columns == after[:, None]) | (columns == after[:, None] + 1))
    return keep_row_tokens(longer, ~drop)
