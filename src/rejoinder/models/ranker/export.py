"""Export of a trained ranker to a folder that needs no torch: graphs with int8 matrices, word weights, and the card."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from rejoinder.files import sha256_of
from rejoinder.models import aptness_card
from rejoinder.models.aptness.graph import write_graph
from rejoinder.models.aptness.network import CrossEncoder
from rejoinder.models.card import write_model_card
from rejoinder.models.catalog.manifest import require_model
from rejoinder.models.ranker import card as cards
from rejoinder.models.ranker.card import RankerCard
from rejoinder.models.ranker.network import ChooserNetwork, WordChooser, WordReader
from rejoinder.models.ranker.settings import EMBEDDED, RankerLimits, StatementReadingRule
from rejoinder.models.ranker.statement_choice import Floats

_ROWS, _TOKENS = {0: "rows"}, {0: "rows", 1: "tokens"}


def export_ranker(
    reader: CrossEncoder,
    chooser: ChooserNetwork | None,
    weights: Floats | None,
    input_name: str,
    choice: StatementReadingRule,
    limits: RankerLimits,
    about: Mapping[str, Any],
    target: Path,
) -> RankerCard:
    """Write a ranker that was trained from the embedded networks; the same networks give the same bytes.

    Without a chooser (and word weights) it reads every statement. The word vectors must be those of aptness.
    """
    target.mkdir(parents=True, exist_ok=True)
    (target / cards.CARD_FILE).unlink(missing_ok=True)  # a folder without a card is not used until it is complete
    inputs = _sample_words(int(reader.trunk.config.hidden_size))
    mask = inputs["attention_mask"][0]
    segments = torch.zeros_like(mask)
    segments[:, 3:] = mask[:, 3:]
    reader = _copy_to_cpu(reader)
    pairs = {**inputs, "token_type_ids": (segments, _TOKENS)}
    state = {f"reader.{name}": values for name, values in reader.state_dict().items()}
    write_graph(WordReader(reader), pairs, {"log_odds": _ROWS}, state, target / cards.READER)
    files = {cards.READER: sha256_of(target / cards.READER)}
    if chooser is not None and weights is not None:
        files |= export_chooser(chooser, weights, target)[0]
    shipped = aptness_card.read_aptness_card(require_model("aptness"))
    card = RankerCard(
        kind="cross" if chooser is None else "situated",
        encoder=EMBEDDED,
        given=input_name,
        files=files,
        marks=shipped.marks,
        words=shipped.files[aptness_card.EMBEDDINGS],
        limits=limits,
        choice=choice,
        about=dict(about),
    )
    write_model_card(target / cards.CARD_FILE, card)
    return card


def export_chooser(chooser: ChooserNetwork, weights: Floats, target: Path) -> tuple[dict[str, str], str]:
    """Write a chooser and its word weights; return the files' digests, and that of the word vectors that it reads."""
    target.mkdir(parents=True, exist_ok=True)
    chooser = _copy_to_cpu(chooser)
    spans = torch.zeros(2, 3, 7)
    spans[:, 0, 1:3] = spans[:, 1, 3:4] = spans[:, 2, 4:5] = 0.5
    inputs = _sample_words(int(chooser.trunk.config.hidden_size))
    inputs |= {"places": (spans, {0: "rows", 1: "statements", 2: "tokens"})}
    outputs = {"log_odds": {0: "rows", 1: "statements"}}
    state = {f"chooser.{name}": values for name, values in chooser.state_dict().items()}
    write_graph(WordChooser(chooser), inputs, outputs, state, target / cards.CHOOSER)
    weights.astype("<f4").tofile(target / cards.COUNTS)
    shipped = aptness_card.read_aptness_card(require_model("aptness"))
    files = {name: sha256_of(target / name) for name in (cards.CHOOSER, cards.COUNTS)}
    return files, shipped.files[aptness_card.EMBEDDINGS]


def _sample_words(dimensions: int) -> dict[str, Any]:
    """Two rows of word vectors and which of them are real, to trace a graph with."""
    words, mask = torch.zeros(2, 7, dimensions), torch.ones(2, 7, dtype=torch.int64)
    words[:, :, 0] = torch.arange(7)
    mask[1, 5:] = 0
    return {"words": (words, _TOKENS), "attention_mask": (mask, _TOKENS)}


def _copy_to_cpu(network: nn.Module) -> Any:
    """Return a copy on the CPU, in float32, without dropout, with an attention that can be traced."""
    duplicate: Any = copy.deepcopy(network).to("cpu", torch.float32).eval()
    duplicate.trunk.set_attn_implementation("eager")
    duplicate.trunk.pooler = None
    return duplicate
