"""The recipe of the generators of Sato et al. (2020), Appendix B: cross-entropy, Adam at 1e-4, 6,000 tokens per step.

The state with the lowest loss on the split ``valid`` is kept. The same seed gives the same network on a CPU, and a
training that was stopped continues from its checkpoint to the same result.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional

from rejoinder.errors import InputError
from rejoinder.models.device import count_threads, training_device
from rejoinder.types import Dialogue
from rejoinder_lab.models.generator.model import save_generator
from rejoinder_lab.models.generator.network import GeneratorNetwork
from rejoinder_lab.models.generator.text import PADDING, TurnTokenizer, train_tokenizer
from rejoinder_lab.training.generator.checkpoint import GeneratorTrainingState, resume_checkpoint, save_checkpoint
from rejoinder_lab.training.generator.data import (
    BatchLoader,
    GeneratorExamples,
    build_generator_examples,
    make_generator_batches,
    select_split_dialogues,
)
from rejoinder_lab.training.licence import weights_licence
from rejoinder_lab.training.recipes import GeneratorRecipe

CITATION = "Sato, Akama, Ouchi, Suzuki and Inui 2020, Appendix B"


@dataclass
class TrainingRun:
    """A running training."""

    recipe: GeneratorRecipe
    network: GeneratorNetwork
    optimizer: torch.optim.Adam
    train: BatchLoader
    valid: BatchLoader
    examples: GeneratorExamples
    standing: GeneratorTrainingState
    log: Callable[[str], None]


def train_generator(
    dialogues: Iterable[Dialogue],
    target: Path,
    recipe: GeneratorRecipe,
    *,
    pieces: str | None = None,
    snapshots: Collection[int] = (),
    device: str | None = None,
    log: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Train on ``train``, choose on ``valid``, and write the folder, with a ``step-N`` in it for each snapshot.

    ``pieces`` is the ``tokenizer.json`` of another generator, so that several share one vocabulary; without it one is
    learned from all turns of ``train``.
    """
    torch_device = training_device(device)
    all_dialogues = list(dialogues)
    training_dialogues = select_split_dialogues(all_dialogues, "train")
    if pieces is None:
        pieces = train_tokenizer((t.text for d in training_dialogues for t in d.turns), recipe.shape.vocabulary)
    reader = TurnTokenizer(pieces, recipe.limits)
    if reader.size > recipe.shape.vocabulary:
        raise InputError(f"the vocabulary has {reader.size:,} pieces, more than the {recipe.shape.vocabulary:,} wanted")
    used_dialogues = select_split_dialogues(training_dialogues, "train", recipe.fraction)
    examples = build_generator_examples(used_dialogues, reader)
    held_out = build_generator_examples(select_split_dialogues(all_dialogues, "valid"), reader).some(recipe.held_out, 0)
    log(
        f"{len(examples):,} replies of {len(used_dialogues):,} dialogues to train on, {len(held_out):,} held out, "
        f"on {torch_device}"
    )
    training = _start_training(recipe, examples, held_out, torch_device, target, log)
    corpora = sorted({d.corpus or "" for d in used_dialogues})
    about = {"recipe": asdict(recipe), "corpora": corpora, "licence": weights_licence(corpora), "citation": CITATION}
    _run_training(
        training,
        target,
        sorted(snapshots),
        lambda folder, facts: _write_generator(training, folder, reader, about | facts),
    )
    state = training.standing
    training.network.load_state_dict(state.best)
    measured = {"valid_loss": round(state.best_loss, 4), "step": state.best_step, "history": state.history}
    _write_generator(training, target, reader, about | {"measured": measured})
    return measured


