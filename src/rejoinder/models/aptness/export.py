"""Export of the networks of `aptness` to a folder that needs no torch.

The folder contains the graph for utterances, the two heads, the graph for pairs, one tokeniser, the word embeddings
that both networks share, and the card. All matrices are stored as int8 and computed in float32.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from rejoinder.errors import InputError
from rejoinder.files import sha256_of
from rejoinder.models import aptness_card as cards
from rejoinder.models.aptness.calibration import check_calibration
from rejoinder.models.aptness.graph import WORD_EMBEDDINGS, write_graph
from rejoinder.models.aptness.network import MPNET, BiEncoder, CrossEncoder, masked_mean
from rejoinder.models.aptness.network import float_networks as float_networks
from rejoinder.models.aptness_card import AptnessCard, AptnessLimits, SpecialTokens
from rejoinder.models.card import write_model_card
from rejoinder.models.onnx.quantization import quantize_matrix

_ROWS, _TOKENS = {0: "rows"}, {0: "rows", 1: "tokens"}
_SHAPE_KEYS = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "hidden_act",
    "max_position_embeddings",
    "type_vocab_size",
    "layer_norm_eps",
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "pad_token_id",
)


def export_pair(
    bi: BiEncoder,
    cross: CrossEncoder,
    tokenizer: str,
    calibration: Mapping[str, Mapping[str, float]],
    card: Mapping[str, Any],
    target: Path,
    limits: AptnessLimits | None = None,
) -> AptnessCard:
    """Write both networks into the folder ``target``; the same networks give the same bytes.

    ``tokenizer`` is the text of a ``tokenizer.json``; ``calibration`` has the weights of the features for ``both``,
    ``bi`` and ``cross`` (see ``calibration.py``); ``card`` has the licence, base, seed, data and measured results.
    """
    check_calibration(calibration)
    bi, cross = _copy_to_cpu(bi), _copy_to_cpu(cross)
    limits = limits or AptnessLimits(utterances=len(bi.context.places))
    words = _find_shared_words(bi, cross)
    plain, marks = _prepare_tokenizer(tokenizer)
    _check_positions(bi, cross, limits)
    target.mkdir(parents=True, exist_ok=True)
    (target / cards.CARD_FILE).unlink(missing_ok=True)  # a folder without a card is not used until it is complete
    (target / cards.TOKENIZER).write_text(plain, encoding="utf-8", newline="")
    small, scales = quantize_matrix(words, axis=0)
    (target / cards.EMBEDDINGS).write_bytes(small.tobytes() + scales.tobytes())
    _write_graphs(bi, cross, target)
    names = (cards.TOKENIZER, cards.EMBEDDINGS, cards.UTTERANCE, cards.CONTEXT, cards.REPLY, cards.CROSS)
    new_card = AptnessCard(
        files={name: sha256_of(target / name) for name in names},
        networks={"bi": _read_shape(bi.trunk), "cross": _read_shape(cross.trunk)},
        marks=marks,
        calibration={model: dict(weights) for model, weights in calibration.items()},
        limits=limits,
        about=dict(card),
    )
    write_model_card(target / cards.CARD_FILE, new_card)
    return new_card


class _UtteranceGraph(nn.Module):
    """The bi-encoder with token vectors as a second output."""

    def __init__(self, bi: BiEncoder) -> None:
        super().__init__()
        self.trunk = bi.trunk

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
        states = self.trunk(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return functional.normalize(masked_mean(states, attention_mask), dim=-1), states


class _PairGraph(nn.Module):
    """The cross-encoder with its features as a second output."""

    def __init__(self, cross: CrossEncoder) -> None:
        super().__init__()
        self.cross = cross

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> tuple[Tensor, Tensor]:
        features = self.cross.features(input_ids, attention_mask, token_type_ids)
        return self.cross.head(features).squeeze(-1), features


def _write_graphs(bi: BiEncoder, cross: CrossEncoder, target: Path) -> None:
    ids = torch.full((2, 7), 3)
    mask = torch.ones_like(ids)
    mask[1, 4:] = 0
    segments = torch.zeros_like(ids)
    segments[:, 3:] = mask[:, 3:]
    inputs = {"input_ids": (ids, _TOKENS), "attention_mask": (mask, _TOKENS)}
    vectors = torch.eye(bi.trunk.config.hidden_size)[:2]
    context_vectors = vectors[:, None].repeat(1, len(bi.context.places), 1)
    head_inputs = {
        "utterances": (context_vectors, _ROWS),
        "mask": (torch.ones(context_vectors.shape[:2], dtype=torch.int64), _ROWS),
    }
    state = bi.state_dict()
    write_graph(
        _UtteranceGraph(bi), inputs, {"vectors": _ROWS, "token_vectors": _TOKENS}, state, target / cards.UTTERANCE
    )
    write_graph(bi.context, head_inputs, {"vectors": _ROWS}, state, target / cards.CONTEXT)
    write_graph(bi.reply, {"utterances": (vectors, _ROWS)}, {"vectors": _ROWS}, state, target / cards.REPLY)
    inputs["token_type_ids"] = (segments, _TOKENS)
    write_graph(
        _PairGraph(cross), inputs, {"log_odds": _ROWS, "features": _ROWS}, cross.state_dict(), target / cards.CROSS
    )


def _copy_to_cpu(network: Any) -> Any:
    """Return a copy on the CPU, in float32, without dropout, with an attention that can be traced."""
    network = copy.deepcopy(network).to("cpu", torch.float32).eval()
    if network.trunk.config.model_type not in ("bert", MPNET):
        raise InputError(f"the trunk must be a BERT or an MPNet, not {network.trunk.config.model_type}")
    network.trunk.set_attn_implementation("eager")
    network.trunk.pooler = None
    return network


def _find_shared_words(bi: BiEncoder, cross: CrossEncoder) -> Any:
    """Return the word embeddings, which must be the same in both networks: they are stored once."""
    words, others = bi.state_dict()[WORD_EMBEDDINGS], cross.state_dict()[WORD_EMBEDDINGS]
    if words.shape != others.shape or not torch.equal(words, others):
        raise InputError("the word embeddings of the two networks differ; freeze them during training, or copy them")
    return words.numpy()


def _prepare_tokenizer(serialized: str) -> tuple[str, SpecialTokens]:
    """Return the tokeniser without padding and truncation, and the ids of its special tokens."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(serialized)
    tokenizer.no_padding()
    tokenizer.no_truncation()
    ids = []
    for name in ("[CLS]", "[SEP]", "[unused0]", "[PAD]"):
        if (token_id := tokenizer.token_to_id(name)) is None:
            raise InputError(f"the tokeniser has no special token {name}, which is required")
        ids.append(token_id)
    return tokenizer.to_str(), SpecialTokens(*ids)


def _check_positions(bi: BiEncoder, cross: CrossEncoder, limits: AptnessLimits) -> None:
    for network, needed in ((bi, limits.utterance_tokens), (cross, limits.context_tokens + limits.reply_tokens + 3)):
        config = network.trunk.config
        positions = config.max_position_embeddings - (config.pad_token_id + 1 if config.model_type == MPNET else 0)
        if positions < needed:
            raise InputError(f"a trunk with {positions} positions cannot read {needed} tokens")


def _read_shape(trunk: Any) -> dict[str, Any]:
    """Return what rebuilds a trunk; a BERT needs no name of its type, which is the default."""
    if trunk.config.model_type != MPNET:
        return {key: getattr(trunk.config, key) for key in _SHAPE_KEYS}
    keys = (*(key for key in _SHAPE_KEYS if key != "type_vocab_size"), "relative_attention_num_buckets")
    return {"model_type": MPNET, **{key: getattr(trunk.config, key) for key in keys}}
