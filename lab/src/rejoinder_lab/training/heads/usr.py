"""The recipe of `usr`'s masked language model (Mehri and Eskenazi 2020): predict masked words of dialogues.

The paper tunes RoBERTa; the encoder here has no such head. Its matrices get low-rank additions, and a head whose output
matrix is that of the word embeddings is trained with them: a few megabytes beside the encoder. What the mean
log-probabilities of true replies of the split ``valid`` are decides which become 0 and 1. No rating is used for it;
a regression on ratings may then decide how much it counts beside the retrieval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from rejoinder.data.collection import Collection
from rejoinder.errors import InputError
from rejoinder.metric import parse
from rejoinder.models.device import count_threads, training_device
from rejoinder.models.encoder.factory import load_encoder
from rejoinder.stats.correlation import spearman
from rejoinder.types import Dialogue
from rejoinder_lab.models.head.model import HeadCard, open_head, write_head
from rejoinder_lab.models.usr.model import EQUAL, FLUENCY, MAX_TOKENS, MLM_WEIGHT, UsrModel, open_masked_trunk
from rejoinder_lab.models.usr.network import MaskedNetwork
from rejoinder_lab.training.heads.adem import select_rated
from rejoinder_lab.training.heads.dialogues import describe_training, list_next_turns, select_dialogues
from rejoinder_lab.training.optimizer import LearningRateSchedule, build_optimizer
from rejoinder_lab.training.recipes import UsrRecipe
from rejoinder_lab.training.token_rows import (
    MASKED,
    PairRows,
    gather_slices,
    join_pairs,
    keep_row_tokens,
    truncate_token_rows,
)
from rejoinder_lab.training.tokens import BETWEEN, CorpusTokens, check_corpus_splits, read_corpus_tokens

_REPORT_STEPS = 200
_FOLDS = 5
_QUANTILES = (0.05, 0.95)  # of true replies: the fluency of one in twenty is 0, of another 1


def train_usr(
    dialogues: Iterable[Dialogue],
    target: Path,
    recipe: UsrRecipe,
    corpus: str | None = None,
    encoder: str = "aptness",
    device: str | None = None,
    log: Callable[[str], None] = print,
) -> HeadCard:
    """Train on the split ``train``, measure on ``valid``, and write the folder."""
    known = [dialogue for dialogue in dialogues if corpus in (None, dialogue.corpus)]
    trunk, tokenizer = open_masked_trunk(encoder)
    log(f"reading the words of {len(known):,} dialogues")
    splits = read_corpus_tokens(known, tokenizer, () if corpus is None else (corpus,))
    check_corpus_splits(splits, ("train", "valid"))
    torch.manual_seed(recipe.seed)
    torch.set_num_threads(count_threads())
    network = MaskedNetwork(trunk).to(training_device(device))
    trained = network.attach(recipe.rank, recipe.scale, recipe.seed)
    fit_masked_network(network, trained, DialogueRows(splits["train"], recipe, network.bias.device), recipe, log)
    measured = measure_masked_words(network, DialogueRows(splits["valid"], recipe, network.bias.device), recipe)
    log(f"of held-out words that are masked, {100 * measured['words_right']:.1f}% are predicted")
    about = {**describe_training(known, corpus, encoder), "recipe": asdict(recipe)}
    about |= {"citation": "Mehri and Eskenazi 2020", "measured": measured}
    weights = {name: value.detach().numpy() for name, value in network.additions().items()}
    settings: dict[str, Any] = {MAX_TOKENS: recipe.context_tokens + recipe.reply_tokens + 3, FLUENCY: [-1.0, 0.0]}
    card = write_head(target, HeadCard("usr", encoder, load_encoder(encoder).digest, settings, "", about), weights)
    settings[FLUENCY], about["measured"] = measure_fluency(target, known, recipe, measured)
    return write_head(target, HeadCard("usr", encoder, card.features, settings, "", about), weights)


def learn_part_weights(
    data: Collection, source: Path | None, target: Path, aspect: str | None, log: Callable[[str], None] = print
) -> HeadCard:
    """Learn from ratings how much each part counts, and write the folder of a source, or the package's, with that."""
    pairs, ratings = select_rated(data, aspect)
    folder = f"folder={str(source)!r}, " if source is not None else ""
    log(f"scoring both parts of {len(pairs):,} rated replies")
    parts = np.array([parse(f"usr({folder}part='{part}')").score(pairs) for part in ("mlm", "dr")])
    scored = np.isfinite(parts).all(0)
    parts, ratings = parts[:, scored], ratings[scored]
    weight = fit_part_weight(parts, ratings)
    # Neighbours in a file are often of one dialogue, so a fold is a stretch of the file.
    fold = np.arange(len(ratings)) * _FOLDS // len(ratings)
    held_out = np.empty(len(ratings))
    for i in range(_FOLDS):
        share = fit_part_weight(parts[:, fold != i], ratings[fold != i])
        held_out[fold == i] = (share * parts[0] + (1 - share) * parts[1])[fold == i]
    head = open_head("usr", source)
    measured = {
        "rated_replies": len(ratings),
        MLM_WEIGHT: weight,
        "spearman_held_out": round(spearman(held_out, ratings).value, 4),
        "spearman_of_equal_weights": round(spearman(EQUAL * parts.sum(0), ratings).value, 4),
    }
    about = {**head.card.about, "measured": {**head.card.about.get("measured", {}), **measured}}
    card = replace(head.card, settings={**head.card.settings, MLM_WEIGHT: weight}, about=about)
    return write_head(target, card, head.weights)