def _start_training(
    recipe: GeneratorRecipe,
    examples: GeneratorExamples,
    held_out: GeneratorExamples,
    device: torch.device,
    target: Path,
    log: Callable[[str], None],
) -> TrainingRun:
    torch.manual_seed(recipe.seed)
    torch.set_num_threads(count_threads())
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")
        torch.backends.cuda.enable_cudnn_sdp(False)  # it sets itself up for each new shape, and all batches differ
    network = GeneratorNetwork(recipe.shape, PADDING).to(device)
    optimizer = torch.optim.Adam(network.parameters(), lr=recipe.rate, fused=device.type == "cuda")
    state = resume_checkpoint(target, network, optimizer, recipe, len(examples))
    if state.step:
        log(f"continues after step {state.step:,}")
    return TrainingRun(
        recipe, network, optimizer, BatchLoader(examples, device), BatchLoader(held_out, device), examples, state, log
    )


def _run_training(
    training: TrainingRun, target: Path, snapshots: list[int], write: Callable[[Path, dict[str, Any]], None]
) -> None:
    recipe, state = training.recipe, training.standing
    start, first_step = time.monotonic(), state.step
    while state.step < recipe.steps:
        batches = make_generator_batches(training.examples, recipe.tokens, recipe.seed, state.epoch)
        for at in range(state.at, len(batches)):
            loss = _generator_step(training, batches[at])
            state.step, state.at = state.step + 1, at + 1
            if state.step in snapshots:
                write(target / f"step-{state.step}", {"measured": {"valid_loss": held_out_loss(training)}})
            if state.step % recipe.check == 0 or state.step == recipe.steps:
                rate = (state.step - first_step) / (time.monotonic() - start)
                _check_held_out(training, target, float(loss), rate)
            if state.step == recipe.steps:
                return
        state.epoch, state.at = state.epoch + 1, 0


def _generator_step(training: TrainingRun, which: Any) -> torch.Tensor:
    state = training.standing
    torch.manual_seed((training.recipe.seed << 32) + state.step)  # for dropout, which a resumed training must repeat
    training.network.train()
    loss = _generator_loss(training.network, *training.train.batch(which))
    loss.backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(training.network.parameters(), 1.0)
    training.optimizer.step()
    training.optimizer.zero_grad(set_to_none=True)
    return loss.detach()


def _generator_loss(
    network: GeneratorNetwork,
    context: torch.Tensor,
    reply: torch.Tensor,
    lengths: torch.Tensor,
    reduction: str = "mean",
) -> torch.Tensor:
    with torch.autocast(context.device.type, torch.bfloat16, enabled=context.device.type == "cuda"):
        logits = network.logits(network(context, reply[:, :-1], lengths))
    return functional.cross_entropy(
        logits.float().flatten(0, 1), reply[:, 1:].flatten(), ignore_index=PADDING, reduction=reduction
    )


def _check_held_out(training: TrainingRun, target: Path, loss: float, rate: float) -> None:
    state = training.standing
    held_out = held_out_loss(training)
    state.history.append([state.step, round(loss, 4), round(held_out, 4)])
    if held_out < state.best_loss:
        state.best_loss, state.best_step = held_out, state.step
        state.best = {name: value.detach().clone() for name, value in training.network.state_dict().items()}
    training.log(
        f"step {state.step:,} of {training.recipe.steps:,}, loss {loss:.3f}, held out {held_out:.3f} "
        f"(perplexity {math.exp(held_out):.1f}), {rate:.1f} steps per second"
    )
    save_checkpoint(target, training.network, training.optimizer, state, training.recipe, len(training.examples))


@torch.no_grad()
def held_out_loss(training: TrainingRun) -> float:
    """Return the cross-entropy per token on the held-out examples."""
    training.network.eval()
    total, count = 0.0, 0
    for context, reply, lengths in training.valid.all(4 * training.recipe.tokens):
        total += float(_generator_loss(training.network, context, reply, lengths, "sum"))
        count += int((reply[:, 1:] != PADDING).sum())
    return total / count


def _write_generator(training: TrainingRun, folder: Path, reader: TurnTokenizer, about: dict[str, Any]) -> None:
    save_generator(folder, training.network, reader.serialized, training.recipe.limits, about)
