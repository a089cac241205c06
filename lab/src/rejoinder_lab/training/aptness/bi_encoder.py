"""Training of the bi-encoder: every turn of a window is encoded once and is context, reply and false reply in turn.

In-batch negatives of one corpus (Henderson et al. 2019), in both directions; turns of the same dialogue count as false
replies too, with a small weight (SSREM's same-conversation set), and so do replies that were corrupted by rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from rejoinder.models.aptness.network import UTTERANCES, BiEncoder
from rejoinder_lab.training.optimizer import LearningRateSchedule, WeightAverage, build_optimizer
from rejoinder_lab.training.packing import packed_turn_vectors
from rejoinder_lab.training.recipes import BiRecipe
from rejoinder_lab.training.sampling import (
    CORRUPTIONS,
    UTTERANCE_TOKENS,
    ResponsePlaces,
    TokenCorpus,
    TokenProperties,
    corrupt_reply_rows,
    roughen_texts,
)
from rejoinder_lab.training.token_rows import TokenRows, keep_row_tokens, stack_rows, truncate_token_rows
from rejoinder_lab.training.tokens import BETWEEN

_LARGEST_SCALE = 60


def train_bi_encoder(
    network: BiEncoder,
    corpus: TokenCorpus,
    weights: Tensor,
    words: TokenProperties,
    recipe: BiRecipe,
    generator: torch.Generator,
    base: Tensor | None,
    log_step: Callable[[int, float], None],
    teachers: Sequence[BiTeacher] = (),
) -> float:
    """Train in place and return the scale of the cosines; ``base`` has the untrained encoder's vector of each turn."""
    scale = torch.nn.Parameter(torch.tensor(math.log(recipe.scale), device=corpus.device))
    trunk = list(network.trunk.parameters())
    heads = [*network.context.parameters(), *network.reply.parameters()]
    optimizer = build_optimizer([(trunk, recipe.rate), (heads, recipe.head_rate), ([scale], 1e-3)])
    schedule = LearningRateSchedule(optimizer, recipe.steps)
    average = WeightAverage(network, recipe.average)
    network.train()
    for step in range(recipe.steps):
        which = torch.multinomial(weights, 1, generator=generator)
        loss = _bi_encoder_loss(network, corpus, which, words, recipe, generator, base, scale, teachers)
        schedule.step(loss, network)
        average.update(network)
        if step % 100 == 99 or step + 1 == recipe.steps:
            log_step(step + 1, float(loss.detach()))
    average.copy_to(network)
    network.eval()
    return float(scale.detach().exp().clamp(max=_LARGEST_SCALE))


@torch.no_grad()
def encode_turns(bi: BiEncoder, corpus: TokenCorpus) -> Tensor:
    """Return the vector of each turn, to keep similarities or to teach with."""
    bi.eval()
    order = torch.argsort(corpus.end - corpus.begin)
    dimensions = int(bi.trunk.config.hidden_size)
    vectors = torch.empty(corpus.tokens.turns, dimensions, dtype=torch.float16, device=corpus.device)
    for part in torch.split(order, 16_384 if corpus.device.type == "cuda" else 256):
        vectors[part] = packed_turn_vectors(bi, corpus.texts(part)).half()
    return vectors