def fit_part_weight(parts: Any, ratings: Any) -> float:
    """Return the weight of the first of two parts by least squares with an intercept; no part may count against."""
    from scipy.optimize import nnls

    first, second = nnls((parts - parts.mean(1, keepdims=True)).T, ratings - ratings.mean())[0]
    if first + second == 0:
        raise InputError("neither part of usr rises with these ratings, so no weights can be learned from them")
    return round(float(first / (first + second)), 4)


class DialogueRows:
    """Contexts and replies of a split as rows of ids, on a device."""

    def __init__(self, tokens: CorpusTokens, recipe: UsrRecipe, device: torch.device) -> None:
        self._recipe = recipe
        self._ids = torch.from_numpy(tokens.ids).to(device)
        turns = np.arange(tokens.turns)
        first = tokens.first[tokens.dialogue]
        replies = turns[turns > first]
        parts = tokens.begin[np.maximum(first[replies], replies - recipe.turns)], tokens.end[replies - 1]
        self._context, self._reply = (
            [torch.from_numpy(part).to(device) for part in pair]
            for pair in (parts, (tokens.begin[replies], tokens.end[replies]))
        )

    def __len__(self) -> int:
        return len(self._reply[0])

    def rows(self, chosen: Tensor) -> PairRows:
        """Return some pairs; turns of a context are joined as they are scored, without a mark between them."""
        # The last words of a context are the nearest: what lies further back than can be read is not even gathered.
        begin, end = (part[chosen] for part in self._context)
        begin = torch.maximum(begin, end - self._recipe.context_tokens - self._recipe.turns)
        contexts = gather_slices(self._ids, begin, end)
        contexts = keep_row_tokens(contexts, contexts.ids != BETWEEN)
        reply_begin, reply_end = (part[chosen] for part in self._reply)
        reply_end = torch.minimum(reply_end, reply_begin + self._recipe.reply_tokens)
        return join_pairs(
            truncate_token_rows(contexts, self._recipe.context_tokens, "left"),
            gather_slices(self._ids, reply_begin, reply_end),
        )


class MaskedRows(NamedTuple):
    """Rows with some words masked, which places these are, and the words."""

    ids: Tensor
    chosen: Tensor
    words: Tensor


