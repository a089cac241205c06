"""The recipe of `nup` (Phy et al. 2020; sections 2.3 and 4 of the IDK paper): fine-tune an encoder on next utterances.

A positive is a context with its own reply, a negative the same context with a random other reply, resampled for each
epoch; binary cross-entropy, Adam. The encoder should be pretrained on pairs, as BERT is; by default it is that of
aptness's cross-encoder. With 25 + 25 tokens a CPU trains on 3,750 dialogues in minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from rejoinder.errors import InputError
from rejoinder.models.aptness.cross_encoder import PairRow, build_pair_row
from rejoinder.models.aptness_card import TOKENIZER, AptnessLimits, SpecialTokens, read_aptness_card
from rejoinder.models.batching import pad_token_ids
from rejoinder.models.catalog.manifest import require_model
from rejoinder.models.device import count_threads, training_device
from rejoinder.models.nup.network import NextUtteranceNetwork, export_nup
from rejoinder.models.tokenization import TextTokenizer
from rejoinder.types import Dialogue
from rejoinder_lab.training.base_encoder import open_base_encoder, open_trunk
from rejoinder_lab.training.licence import weights_licence
from rejoinder_lab.training.next_turns import NextTurn, sample_next_turns
from rejoinder_lab.training.optimizer import LearningRateSchedule
from rejoinder_lab.training.recipes import NupRecipe
from rejoinder_lab.training.token_rows import FIRST, LAST
from rejoinder_lab.training.tokens import BETWEEN

_SPECIAL_TOKENS = SpecialTokens(first=FIRST, last=LAST, between=BETWEEN, padding=0)
_REPORT_STEPS = 50  # steps between two lines
DEFAULT_BASE = "aptness"


def train_nup(
    dialogues: Iterable[Dialogue],
    target: Path,
    recipe: NupRecipe,
    corpus: str | None = None,
    base: str = DEFAULT_BASE,
    device: str | None = None,
    log: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Train on the split ``train``, write the folder and return what was measured on ``valid``."""
    torch_device = training_device(device)
    trunk, tokenizer = open_trunk_and_tokenizer(base)
    all_dialogues = list(dialogues)
    if recipe.contexts < 2:
        raise InputError("nup samples its negatives from other contexts; train on two contexts or more")
    next_turns = sample_next_turns(all_dialogues, recipe.contexts, corpus)
    limits = AptnessLimits(context_tokens=recipe.context_tokens, reply_tokens=recipe.reply_tokens)
    pieces = NupTokenizer(tokenizer, limits)
    torch.manual_seed(recipe.seed)
    torch.set_num_threads(count_threads())
    network = NextUtteranceNetwork(trunk, recipe.dropout).to(torch_device)
    _train_nup_network(network, pieces, next_turns, recipe, torch_device, log)
    measured = _measure_held_out(network, pieces, all_dialogues, corpus, recipe, torch_device)
    if measured["contexts"]:
        log(f"on valid: the true reply beats another in {100 * measured['pairs']:.1f}% of {measured['contexts']}")
    corpora = {corpus} if corpus else {dialogue.corpus or "" for dialogue in all_dialogues}
    about = {
        "base": base,
        "recipe": asdict(recipe),
        "data": {"corpora": sorted(corpora), "split": "train"},
        "licence": read_aptness_card(require_model(DEFAULT_BASE)).licence
        if base == DEFAULT_BASE
        else weights_licence(corpora),
        "citation": "Phy, Zhao and Aizawa 2020; Berlot-Attwell and Rudzicz 2022",
        "measured": measured,
    }
    export_nup(network, tokenizer, _SPECIAL_TOKENS, limits, about, target)
    return measured


def open_trunk_and_tokenizer(base: str) -> tuple[Any, str]:
    """Return the encoder to start from and its ``tokenizer.json``: aptness's cross-encoder, or a catalog BERT."""
    if base != DEFAULT_BASE:
        folder, tokenizer = open_base_encoder(base)
        return open_trunk(folder), tokenizer
    from rejoinder.models.aptness.network import float_networks

    folder = require_model(DEFAULT_BASE)
    return float_networks(folder)[1].trunk, (folder / TOKENIZER).read_text(encoding="utf-8")