def _sample_windows(
    corpus: TokenCorpus, which: Tensor, count: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Sample windows of neighbouring turns; return their turn numbers, and which are inside the dialogue."""
    turn = corpus.random_turns(which.expand(count), generator)
    first, last = corpus.first[corpus.dialogue[turn]], corpus.first[corpus.dialogue[turn] + 1] - 1
    back = torch.randint(0, UTTERANCES, turn.shape, generator=generator, device=corpus.device)
    start = torch.maximum(first, torch.minimum(turn - back, last - UTTERANCES + 1))
    turns = start[:, None] + torch.arange(UTTERANCES, device=corpus.device)
    return turns.clamp(max=corpus.tokens.turns - 1), turns <= last[:, None]


class _BiEncoderBatch(NamedTuple):
    """The texts of a step: turns of windows, merged contexts, their replies, and corrupted replies, in this order."""

    turns: Tensor  # numbers of the windows' turns
    inside: Tensor  # which turns of the windows exist
    places: ResponsePlaces  # of the merged contexts
    corrupted_replies: Tensor  # the turns that the corrupted replies were made of
    texts: TokenRows

    def candidate_info(self, corpus: TokenCorpus) -> CandidateInfo:
        """What the candidates are: a text equal to the true reply is not false; a corrupted one equals none."""
        turns, replies, corrupted_replies = self.turns, self.places.reply, self.corrupted_replies
        unequal = torch.full((len(corrupted_replies),), -1, device=corpus.device)
        return CandidateInfo(
            torch.cat([turns, replies, corrupted_replies - 1]),
            torch.cat([corpus.same[turns], corpus.same[replies], unequal]),
            torch.cat([corpus.dialogue[turns], corpus.dialogue[replies], corpus.dialogue[corrupted_replies]]),
        )


def _sample_batch(
    corpus: TokenCorpus, which: Tensor, words: TokenProperties, recipe: BiRecipe, generator: torch.Generator
) -> _BiEncoderBatch:
    windows, inside = _sample_windows(corpus, which, recipe.windows, generator)
    turns = windows[inside]
    places = corpus.random_places(which.expand(recipe.merged), generator)
    merged = corpus.contexts(places)
    merged = keep_row_tokens(merged, merged.ids != BETWEEN)
    replies = corpus.texts(places.reply)
    corrupted_places = ResponsePlaces(places.start[: recipe.spoiled], places.reply[: recipe.spoiled])
    kinds = torch.randint(0, len(CORRUPTIONS), corrupted_places.reply.shape, generator=generator, device=corpus.device)
    true = TokenRows(replies.ids[: recipe.spoiled], replies.lengths[: recipe.spoiled])
    false = corrupt_reply_rows(corpus, corrupted_places, true, words, generator, kinds)
    natural = stack_rows([corpus.texts(turns), merged, replies])
    texts = stack_rows(
        [roughen_texts(natural, words, generator), truncate_token_rows(false, UTTERANCE_TOKENS, "right")]
    )
    return _BiEncoderBatch(turns, inside, places, corrupted_places.reply, texts)


def _bi_encoder_loss(
    network: BiEncoder,
    corpus: TokenCorpus,
    which: Tensor,
    words: TokenProperties,
    recipe: BiRecipe,
    generator: torch.Generator,
    base: Tensor | None,
    scale: Tensor,
    teachers: Sequence[BiTeacher] = (),
) -> Tensor:
    device = corpus.device
    batch = _sample_batch(corpus, which, words, recipe, generator)
    vectors = packed_turn_vectors(network, batch.texts)
    n, m = len(batch.turns), recipe.merged
    pieces, mask, reply_place = _window_contexts(batch.inside, generator)
    contexts = torch.cat([network.context(vectors[:n][pieces], mask), _merged_contexts(network, vectors[n : n + m])])
    candidates = network.reply(torch.cat([vectors[:n], vectors[n + m :]]))
    own = torch.cat([reply_place, torch.arange(n, n + m, device=device)])
    logits = scale.exp().clamp(max=_LARGEST_SCALE) * contexts @ candidates.T
    info, pairs = batch.candidate_info(corpus), torch.arange(len(own), device=device)
    weights, weights_back = info.log_weights(own, recipe), info.at(own).log_weights(pairs, recipe)
    forward = functional.cross_entropy(logits + weights, own)
    backward = functional.cross_entropy(logits[:, own].T + weights_back, pairs)
    loss = (forward + backward) / 2
    if teachers:
        each = [teacher.logits(batch.turns, pieces, mask, batch.places) for teacher in teachers]
        teacher_logits = torch.stack(each).mean(0)
        read = n + m  # the teacher has not read the corrupted replies behind them
        ahead = _divergence(logits[:, :read] + weights[:, :read], teacher_logits + weights[:, :read])
        behind = _divergence(logits[:, own].T + weights_back, teacher_logits[:, own].T + weights_back)
        share = teachers[0].share
        loss = (1 - share) * loss + share * (ahead + behind) / 2
    if base is not None and recipe.similarity:
        some = torch.randperm(n, generator=generator, device=device)[:768]
        now, before = vectors[some], base[batch.turns[some]].float()
        loss = loss + recipe.similarity * functional.mse_loss(now @ now.T, before @ before.T)
    return loss


def _merged_contexts(network: BiEncoder, vectors: Tensor) -> Tensor:
    """The context vectors of contexts that are one text each."""
    mask = torch.zeros(len(vectors), UTTERANCES, device=vectors.device)
    mask[:, 0] = 1
    contexts: Tensor = network.context(functional.pad(vectors[:, None], (0, 0, 0, UTTERANCES - 1)), mask)
    return contexts


def _divergence(student: Tensor, teacher: Tensor) -> Tensor:
    """Return how far the student's distribution over each row is from the teacher's (Kullback and Leibler)."""
    student, teacher = functional.log_softmax(student, 1), functional.log_softmax(teacher, 1)
    return functional.kl_div(student, teacher, reduction="batchmean", log_target=True)


class BiTeacher(NamedTuple):
    """A trained bi-encoder, its vector of each turn of the corpus, and the scale of its cosines."""

    network: BiEncoder
    vectors: Tensor
    scale: float
    share: float = 0.7  # of a student's loss that comes from the teacher; the rest comes from the truth

    @torch.no_grad()
    def logits(self, turns: Tensor, pieces: Tensor, mask: Tensor, places: ResponsePlaces) -> Tensor:
        """Return the teacher's logits for a step: contexts of windows and of places, against turns and replies."""
        turn_vectors = self.vectors[turns].float()
        contexts = torch.cat([self.network.context(turn_vectors[pieces], mask), self.contexts(places)])
        candidates = self.network.reply(torch.cat([turn_vectors, self.vectors[places.reply].float()]))
        products: Tensor = self.scale * contexts @ candidates.T
        return products

    @torch.no_grad()
    def contexts(self, places: ResponsePlaces) -> Tensor:
        """Return the vectors of the contexts of places."""
        back = places.reply[:, None] - 1 - torch.arange(UTTERANCES, device=places.reply.device)
        exists = back >= places.start[:, None]
        before = torch.maximum(back, places.start[:, None])
        vectors_of_contexts: Tensor = self.network.context(self.vectors[before].float(), exists.float())
        return vectors_of_contexts

    @torch.no_grad()
    def nearest(
        self, corpus: TokenCorpus, places: ResponsePlaces, which: Tensor, pool: int, generator: torch.Generator
    ) -> Tensor:
        """Return for each place the turn that fits it best among ``pool`` random ones of its corpus."""
        turns = torch.stack([corpus.false_turns(which, generator) for _ in range(pool)])
        fits = (self.network.reply(self.vectors[turns].float()) * self.contexts(places)).sum(-1)
        same = corpus.same[turns] == corpus.same[places.reply]
        fits = fits.masked_fill(same | (corpus.dialogue[turns] == corpus.dialogue[places.reply]), -2.0)
        return turns.gather(0, fits.argmax(0)[None])[0]


def _window_contexts(inside: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Return for each turn but a window's first: positions of earlier turns, newest first; which exist; its own."""
    device = inside.device
    position = (torch.cumsum(inside.flatten().long(), 0) - 1).view(inside.shape)
    rows, columns = torch.nonzero(inside & (torch.arange(inside.shape[1], device=device) > 0), as_tuple=True)
    back = columns[:, None] - 1 - torch.arange(UTTERANCES, device=device)
    mask = back >= 0
    # A third has only the last one or two turns, because many files have no more.
    short = torch.rand(len(rows), generator=generator, device=device) < 0.33
    few = torch.randint(1, 3, rows.shape, generator=generator, device=device)
    mask &= ~short[:, None] | (torch.arange(UTTERANCES, device=device) < few[:, None])
    return position[rows[:, None], back.clamp(min=0)], mask.float(), position[rows, columns]


class CandidateInfo(NamedTuple):
    """What is known of each candidate."""

    turn: Tensor
    same: Tensor
    dialogue: Tensor

    def at(self, places: Tensor) -> CandidateInfo:
        """Return the information of some of the candidates."""
        return CandidateInfo(self.turn[places], self.same[places], self.dialogue[places])

    def log_weights(self, own: Tensor, recipe: BiRecipe) -> Tensor:
        """Return what is added to the logits: 0 for the true reply and other dialogues, -1e4 for equal texts."""
        own_info = self.at(own)
        weights = torch.zeros(len(own), len(self.same), device=own.device)
        same_dialogue = own_info.dialogue[:, None] == self.dialogue
        before = own_info.turn[:, None] > self.turn
        weights = weights.masked_fill(same_dialogue & before, math.log(recipe.earlier))
        weights = weights.masked_fill(same_dialogue & ~before, math.log(recipe.later))
        weights = weights.masked_fill((own_info.same[:, None] == self.same) & (self.same >= 0), -1e4)
        return weights.scatter(1, own[:, None], 0.0)
