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
from typing import Any

import numpy as np

from rejoinder.data.knowledge import KnowledgeTriple
from rejoinder.errors import InputError
from rejoinder.models.comet.model import PROMPTS, build_comet_prompt, write_comet
from rejoinder.models.language_model.lora import attach_lora, extract_lora
from rejoinder.models.language_model.model import LanguageModel, load_language_model
from rejoinder_lab.training.optimizer import LearningRateSchedule, build_optimizer
from rejoinder_lab.training.prompt_rows import PromptRow, batch_by_length, batch_loss, mean_loss
from rejoinder_lab.training.recipes import CometRecipe

_REPORT_STEPS = 100  # steps between two lines
LICENCE = "CC-BY-SA-4.0"  # ConceptNet's; ATOMIC is CC BY 4.0


def train_comet(
    train: Iterable[KnowledgeTriple],
    valid: Iterable[KnowledgeTriple],
    target: Path,
    recipe: CometRecipe,
    data: Mapping[str, str],
    leave_out: Collection[str] = (),
    base: str = "smollm2-135m",
    device: Any = None,
    log: Callable[[str], None] = print,
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
    log(f"{len(used):,} triples to train on, {len(held_out):,} held out")
    rows, held_rows = (tokenize_triples(model, part) for part in (used, held_out))
    before = mean_loss(model, held_rows, recipe.batch)
    parameters = attach_lora(model.network, recipe.rank, recipe.scale, recipe.seed)
    _train_comet_lora(model, parameters, rows, recipe, log)
    model.network.eval()
    after = mean_loss(model, held_rows, recipe.batch)
    log(f"held out: loss per token {before:.3f} before, {after:.3f} after")
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


def _train_comet_lora(
    model: LanguageModel, parameters: list[Any], rows: list[PromptRow], recipe: CometRecipe, log: Callable[[str], None]
) -> None:
    network = model.network
    optimizer = build_optimizer([(parameters, recipe.rate)])
    order = np.random.default_rng(recipe.seed)
    steps = recipe.epochs * math.ceil(len(rows) / recipe.batch)
    schedule = LearningRateSchedule(optimizer, steps)
    network.train()
    step, start = 0, time.monotonic()
    for _ in range(recipe.epochs):
        for batch in batch_by_length(rows, recipe.batch, order):
            loss = batch_loss(network, [rows[i] for i in batch])
            schedule.step(loss, network)
            step += 1
            if step % _REPORT_STEPS == 0 or step == steps:
                rate = step * recipe.batch / (time.monotonic() - start)
                log(f"step {step:,} of {steps:,}, loss {loss.item():.3f}, {rate:,.0f} triples per second")
