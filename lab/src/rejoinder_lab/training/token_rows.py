"""Batches of token ids, made on the device: slices of the corpus, thinned, reversed, and joined as pairs."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

UNKNOWN, FIRST, LAST, MASKED = 100, 101, 102, 103  # [UNK], [CLS], [SEP] and [MASK] of BERT's vocabulary


class TokenRows(NamedTuple):
    """Token ids, one text per row, padded with zeros at the end, and the length of each."""

    ids: Tensor
    lengths: Tensor

    @property
    def mask(self) -> Tensor:
        """Which ids are real."""
        return torch.arange(self.ids.shape[1], device=self.ids.device) < self.lengths[:, None]


class PairRows(NamedTuple):
    """Context and reply in one row each."""

    ids: Tensor
    lengths: Tensor
    kinds: Tensor  # 0 for the context, 1 for the reply

    @property
    def mask(self) -> Tensor:
        """Which ids are real."""
        return torch.arange(self.ids.shape[1], device=self.ids.device) < self.lengths[:, None]


def gather_slices(ids: Tensor, begin: Tensor, end: Tensor) -> TokenRows:
    """Return slices of a flat array as rows."""
    lengths = end - begin
    positions = torch.arange(max(1, int(lengths.max())), device=ids.device)
    inside = positions < lengths[:, None]
    rows = ids[(begin[:, None] + positions).clamp(max=len(ids) - 1)].long()
    return TokenRows(rows * inside, lengths)


def keep_row_tokens(texts: TokenRows, keep: Tensor) -> TokenRows:
    """Return the texts with only the wanted ids; a text that would lose all of them is unchanged."""
    keep = keep & texts.mask
    keep = torch.where(keep.any(1, keepdim=True), keep, texts.mask)
    order = torch.argsort((~keep).int(), dim=1, stable=True)
    lengths = keep.sum(1)
    ids = texts.ids.gather(1, order)
    rows = TokenRows(ids, lengths)
    return TokenRows(ids * rows.mask, lengths)


def reverse_row_words(texts: TokenRows, continued: Tensor) -> TokenRows:
    """Return the texts with their words in reverse order; ``continued`` says which ids continue a word."""
    starts = (~continued[texts.ids]) & texts.mask
    words = torch.cumsum(starts.int(), 1)
    places = torch.arange(texts.ids.shape[1], device=texts.ids.device)
    width = len(places)
    key = torch.where(texts.mask, places - words * width, width)
    order = torch.argsort(key, dim=1, stable=True)
    return TokenRows(texts.ids.gather(1, order), texts.lengths)


def shuffle_row_words(texts: TokenRows, continued: Tensor, generator: torch.Generator) -> TokenRows:
    """Return the texts with their words in a random order; ``continued`` says which ids continue a word."""
    starts = (~continued[texts.ids]) & texts.mask
    words = torch.cumsum(starts.int(), 1)
    chance = torch.rand(words.shape[0], words.shape[1] + 1, generator=generator, device=texts.ids.device)
    order = torch.argsort(torch.where(texts.mask, chance.gather(1, words.long()), 2.0), dim=1, stable=True)
    return TokenRows(texts.ids.gather(1, order), texts.lengths)


def insert_row_tokens(texts: TokenRows, places: Tensor, ids: Tensor) -> TokenRows:
    """Return the texts with one more id each, inserted at a position."""
    columns = torch.arange(texts.ids.shape[1] + 1, device=texts.ids.device)
    shifted = functional.pad(texts.ids, (0, 1)).gather(1, columns - (columns > places[:, None]).long())
    return TokenRows(torch.where(columns == places[:, None], ids[:, None], shifted), texts.lengths + 1)


def repeat_rows(texts: TokenRows, times: int = 3) -> TokenRows:
    """Return each text repeated several times."""
    lengths = texts.lengths * times
    places = torch.arange(int(lengths.max()), device=texts.ids.device).expand(len(lengths), -1)
    ids = texts.ids.gather(1, places % texts.lengths[:, None].clamp(min=1))
    rows = TokenRows(ids, lengths)
    return TokenRows(ids * rows.mask, lengths)


def stack_rows(parts: list[TokenRows]) -> TokenRows:
    """Return the rows of several parts, one after the other."""
    width = max(part.ids.shape[1] for part in parts)
    ids = [functional.pad(part.ids, (0, width - part.ids.shape[1])) for part in parts]
    return TokenRows(torch.cat(ids), torch.cat([part.lengths for part in parts]))


def truncate_token_rows(texts: TokenRows, most: int, side: str) -> TokenRows:
    """Return the texts with at most so many ids: the first ones (cut on the side 'right') or the last ones."""
    lengths = texts.lengths.clamp(max=most)
    if texts.ids.shape[1] <= most:
        return texts
    offset = texts.lengths - lengths if side == "left" else torch.zeros_like(lengths)
    places = torch.arange(most, device=texts.ids.device) + offset[:, None]
    ids = texts.ids.gather(1, places.clamp(max=texts.ids.shape[1] - 1))
    rows = TokenRows(ids, lengths)
    return TokenRows(ids * rows.mask, lengths)


def add_special_tokens(texts: TokenRows) -> TokenRows:
    """Return [CLS] text [SEP]."""
    ids = functional.pad(texts.ids, (1, 1))
    ids[:, 0] = FIRST
    ids.scatter_(1, (texts.lengths + 1)[:, None], LAST)
    return TokenRows(ids, texts.lengths + 2)


def join_pairs(contexts: TokenRows, replies: TokenRows) -> PairRows:
    """Return [CLS] context [SEP] reply [SEP]."""
    before = contexts.lengths[:, None] + 2
    lengths = contexts.lengths + replies.lengths + 3
    places = torch.arange(int(lengths.max()), device=contexts.ids.device).expand(len(lengths), -1)
    of_context = contexts.ids.gather(1, (places - 1).clamp(0, contexts.ids.shape[1] - 1))
    of_reply = replies.ids.gather(1, (places - before).clamp(0, replies.ids.shape[1] - 1))
    ids = torch.where(places < before - 1, of_context, of_reply)
    ids = torch.where((places == before - 1) | (places == lengths[:, None] - 1), LAST, ids)
    ids[:, 0] = FIRST
    ids = torch.where(places < lengths[:, None], ids, 0)
    return PairRows(ids, lengths, ((places >= before) & (places < lengths[:, None])).long())