class NupTokenizer:
    """Pairs of texts as rows of token ids."""

    def __init__(self, tokenizer: str, limits: AptnessLimits) -> None:
        self._reader = TextTokenizer(tokenizer, max_tokens=0)  # only whole texts are encoded
        self._limits = limits

    def rows(self, contexts: Sequence[Sequence[str]], replies: Sequence[str]) -> list[PairRow]:
        """Return one row per pair; the turns of a context are joined by spaces."""
        context_pieces = self._reader.pieces([" ".join(context) for context in contexts])
        reply_pieces = self._reader.pieces(list(replies))
        return [
            build_pair_row([c], r, _SPECIAL_TOKENS, self._limits)
            for c, r in zip(context_pieces, reply_pieces, strict=True)
        ]


def make_nup_batch(rows: Sequence[PairRow], device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Return ids, mask and kinds of some rows."""
    ids, mask = pad_token_ids([row.ids for row in rows])
    kinds = mask * (np.arange(mask.shape[1]) >= np.array([row.reply_at for row in rows])[:, None])
    first, second, third = (torch.from_numpy(part).to(device) for part in (ids, mask, kinds))
    return first, second, third


def sample_other_responses(next_turns: Sequence[NextTurn], random: np.random.Generator) -> list[str]:
    """Return a reply to another context for each."""
    steps = random.integers(1, len(next_turns), len(next_turns))
    return [next_turns[(i + step) % len(next_turns)].reply for i, step in enumerate(steps.tolist())]


def _train_nup_network(
    network: NextUtteranceNetwork,
    pieces: NupTokenizer,
    next_turns: Sequence[NextTurn],
    recipe: NupRecipe,
    device: torch.device,
    log: Callable[[str], None],
) -> None:
    random = np.random.default_rng(recipe.seed)
    fused = device.type == "cuda"
    optimizer = torch.optim.Adam(network.parameters(), lr=recipe.rate, weight_decay=recipe.decay, fused=fused)
    contexts = [place.context for place in next_turns]
    labels = torch.cat([torch.ones(len(next_turns)), torch.zeros(len(next_turns))]).to(device)
    steps = -(-2 * len(next_turns) // recipe.batch)
    schedule = LearningRateSchedule(optimizer, recipe.epochs * steps)
    network.train()
    for epoch in range(recipe.epochs):
        rows = pieces.rows(
            [*contexts, *contexts], [*(p.reply for p in next_turns), *sample_other_responses(next_turns, random)]
        )
        order = random.permutation(len(rows))
        for step in range(steps):
            at = order[step * recipe.batch : (step + 1) * recipe.batch]
            odds = network(*make_nup_batch([rows[i] for i in at], device))
            loss = functional.binary_cross_entropy_with_logits(odds, labels[torch.from_numpy(at).to(device)])
            schedule.step(loss, network)
            if (step + 1) % _REPORT_STEPS == 0 or step + 1 == steps:
                log(f"epoch {epoch + 1} of {recipe.epochs}, step {step + 1:,} of {steps:,}, loss {loss.item():.3f}")


@torch.no_grad()
def _measure_held_out(
    network: NextUtteranceNetwork,
    pieces: NupTokenizer,
    dialogues: Sequence[Dialogue],
    corpus: str | None,
    recipe: NupRecipe,
    device: torch.device,
) -> dict[str, Any]:
    """Return how often the true reply beats another on ``valid``, if there is such a split; nothing depends on it."""
    network.eval()
    usable = [d for d in dialogues if d.split == "valid" and corpus in (None, d.corpus) and len(d.turns) > 1]
    if len(usable) < 2:
        return {"contexts": 0}
    next_turns = sample_next_turns(usable, min(recipe.held_out, len(usable)), corpus, "valid")
    contexts = [place.context for place in next_turns]
    others = sample_other_responses(next_turns, np.random.default_rng(0))
    scores = []
    for replies in ([place.reply for place in next_turns], others):
        rows = pieces.rows(contexts, replies)
        parts = [rows[i : i + 32] for i in range(0, len(rows), 32)]
        scores.append(torch.cat([network(*make_nup_batch(part, device)) for part in parts]))
    won = (scores[0] > scores[1]).float() + 0.5 * (scores[0] == scores[1]).float()
    return {"pairs": round(float(won.mean()), 4), "contexts": len(next_turns)}
