"""Training of the cross-encoder: the true reply against false ones of several kinds, each with its weight.

It starts from the trained bi-encoder. False replies: of the same corpus, of any corpus, of the same conversation
(SSREM; with little weight, because many would fit), and corrupted by rule, including the generic replies of IDK.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from rejoinder.models.aptness.network import CrossEncoder
from rejoinder_lab.training.optimizer import LearningRateSchedule, WeightAverage, build_optimizer
from rejoinder_lab.training.packing import packed_pair_log_odds
from rejoinder_lab.training.recipes import CrossRecipe
from rejoinder_lab.training.sampling import (
    CORRUPTIONS,
    REPLY_TOKENS,
    ResponsePlaces,
    TokenCorpus,
    TokenProperties,
    corrupt_reply_rows,
    merge_turns,
    roughen_texts,
)
from rejoinder_lab.training.token_rows import PairRows, TokenRows, join_pairs, stack_rows, truncate_token_rows

_SAME_CORPUS = 3  # false replies of the corpus of the true one
MINED = 1  # the first of them, which may be mined
_KINDS = 4 + _SAME_CORPUS  # the true reply, those, one of any corpus, one of the dialogue, one corrupted


def train_cross_encoder(
    network: CrossEncoder,
    corpus: TokenCorpus,
    weights: Tensor,
    words: TokenProperties,
    recipe: CrossRecipe,
    generator: torch.Generator,
    log_step: Callable[[int, float], None],
) -> None:
    """Train in place; the word embeddings, which are shared with the bi-encoder, do not change."""
    network.trunk.embeddings.word_embeddings.weight.requires_grad_(False)
    heads = [*network.gather.parameters(), *network.head.parameters()]
    optimizer = build_optimizer([(list(network.trunk.parameters()), recipe.rate), (heads, recipe.head_rate)])
    schedule = LearningRateSchedule(optimizer, recipe.steps)
    average = WeightAverage(network, recipe.average)
    network.train()
    for step in range(recipe.steps):
        batch = draw_cross_encoder_step(corpus, weights, words, recipe, generator)
        loss = gold_loss(packed_pair_log_odds(network, batch.pairs).view(_KINDS, -1), batch.weight, recipe)
        schedule.step(loss, network)
        average.update(network)
        if step % 100 == 99 or step + 1 == recipe.steps:
            log_step(step + 1, float(loss.detach()))
    average.copy_to(network)
    network.eval()


class CrossEncoderStep(NamedTuple):
    """The pairs of a step, kind by kind, the true ones first; their weights, places and replies."""

    pairs: PairRows
    weight: Tensor  # (kinds, places)
    places: ResponsePlaces
    replies: TokenRows


def draw_cross_encoder_step(
    corpus: TokenCorpus,
    weights: Tensor,
    words: TokenProperties,
    recipe: CrossRecipe,
    generator: torch.Generator,
    mine: Callable[[ResponsePlaces, Tensor], Tensor] | None = None,
) -> CrossEncoderStep:
    """Sample the places of a step and the replies to each; ``mine`` may choose the first of the false replies."""
    device = corpus.device
    n = recipe.places
    which = torch.multinomial(weights, n, replacement=True, generator=generator)
    places = corpus.random_places(which, generator)
    contexts = roughen_texts(merge_turns(corpus.contexts(places), 0.35, generator), words, generator)
    true = corpus.texts(places.reply, REPLY_TOKENS)
    others = [corpus.false_turns(which, generator) for _ in range(_SAME_CORPUS)]
    if mine is not None:
        others[0] = mine(places, which)
    anywhere = corpus.false_anywhere(n, generator)
    first, after = corpus.first[corpus.dialogue[places.reply]], corpus.first[corpus.dialogue[places.reply] + 1]
    share = torch.rand(n, generator=generator, device=device)
    nearby = first + (share * (after - first)).long()
    turns = [places.reply, *others, anywhere, nearby]
    kinds = torch.randint(0, len(CORRUPTIONS), (n,), generator=generator, device=device)
    natural = stack_rows([corpus.texts(turn, REPLY_TOKENS) for turn in turns])
    rough = roughen_texts(natural, words, generator)
    false = truncate_token_rows(
        corrupt_reply_rows(corpus, places, true, words, generator, kinds), REPLY_TOKENS, "right"
    )
    weight = torch.tensor(
        [
            recipe.true,
            *[recipe.same_corpus] * _SAME_CORPUS,
            recipe.any_corpus,
            recipe.same_dialogue,
            recipe.spoiled,
        ],
        device=device,
    )[:, None].expand(-1, n)
    equal = torch.stack([corpus.same[turn] == corpus.same[places.reply] for turn in turns[1:]])
    ordered = (kinds == CORRUPTIONS.index("reversed")) | (kinds == CORRUPTIONS.index("shuffled"))
    few = ordered & (true.lengths < 4)  # a short reply in another order may be as good
    off = torch.cat([torch.zeros(1, n, dtype=torch.bool, device=device), equal, few[None]])
    replies = stack_rows([rough, false])
    contexts = TokenRows(contexts.ids.repeat(_KINDS, 1), contexts.lengths.repeat(_KINDS))
    return CrossEncoderStep(join_pairs(contexts, replies), weight.masked_fill(off, 0.0).contiguous(), places, replies)


def gold_loss(logits: Tensor, weight: Tensor, recipe: CrossRecipe) -> Tensor:
    """Return the mean loss of the places: of each reply by itself, and of the true one among all of its place."""
    label = torch.zeros_like(logits)
    label[0] = 1
    loss = (functional.binary_cross_entropy_with_logits(logits, label, reduction="none") * weight).sum(0)
    ranked = logits + torch.log(weight.clamp(min=1e-6) / weight[0])
    return (loss + recipe.rank * (torch.logsumexp(ranked, 0) - ranked[0])).mean()
