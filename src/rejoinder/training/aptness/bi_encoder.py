"""Training of the bi-encoder: every turn of a window is encoded once and is context, reply and false reply in turn.

In-batch negatives of one corpus (Henderson et al. 2019), both ways; turns of the same dialogue count as false replies
too, with a small weight (SSREM's same-conversation set), and so do replies that were spoiled by rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from rejoinder.models.aptness.network import UTTERANCES, BiEncoder
from rejoinder.training.batch import TokenRows, keep_tokens, stack_rows, truncate_rows
from rejoinder.training.optimizer import Schedule, WeightAverage, build_optimizer
from rejoinder.training.packing import utterance_vectors
from rejoinder.training.recipes import BiRecipe
from rejoinder.training.sampling import (
    UTTERANCE_TOKENS,
    ResponsePlaces,
    TokenCorpus,
    TokenProperties,
    roughen_texts,
    spoiled,
)
from rejoinder.training.tokens import BETWEEN


def train_bi_encoder(
    network: BiEncoder,
    corpus: TokenCorpus,
    weights: Tensor,
    words: TokenProperties,
    recipe: BiRecipe,
    generator: torch.Generator,
    base: Tensor | None,
    said: Callable[[int, float], None],
) -> None:
    """Train in place; ``base`` holds a vector of the untrained encoder for each turn of the corpus."""
    scale = torch.nn.Parameter(torch.tensor(math.log(recipe.scale), device=corpus.device))
    trunk = list(network.trunk.parameters())
    heads = [*network.context.parameters(), *network.reply.parameters()]
    optimizer = build_optimizer([(trunk, recipe.rate), (heads, recipe.head_rate), ([scale], 1e-3)])
    schedule = Schedule(optimizer, recipe.steps)
    average = WeightAverage(network, recipe.average)
    network.train()
    for step in range(recipe.steps):
        which = torch.multinomial(weights, 1, generator=generator)
        loss = _loss(network, corpus, which, words, recipe, generator, base, scale)
        schedule.step(loss, network)
        average.update(network)
        if step % 100 == 99 or step + 1 == recipe.steps:
            said(step + 1, float(loss.detach()))
    average.copy_to(network)
    network.eval()


def _sample_windows(
    corpus: TokenCorpus, which: Tensor, count: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Turn numbers of windows of neighbouring turns, and which of them lie in the dialogue."""
    turn = corpus.random_turns(which.expand(count), generator)
    first, last = corpus.first[corpus.dialogue[turn]], corpus.first[corpus.dialogue[turn] + 1] - 1
    back = torch.randint(0, UTTERANCES, turn.shape, generator=generator, device=corpus.device)
    start = torch.maximum(first, torch.minimum(turn - back, last - UTTERANCES + 1))
    turns = start[:, None] + torch.arange(UTTERANCES, device=corpus.device)
    return turns.clamp(max=corpus.tokens.turns - 1), turns <= last[:, None]