def mask_words(rows: PairRows, special: Tensor, share: float, generator: torch.Generator) -> MaskedRows:
    """Mask a share of the words of rows, never a special token; at least one word in all."""
    can_mask = rows.mask & ~torch.isin(rows.ids, special)
    chance = torch.rand(rows.ids.shape, generator=generator, device=rows.ids.device)
    chosen = can_mask & (chance < share)
    if not chosen.any():
        chosen = can_mask & (chance == torch.where(can_mask, chance, 2.0).min())
    return MaskedRows(torch.where(chosen, MASKED, rows.ids), chosen, rows.ids[chosen])


def fit_masked_network(
    network: MaskedNetwork, trained: list[Any], data: DialogueRows, recipe: UsrRecipe, log: Callable[[str], None]
) -> None:
    """Train the additions of a network and its head."""
    device = network.bias.device
    random = np.random.default_rng(recipe.seed)
    generator = torch.Generator(device).manual_seed(recipe.seed)
    special = torch.arange(MASKED + 1, device=device)  # BERT's special and unused words
    schedule = LearningRateSchedule(build_optimizer([(trained, recipe.rate)]), recipe.steps)
    network.train()
    for step in range(1, recipe.steps + 1):
        chosen = torch.from_numpy(random.integers(len(data), size=recipe.batch)).to(device)
        rows = data.rows(chosen)
        masked = mask_words(rows, special, recipe.share, generator)
        with mixed_precision(device):
            odds = network(masked.ids, rows.mask.long(), rows.kinds, masked.chosen)
        loss = functional.cross_entropy(odds.float(), masked.words)
        schedule.step(loss, network)
        if step % _REPORT_STEPS == 0 or step == recipe.steps:
            log(f"step {step:,} of {recipe.steps:,}: loss {loss.item():.3f}")
    network.eval()


def mixed_precision(device: torch.device) -> AbstractContextManager[Any]:
    """Return a context in which a GPU multiplies in bfloat16."""
    return torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda")


@torch.no_grad()
def measure_masked_words(network: MaskedNetwork, data: DialogueRows, recipe: UsrRecipe) -> dict[str, float]:
    """Return the loss on held-out words that are masked, and the share of them that is predicted."""
    device = network.bias.device
    generator = torch.Generator(device).manual_seed(0)
    special = torch.arange(MASKED + 1, device=device)
    order = np.random.default_rng(0).permutation(len(data))[: recipe.held_out]
    losses, right = [], []
    for begin in range(0, len(order), recipe.batch):
        rows = data.rows(torch.from_numpy(order[begin : begin + recipe.batch]).to(device))
        masked = mask_words(rows, special, recipe.share, generator)
        odds = network(masked.ids, rows.mask.long(), rows.kinds, masked.chosen).float()
        losses.append(functional.cross_entropy(odds, masked.words, reduction="none"))
        right.append(odds.argmax(-1) == masked.words)
    loss, share = torch.cat(losses).mean().item(), torch.cat(right).float().mean().item()
    return {"loss": round(loss, 4), "words_right": round(share, 4), "replies": len(order)}


def measure_fluency(
    folder: Path, dialogues: list[Dialogue], recipe: UsrRecipe, measured: dict[str, float]
) -> tuple[list[float], dict[str, float]]:
    """Return the bounds of fluency, and how often a held-out reply is more probable than its words in any order."""
    model = UsrModel(open_head("usr", folder))
    next_turns = list_next_turns(select_dialogues(dialogues, "valid", len(dialogues), None))
    random = np.random.default_rng(0)
    places = random.permutation(len(next_turns))[: recipe.bounded]
    contexts = [" ".join(next_turns[i].context[-recipe.turns :]) for i in places]
    replies = [next_turns[i].reply for i in places]
    shuffled = [" ".join(random.permutation(reply.split()).tolist()) for reply in replies]
    true, other = (model.log_probabilities(contexts, texts) for texts in (replies, shuffled))
    differs = np.array([a != b for a, b in zip(replies, shuffled, strict=True)])
    low, high = np.nanquantile(true, _QUANTILES)
    share = float(np.mean((true > other)[differs])) if differs.any() else 0.0
    return [round(float(low), 4), round(float(high), 4)], {**measured, "true_above_shuffled": round(share, 4)}
