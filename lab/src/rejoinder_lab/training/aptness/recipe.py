"""The recipe of `aptness`: from dialogue corpora and a base encoder to the folder that the package ships.

Trains on the split ``train``, chooses weights and calibrates on ``valid``, and reports results on ``test`` in the card.
No rating is used.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from rejoinder.errors import InputError
from rejoinder.models.aptness.export import export_pair
from rejoinder.models.aptness.network import UTTERANCES, BiEncoder, CrossEncoder
from rejoinder.models.aptness_card import AptnessCard, AptnessLimits
from rejoinder.models.device import training_device
from rejoinder.types import Dialogue
from rejoinder_lab.training.aptness.bi_encoder import encode_turns, train_bi_encoder
from rejoinder_lab.training.aptness.calibration import calibrate_aptness, measure_calibration
from rejoinder_lab.training.aptness.cross_encoder import train_cross_encoder
from rejoinder_lab.training.aptness.distillation import DistillationRecipe, distill_cross_encoders
from rejoinder_lab.training.aptness.evaluation import compute_raw_scores
from rejoinder_lab.training.aptness.start import (
    TrainingStart,
    inherited_data,
    open_start,
    open_teacher,
    read_teacher_cards,
)
from rejoinder_lab.training.licence import LICENCES, weights_licence
from rejoinder_lab.training.recipes import AptnessRecipe
from rejoinder_lab.training.sampling import (
    CONTEXT_TOKENS,
    REPLY_TOKENS,
    UTTERANCE_TOKENS,
    TokenCorpus,
    TokenProperties,
    corpus_weights,
    read_generic_responses,
)
from rejoinder_lab.training.tokens import CorpusTokens, check_corpus_splits, read_corpus_tokens

# Training reads as much as scoring later; an utterance has two special tokens around it.
LIMITS = AptnessLimits(UTTERANCES, UTTERANCE_TOKENS + 2, CONTEXT_TOKENS, REPLY_TOKENS, windows=True)


def train_aptness(
    dialogues: Iterable[Dialogue],
    target: Path,
    recipe: AptnessRecipe,
    base: str = "minilm",
    device: str | None = None,
    log: Callable[[str], None] = print,
    teachers: Sequence[Path] = (),
    permissive: bool = False,
) -> dict[str, Any]:
    """Train both networks, write their folder and return what was measured on ``test``.

    ``base`` is a model of the catalog, or a folder that was trained before; ``teachers`` are such folders.
    """
    torch_device = training_device(device)
    torch.manual_seed(recipe.seed)
    start = open_start(base, LIMITS)
    teacher_cards = read_teacher_cards(teachers, start.tokenizer)
    inherited = inherited_data([*([start.card] if start.card else []), *teacher_cards], permissive)
    splits = read_corpus_tokens(dialogues, start.tokenizer, recipe.corpora)
    check_corpus_splits(splits, ("valid", "test"))
    _make_folder(target)
    log(", ".join(f"{split}: {tokens.turns:,} turns" for split, tokens in sorted(splits.items())))
    words = TokenProperties.of(start.tokenizer, read_generic_responses(), torch_device)
    bi, cross = train_networks(start, splits["train"], words, recipe, torch_device, log, teachers)
    calibration = calibrate_aptness(
        compute_raw_scores(bi, cross, TokenCorpus(splits["valid"], torch_device), words, recipe.places)
    )
    test = TokenCorpus(splits["test"], torch_device)
    measured = measure_calibration(
        compute_raw_scores(bi, cross, test, words, recipe.places), test.tokens.corpora, calibration
    )
    log(f"on test: the true reply beats another in {100 * measured['pairs']['both']:.1f}% (macro average of corpora)")
    data = sorted({*splits["train"].corpora, *inherited})
    about = {
        "version": "1",
        "licence": weights_licence(data),
        "base": _describe_base(base, start.card),
        "seed": recipe.seed,
        "data": {corpus: LICENCES.get(corpus, "not known") for corpus in data},
        "recipe": _as_json(asdict(recipe)),
        "measured": measured,
    }
    if teachers:
        about["teachers"] = [
            _describe_base(str(folder), card) for folder, card in zip(teachers, teacher_cards, strict=True)
        ]
        about["distillation"] = _as_json(asdict(DistillationRecipe(recipe.cross)))
    export_pair(bi, cross, start.tokenizer, calibration, about, target, LIMITS)
    return measured


def _describe_base(name: str, card: AptnessCard | None) -> str:
    """The name of a base; of a folder, the digest of its weights and what it was trained from."""
    return name if card is None else f"aptness {card.digest()[:12]} (from {card.about.get('base', 'an unknown base')})"


def train_networks(
    start: TrainingStart,
    tokens: CorpusTokens,
    words: TokenProperties,
    recipe: AptnessRecipe,
    device: torch.device,
    log: Callable[[str], None],
    teacher_folders: Sequence[Path] = (),
) -> tuple[BiEncoder, CrossEncoder]:
    """Train the bi-encoder, then the cross-encoder: from the bi-encoder, or from its own start."""
    torch.set_float32_matmul_precision("high")
    generator = torch.Generator(device).manual_seed(recipe.seed)
    corpus = TokenCorpus(tokens, device)
    weights = corpus_weights(corpus, recipe.power, recipe.preferences)
    bi = start.bi.to(device)
    teachers = [open_teacher(folder, corpus, LIMITS) for folder in teacher_folders]
    similar = encode_turns(bi, corpus)
    log_step = _make_step_log("bi-encoder", recipe.bi.steps, log)
    bi_teachers = [teacher.bi for teacher in teachers]
    train_bi_encoder(bi, corpus, weights, words, recipe.bi, generator, similar, log_step, bi_teachers)
    del similar
    cross = (start.cross or CrossEncoder(copy.deepcopy(bi.trunk))).to(device)
    log_step = _make_step_log("cross-encoder", recipe.cross.steps, log)
    if teachers:
        distillation = DistillationRecipe(recipe.cross)
        distill_cross_encoders(
            [cross],
            teachers,
            corpus,
            weights,
            words,
            distillation,
            generator,
            lambda step, loss: log_step(step, loss[0]),
        )
    else:
        train_cross_encoder(cross, corpus, weights, words, recipe.cross, generator, log_step)
    return bi, cross


def _make_folder(folder: Path) -> None:
    """Create the folder before the training, so that no training is lost where that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}); name another folder") from None


def _make_step_log(what: str, steps: int, log: Callable[[str], None]) -> Callable[[int, float], None]:
    return lambda step, loss: log(f"{what}: step {step:,} of {steps:,}, loss {loss:.3f}")


def _as_json(value: Any) -> Any:
    """Return a recipe as JSON values."""
    if isinstance(value, Mapping):
        return {key: _as_json(part) for key, part in value.items()}
    return list(value) if isinstance(value, tuple) else value