def _loss(
    network: BiEncoder,
    corpus: TokenCorpus,
    which: Tensor,
    words: TokenProperties,
    recipe: BiRecipe,
    generator: torch.Generator,
    base: Tensor | None,
    scale: Tensor,
) -> Tensor:
    device = corpus.device
    windows, inside = _sample_windows(corpus, which, recipe.windows, generator)
    turns = windows[inside]
    places = corpus.random_places(which.expand(recipe.merged), generator)
    one_text = corpus.contexts(places)
    one_text = keep_tokens(one_text, one_text.ids != BETWEEN)
    replies = corpus.texts(places.reply)
    spoil = ResponsePlaces(places.start[: recipe.spoiled], places.reply[: recipe.spoiled])
    kinds = torch.randint(0, 5, spoil.reply.shape, generator=generator, device=device)
    true = TokenRows(replies.ids[: recipe.spoiled], replies.lengths[: recipe.spoiled])
    false = spoiled(corpus, spoil, true, words, generator, kinds)
    natural = stack_rows([corpus.texts(turns), one_text, replies])
    texts = stack_rows([roughen_texts(natural, words, generator), truncate_rows(false, UTTERANCE_TOKENS, "right")])
    vectors = utterance_vectors(network, texts)

    n, m = len(turns), recipe.merged
    pieces, mask, reply_place = _window_contexts(inside, generator)
    of_windows = network.context(vectors[:n][pieces], mask)
    alone = vectors[n : n + m, None]
    one = torch.zeros(m, UTTERANCES, device=device)
    one[:, 0] = 1
    of_merged = network.context(functional.pad(alone, (0, 0, 0, UTTERANCES - 1)), one)
    contexts = torch.cat([of_windows, of_merged])
    candidates = network.reply(torch.cat([vectors[:n], vectors[n + m :]]))
    own = torch.cat([reply_place, torch.arange(n, n + m, device=device)])
    # What the candidates are: texts that are equal to the true reply are no false ones; spoiled ones equal nothing.
    spoiled_ones = torch.full((len(kinds),), -1, device=device)
    known = CandidateInfo(
        torch.cat([turns, places.reply, spoil.reply - 1]),
        torch.cat([corpus.same[turns], corpus.same[places.reply], spoiled_ones]),
        torch.cat([corpus.dialogue[turns], corpus.dialogue[places.reply], corpus.dialogue[spoil.reply]]),
    )
    logits = scale.exp().clamp(max=60) * contexts @ candidates.T
    forward = functional.cross_entropy(logits + known.log_weights(own, recipe), own)
    pairs = torch.arange(len(own), device=device)
    back = logits[:, own].T + known.at(own).log_weights(pairs, recipe)
    backward = functional.cross_entropy(back, pairs)
    loss = (forward + backward) / 2
    if base is not None and recipe.similarity:
        some = torch.randperm(n, generator=generator, device=device)[:768]
        mine, theirs = vectors[some], base[turns[some]].float()
        loss = loss + recipe.similarity * functional.mse_loss(mine @ mine.T, theirs @ theirs.T)
    return loss


def _window_contexts(inside: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Of each turn but a window's first: the places of those before it, newest first; which exist; its own place."""
    device = inside.device
    place = (torch.cumsum(inside.flatten().long(), 0) - 1).view(inside.shape)
    rows, columns = torch.nonzero(inside & (torch.arange(inside.shape[1], device=device) > 0), as_tuple=True)
    back = columns[:, None] - 1 - torch.arange(UTTERANCES, device=device)
    mask = back >= 0
    # A third sees only the last one or two utterances: many files hold no more.
    short = torch.rand(len(rows), generator=generator, device=device) < 0.33
    few = torch.randint(1, 3, rows.shape, generator=generator, device=device)
    mask &= ~short[:, None] | (torch.arange(UTTERANCES, device=device) < few[:, None])
    return place[rows[:, None], back.clamp(min=0)], mask.float(), place[rows, columns]


class CandidateInfo(NamedTuple):
    """What is known of each candidate."""

    turn: Tensor
    same: Tensor
    dialogue: Tensor

    def at(self, places: Tensor) -> CandidateInfo:
        """Of some of the candidates."""
        return CandidateInfo(self.turn[places], self.same[places], self.dialogue[places])

    def log_weights(self, own: Tensor, recipe: BiRecipe) -> Tensor:
        """Added to the logits: 0 for the true reply and for other dialogues, minus much for equal texts."""
        mine = self.at(own)
        found = torch.zeros(len(own), len(self.same), device=own.device)
        together = mine.dialogue[:, None] == self.dialogue
        before = mine.turn[:, None] > self.turn
        found = found.masked_fill(together & before, math.log(recipe.earlier))
        found = found.masked_fill(together & ~before, math.log(recipe.later))
        found = found.masked_fill((mine.same[:, None] == self.same) & (self.same >= 0), -1e4)
        return found.scatter(1, own[:, None], 0.0)
