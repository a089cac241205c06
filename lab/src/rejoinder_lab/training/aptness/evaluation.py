"""How well the networks separate the true reply from others on held-out dialogues; recipes are chosen by this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from rejoinder.models.aptness.network import UTTERANCES, BiEncoder, CrossEncoder
from rejoinder_lab.training.packing import packed_pair_log_odds, packed_turn_vectors
from rejoinder_lab.training.sampling import (
    CONTEXT_TOKENS,
    CORRUPTIONS,
    REPLY_TOKENS,
    ResponsePlaces,
    TokenCorpus,
    TokenProperties,
    corrupt_reply_rows,
)
from rejoinder_lab.training.token_rows import PairRows, TokenRows, join_pairs, truncate_token_rows

NEGATIVES = 19  # replies of the same corpus besides the true one
_PASS = 4_096


class RawAptnessScores(NamedTuple):
    """The raw scores per held-out place: true reply, NEGATIVES of its corpus, corrupted replies, next turn."""

    corpus: NDArray[np.int64]
    bi: NDArray[np.float64]
    cross: NDArray[np.float64]


@dataclass(frozen=True)
class HeldOutSummary:
    """How often the true reply wins, averaged over corpora."""

    top: float  # first of 20
    pairs: float  # against one other
    by_corpus: dict[str, float]
    corrupted: dict[str, float]


def sample_held_out(
    corpus: TokenCorpus, words: TokenProperties, per_corpus: int, seed: int = 0
) -> tuple[ResponsePlaces, list[TokenRows]]:
    """Sample places evenly over the corpora, and the replies to score at each."""
    generator = torch.Generator(corpus.device).manual_seed(seed)
    which = torch.arange(len(corpus.tokens.corpora), device=corpus.device).repeat_interleave(per_corpus)
    places = corpus.random_places(which, generator)
    true = corpus.texts(places.reply, REPLY_TOKENS)
    replies = [true]
    for _ in range(NEGATIVES):
        turns = corpus.false_turns(which, generator)
        for _ in range(5):
            bad = (corpus.same[turns] == corpus.same[places.reply]) | (
                corpus.dialogue[turns] == corpus.dialogue[places.reply]
            )
            turns = torch.where(bad, corpus.false_turns(which, generator), turns)
        replies.append(corpus.texts(turns, REPLY_TOKENS))
    for kind in range(len(CORRUPTIONS)):
        kinds = torch.full_like(places.reply, kind)
        replies.append(
            truncate_token_rows(
                corrupt_reply_rows(corpus, places, true, words, generator, kinds), REPLY_TOKENS, "right"
            )
        )
    after = torch.minimum(places.reply + 1, corpus.first[corpus.dialogue[places.reply] + 1] - 1)
    replies.append(corpus.texts(after, REPLY_TOKENS))
    return places, replies


@torch.no_grad()
def compute_raw_scores(
    bi: BiEncoder | None,
    cross: CrossEncoder | None,
    corpus: TokenCorpus,
    words: TokenProperties,
    per_corpus: int,
    seed: int = 0,
) -> RawAptnessScores:
    """Return the raw scores of held-out places."""
    places, replies = sample_held_out(corpus, words, per_corpus, seed)
    n = len(places.reply)
    which = np.repeat(np.arange(len(corpus.tokens.corpora)), per_corpus)
    shape = (n, len(replies))
    of_bi = _bi_scores(bi, corpus, places, replies) if bi is not None else np.full(shape, np.nan)
    of_cross = _cross_scores(cross, corpus, places, replies) if cross is not None else np.full(shape, np.nan)
    return RawAptnessScores(which, of_bi, of_cross)


def _bi_scores(
    bi: BiEncoder, corpus: TokenCorpus, places: ResponsePlaces, replies: list[TokenRows]
) -> NDArray[np.float64]:
    n = len(places.reply)
    back = places.reply[:, None] - 1 - torch.arange(UTTERANCES, device=corpus.device)
    mask = back >= places.start[:, None]
    turns = torch.maximum(back, places.start[:, None])
    turn_vectors = _turn_vectors(bi, corpus.texts(turns.flatten(), side="left")).view(n, UTTERANCES, -1)
    contexts = bi.context(turn_vectors, mask.float())
    scores = [(contexts * bi.reply(_turn_vectors(bi, texts))).sum(-1) for texts in replies]
    return torch.stack(scores, 1).double().cpu().numpy()


def _turn_vectors(bi: BiEncoder, texts: TokenRows) -> torch.Tensor:
    order = torch.argsort(texts.lengths)
    vectors = []
    for part in torch.split(order, _PASS):
        width = int(texts.lengths[part].max())
        vectors.append(packed_turn_vectors(bi, TokenRows(texts.ids[part, :width], texts.lengths[part])))
    return torch.cat(vectors)[torch.argsort(order)]


def _cross_scores(
    cross: CrossEncoder, corpus: TokenCorpus, places: ResponsePlaces, replies: list[TokenRows]
) -> NDArray[np.float64]:
    contexts = corpus.contexts(places, CONTEXT_TOKENS)
    columns = []
    for texts in replies:
        pairs = join_pairs(contexts, texts)
        order = torch.argsort(pairs.lengths)
        scores = []
        for part in torch.split(order, _PASS):
            width = int(pairs.lengths[part].max())
            scores.append(
                packed_pair_log_odds(
                    cross, PairRows(pairs.ids[part, :width], pairs.lengths[part], pairs.kinds[part, :width])
                )
            )
        columns.append(torch.cat(scores)[torch.argsort(order)])
    return torch.stack(columns, 1).double().cpu().numpy()


def summarise_held_out(
    scores: NDArray[np.float64], corpus: NDArray[np.int64], names: tuple[str, ...]
) -> HeldOutSummary:
    """Return how often the true reply of a place has the highest score; ties count half."""
    true, others = scores[:, :1], scores[:, 1 : 1 + NEGATIVES]
    wins = (true > others) + 0.5 * (true == others)
    top = (true > others.max(1, keepdims=True))[:, 0]
    each = [float(wins[corpus == c].mean()) for c in range(len(names))]
    first = [float(top[corpus == c].mean()) for c in range(len(names))]
    rest = scores[:, 1 + NEGATIVES :]
    kinds = {}
    for i, kind in enumerate((*CORRUPTIONS, "other_speaker")):
        won = (true[:, 0] > rest[:, i]) + 0.5 * (true[:, 0] == rest[:, i])
        kinds[kind] = round(float(np.mean([won[corpus == c].mean() for c in range(len(names))])), 4)
    return HeldOutSummary(
        float(np.mean(first)), float(np.mean(each)), dict(zip(names, (round(e, 4) for e in each), strict=True)), kinds
    )
