"""The recipe of our own COMET: triples of ATOMIC and ConceptNet to a small LoRA on the embedded language model.

The model reads an event and the words of a relation, and learns to write the tail. Heads of the held-out files are left
out of training.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from rejoinder.data.knowledge import KnowledgeTriple
from rejoinder.errors import InputError
from rejoinder.models.comet.model import PROMPTS, build_comet_prompt, write_comet
from rejoinder.models.language_model.lora import attach_lora, extract_lora
from rejoinder.models.language_model.model import LanguageModel, load_language_model
from rejoinder.training.optimizer import Schedule, build_optimizer
from rejoinder.training.recipes import CometRecipe

_REPORT_STEPS = 100  # steps between two lines
LICENCE = "CC-BY-SA-4.0"  # ConceptNet's; ATOMIC is CC BY 4.0


class PromptRow(NamedTuple):
    """Token ids, and how many of them are the prompt."""

    ids: tuple[int, ...]
    prompt: int


def train_comet(
    train: Iterable[KnowledgeTriple],
    valid: Iterable[KnowledgeTriple],
    target: Path,
    recipe: CometRecipe,
    data: Mapping[str, str],
    leave_out: Collection[str] = (),
    base: str = "smollm2-135m",
    device: Any = None,
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Train on ``train``, write the folder and return the loss per token on ``valid``, before and after.

    Heads of ``valid`` and those to ``leave_out`` are not trained on.
    """
    model = load_language_model(base, device=device)
    held_out = [triple for triple in valid if triple.relation in PROMPTS]
    heads = {triple.head.lower() for triple in held_out} | {head.lower() for head in leave_out}
    used = [t for t in dict.fromkeys(train) if t.relation in PROMPTS and t.head.lower() not in heads]
    if not used or not held_out:
        raise InputError(f"{len(used)} triples to train on and {len(held_out)} held out; give some of each")
    say(f"{len(used):,} triples to train on, {len(held_out):,} held out")
    rows, held_rows = (tokenize_triples(model, part) for part in (used, held_out))
    before = mean_loss(model, held_rows, recipe.batch)
    parameters = attach_lora(model.network, recipe.rank, recipe.scale, recipe.seed)
    _train(model, parameters, rows, recipe, say)
    model.network.eval()
    after = mean_loss(model, held_rows, recipe.batch)
    say(f"held out: loss per token {before:.3f} before, {after:.3f} after")
    measured = {"valid_loss_before": round(before, 4), "valid_loss": round(after, 4), "triples": len(used)}
    about = {"recipe": asdict(recipe), "data": dict(data), "licence": LICENCE, "measured": measured}
    write_comet(target, extract_lora(model.network), model, about)
    return measured


def tokenize_triples(model: LanguageModel, triples: Sequence[KnowledgeTriple]) -> list[PromptRow]:
    """Return the token ids of each triple: prompt, tail, end of the line."""
    encode = model.tokenizer
    prompts = encode([build_comet_prompt(t.head, t.relation) for t in triples], add_special_tokens=False)["input_ids"]
    tails = encode([f" {t.tail}\n" for t in triples], add_special_tokens=False)["input_ids"]
    return [PromptRow((*p, *t), len(p)) for p, t in zip(prompts, tails, strict=True)]


def _train(
    model: LanguageModel, parameters: list[Any], rows: list[PromptRow], recipe: CometRecipe, say: Callable[[str], None]
) -> None:
    network = model.network
    optimizer = build_optimizer([(parameters, recipe.rate)])
    order = np.random.default_rng(recipe.seed)
    steps = recipe.epochs * math.ceil(len(rows) / recipe.batch)
    schedule = Schedule(optimizer, steps)
    network.train()
    step, start = 0, time.monotonic()
    for _ in range(recipe.epochs):
        for batch in batch_by_length(rows, recipe.batch, order):
            loss = batch_loss(network, [rows[i] for i in batch])
            schedule.step(loss, network)
            step += 1
            if step % _REPORT_STEPS == 0 or step == steps:
                rate = step * recipe.batch / (time.monotonic() - start)
                say(f"step {step:,} of {steps:,}, loss {loss.item():.3f}, {rate:,.0f} triples per second")


def batch_by_length(rows: Sequence[PromptRow], size: int, random: np.random.Generator) -> list[Any]:
    """Return batches of rows of about the same length, in a new random order."""
    lengths = np.array([len(row.ids) for row in rows]) + random.random(len(rows))
    order = np.argsort(lengths)
    parts = [order[start : start + size] for start in range(0, len(order), size)]
    return [parts[i] for i in random.permutation(len(parts))]


def batch_loss(network: Any, rows: Sequence[PromptRow], reduction: str = "mean") -> Tensor:
    """Return the cross-entropy of the tails' tokens."""
    width = max(len(row.ids) for row in rows)
    ids = torch.tensor([[*row.ids, *[0] * (width - len(row.ids))] for row in rows], device=network.device)
    positions = torch.arange(width, device=network.device)
    first = torch.tensor([row.prompt for row in rows], device=network.device)[:, None]
    end = torch.tensor([len(row.ids) for row in rows], device=network.device)[:, None]
    targets = torch.where((positions >= first) & (positions < end), ids, -100)
    # Padding is at the end of a row, where no real token attends to it.
    with torch.autocast(network.device.type, torch.bfloat16, enabled=network.device.type == "cuda"):
        logits = network(input_ids=ids).logits[:, :-1].float()
    return functional.cross_entropy(logits.flatten(0, 1), targets[:, 1:].flatten(), reduction=reduction)


@torch.no_grad()
def mean_loss(model: LanguageModel, rows: Sequence[PromptRow], batch: int) -> float:
    """Return the mean loss of the tails' tokens."""
    total = sum(
        float(batch_loss(model.network, rows[start : start + batch], "sum")) for start in range(0, len(rows), batch)
    )
    return total / sum(len(row.ids) - row.prompt for row in rows)
