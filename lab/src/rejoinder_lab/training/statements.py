"""The recipe of our own writer of statements: seeds to a small LoRA on the embedded language model.

The model reads a request, its goal, a reply and a category (SUGAR, Figure 3) and learns to write each statement of that
category. The epoch with the lowest loss on held-out seeds is kept.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.data.inputs.seeds import Seed
from rejoinder.errors import InputError
from rejoinder.models.language_model.lora import attach_lora, extract_lora
from rejoinder.models.language_model.lora_folder import LoraCard, write_lora
from rejoinder.models.language_model.model import LanguageModel, load_language_model
from rejoinder.models.statements.model import BEAM_WIDTH, STATEMENTS_LORA, LoraStatementWriter, StatementRequest
from rejoinder_lab.training.optimizer import LearningRateSchedule, build_optimizer
from rejoinder_lab.training.prompt_rows import PromptRow, batch_by_length, batch_loss, mean_loss
from rejoinder_lab.training.recipes import StatementRecipe

MAX_TOKENS = 320  # of prompt and statement; a longer one is left out and counted
Log = Callable[[str], None]


def train_statements(
    train: Sequence[Seed],
    valid: Sequence[Seed],
    target: Path,
    recipe: StatementRecipe,
    data: Mapping[str, str],
    licence: str = "not known",
    base: str = "smollm2-135m",
    device: Any = None,
    log: Log = print,
) -> dict[str, Any]:
    """Train on ``train``, write the folder and return what was measured on ``valid``.

    A seed of ``valid`` is not trained on, nor one with the same request, goal and reply.
    """
    model = load_language_model(base, device=device)
    held_out_keys = {(seed.request, seed.goal, seed.reply) for seed in valid}
    training_seeds = [seed for seed in train if (seed.request, seed.goal, seed.reply) not in held_out_keys]
    rows, left_out = tokenize_statements(model, training_seeds)
    held_rows, _ = tokenize_statements(model, valid)
    if not rows or not held_rows:
        raise InputError(f"{len(rows)} statements to train on and {len(held_rows)} held out; give some of each")
    summary = f"{len(rows):,} statements of {len(training_seeds):,} seeds to train on ({left_out:,} too long)"
    log(f"{summary}, {len(held_rows):,} held out")
    before = mean_loss(model, held_rows, recipe.batch)
    parameters = attach_lora(model.network, recipe.rank, recipe.scale, recipe.seed)
    losses = _train_statement_lora(model, parameters, rows, held_rows, recipe, log)
    measured: dict[str, Any] = {
        "statements": len(rows),
        "too_long": left_out,
        "valid_statements": len(held_rows),
        "valid_loss_before": round(before, 4),
        "valid_losses": [round(loss, 4) for loss in losses],
        "valid_loss": round(min(losses), 4),
        "epoch": 1 + int(np.argmin(losses)),
    }
    if recipe.written:
        measured |= measure_statement_hits(LoraStatementWriter(model, LoraCard("", "", "")), valid, recipe)
    log("held out: " + ", ".join(f"{name} {value}" for name, value in measured.items()))
    about = {"recipe": asdict(recipe), "data": dict(data), "licence": licence, "measured": measured}
    write_lora(target, STATEMENTS_LORA, extract_lora(model.network), model, about)
    return measured


def tokenize_statements(model: LanguageModel, seeds: Sequence[Seed]) -> tuple[list[PromptRow], int]:
    """Return the token ids of each prompt and statement, with the end of the line, and how many were too long."""
    pairs = [(seed, one) for seed in seeds for one in dict.fromkeys(seed.statements)]
    if not pairs:
        return [], 0
    prompts = [StatementRequest(seed.request, seed.goal, seed.reply, str(one.category)).prompt for seed, one in pairs]
    encode = model.tokenizer
    prompt_ids = encode(prompts, add_special_tokens=False)["input_ids"]
    statement_ids = encode([f" {' '.join(one.text.split())}\n" for _, one in pairs], add_special_tokens=False)[
        "input_ids"
    ]
    rows = [PromptRow((*p, *t), len(p)) for p, t in zip(prompt_ids, statement_ids, strict=True)]
    short_rows = [row for row in rows if len(row.ids) <= min(MAX_TOKENS, model.window)]
    return short_rows, len(rows) - len(short_rows)


def _train_statement_lora(
    model: LanguageModel,
    parameters: list[Any],
    rows: Sequence[PromptRow],
    held_out: Sequence[PromptRow],
    recipe: StatementRecipe,
    log: Log,
) -> list[float]:
    """Train, leave the weights of the best epoch in the network, and return the held-out loss of each epoch."""
    network = model.network
    order = np.random.default_rng(recipe.seed)
    schedule = LearningRateSchedule(
        build_optimizer([(parameters, recipe.rate)]), recipe.epochs * math.ceil(len(rows) / recipe.batch)
    )
    losses: list[float] = []
    best = [parameter.detach().clone() for parameter in parameters]
    start = time.monotonic()
    for epoch in range(1, recipe.epochs + 1):
        network.train()
        for batch in batch_by_length(rows, recipe.batch, order):
            schedule.step(batch_loss(network, [rows[i] for i in batch]), network)
        network.eval()
        losses.append(mean_loss(model, held_out, recipe.batch))
        if losses[-1] == min(losses):
            best = [parameter.detach().clone() for parameter in parameters]
        seconds = time.monotonic() - start
        log(f"epoch {epoch} of {recipe.epochs}: held-out loss per token {losses[-1]:.4f}, {seconds:.0f} s")
    for parameter, best_values in zip(parameters, best, strict=True):
        parameter.data.copy_(best_values)
    return losses


def measure_statement_hits(
    writer: LoraStatementWriter, seeds: Sequence[Seed], recipe: StatementRecipe
) -> dict[str, Any]:
    """Return how often one of the three statements is one that people wrote, over sampled seeds and categories."""
    human_texts: dict[StatementRequest, set[str]] = {}
    for seed in seeds:
        for one in seed.statements:
            request = StatementRequest(seed.request, seed.goal, seed.reply, str(one.category))
            human_texts.setdefault(request, set()).add(one.text.casefold())
    order = np.random.default_rng(recipe.seed).permutation(len(human_texts))[: recipe.written]
    requests = [list(human_texts)[i] for i in order]
    written = writer.write(requests)
    hits = [
        any(text.casefold() in human_texts[request] for text in texts)
        for request, texts in zip(requests, written, strict=True)
    ]
    return {"asked": len(requests), f"found_in_{BEAM_WIDTH}": round(float(np.mean(hits)), 4)}
