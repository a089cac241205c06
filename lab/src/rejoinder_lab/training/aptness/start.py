"""What a training of `aptness` starts from and learns from: a base of the catalog, or folders that were trained before.

Weights inherit the data of the networks that they start from or learn from, and so the strictest of all licences.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import orjson

from rejoinder.errors import InputError
from rejoinder.models.aptness.network import MPNET, BiEncoder, CrossEncoder, float_networks
from rejoinder.models.aptness_card import (
    CARD_FILE,
    TOKENIZER,
    AptnessCard,
    AptnessLimits,
    check_aptness_files,
    read_aptness_card,
)
from rejoinder_lab.training.aptness.bi_encoder import BiTeacher, encode_turns
from rejoinder_lab.training.aptness.distillation import AptnessTeacher
from rejoinder_lab.training.aptness.layers import lengthen_positions
from rejoinder_lab.training.base_encoder import BERT, open_base_encoder, open_trunk
from rejoinder_lab.training.licence import PERMISSIVE
from rejoinder_lab.training.sampling import TokenCorpus


class TrainingStart(NamedTuple):
    """The networks before the training; without a cross-encoder, it starts from the trained bi-encoder."""

    bi: BiEncoder
    cross: CrossEncoder | None
    tokenizer: str
    card: AptnessCard | None  # of the folder, where they come from one


def open_start(base: str, limits: AptnessLimits) -> TrainingStart:
    """Return the networks of a model of the catalog or of a folder of aptness, able to read as much as the limits say.

    The word embeddings of a folder, which its two networks share, do not change.
    """
    if not (Path(base) / CARD_FILE).is_file():
        folder, tokenizer = open_base_encoder(base, (BERT, MPNET))
        start = TrainingStart(BiEncoder(open_trunk(folder)), None, tokenizer, None)
    else:
        card = _check_folder(Path(base))
        start = TrainingStart(*float_networks(Path(base)), _read_tokenizer(Path(base)), card)
        start.bi.trunk.embeddings.word_embeddings.weight.requires_grad_(False)
    tokens = max(limits.utterance_tokens, limits.context_tokens + limits.reply_tokens + 3)
    for network in (start.bi, start.cross):
        if network is not None:
            lengthen_positions(network.trunk, tokens)
    return start


def open_teacher(folder: Path, corpus: TokenCorpus, limits: AptnessLimits) -> AptnessTeacher:
    """Return the networks of a folder as a teacher, with its vector of each turn of the corpus."""
    calibration = read_aptness_card(folder).calibration
    bi, cross = float_networks(folder)
    for trunk in (bi.trunk, cross.trunk):
        lengthen_positions(trunk, limits.context_tokens + limits.reply_tokens + 3)
    bi, cross = bi.to(corpus.device).requires_grad_(False), cross.to(corpus.device).requires_grad_(False)
    return AptnessTeacher(BiTeacher(bi, encode_turns(bi, corpus), calibration["bi"]["bi"]), cross, calibration["both"])


def read_teacher_cards(folders: Sequence[Path], tokenizer: str) -> list[AptnessCard]:
    """Return the cards of the teachers; one whose token ids differ from the student's is an error."""
    cards = [_check_folder(folder) for folder in folders]
    ids = _read_vocabulary(tokenizer)
    for folder in folders:
        if _read_vocabulary(_read_tokenizer(folder)) != ids:
            raise InputError(f"{folder}: has another vocabulary than the networks to train, so it cannot teach them")
    return cards


def inherited_data(cards: Sequence[AptnessCard], permissive: bool) -> list[str]:
    """Return the corpora that the networks of folders were trained on; research data is an error if not wanted."""
    corpora = sorted({corpus for card in cards for corpus in card.about.get("data", {})})
    others = [corpus for corpus in corpora if corpus not in PERMISSIVE]
    if permissive and (others or any(not card.about.get("data") for card in cards)):
        raise InputError(
            "permissive weights may only start from, or learn from, networks that were trained on permissive corpora; "
            f"these were also trained on {', '.join(others) or 'data that their cards do not name'}"
        )
    return corpora


def _check_folder(folder: Path) -> AptnessCard:
    card = read_aptness_card(folder)
    check_aptness_files(folder, card, *card.files)
    return card


def _read_tokenizer(folder: Path) -> str:
    return (folder / TOKENIZER).read_text(encoding="utf-8")


def _read_vocabulary(tokenizer: str) -> dict[str, int]:
    vocabulary: dict[str, int] = orjson.loads(tokenizer)["model"]["vocab"]
    return vocabulary
