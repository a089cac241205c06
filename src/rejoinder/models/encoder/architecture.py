"""What a transformers folder says about its encoder: the longest text, and how tokens become one vector."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from rejoinder.errors import InputError
from rejoinder.files import sha256_of
from rejoinder.models.card import join_digests
from rejoinder.models.encoder.card import Pooling

_UNSET = 10**9  # tokenisers write a huge number if they have no limit


@dataclass(frozen=True)
class EncoderShape:
    """What the files next to the weights determine."""

    max_tokens: int
    pooling: Pooling
    padding: int


def read_encoder_shape(folder: Path) -> EncoderShape:
    """Return the shape of the encoder in a transformers or sentence-transformers folder."""
    config = _read_json(folder / "config.json", required=True)
    positions = int(config.get("max_position_embeddings", 512))
    if config.get("model_type") in ("roberta", "xlm-roberta", "camembert", "mpnet"):
        positions -= 2  # these count positions from the padding id
    limits = [
        _read_json(folder / "sentence_bert_config.json").get("max_seq_length"),
        _read_json(folder / "tokenizer_config.json").get("model_max_length"),
        positions,
    ]
    max_tokens = next(int(limit) for limit in limits if limit and limit < _UNSET)
    pooling = _read_json(folder / "1_Pooling" / "config.json")
    is_first = bool(pooling.get("pooling_mode_cls_token")) or pooling.get("pooling_mode") == "cls"
    unsupported = [
        key
        for key, value in pooling.items()
        if key.startswith("pooling_mode_") and value is True and key not in _POOLING_KEYS
    ]
    if unsupported:
        raise InputError(
            f"{folder}: pools by {', '.join(unsupported)}; only the mean and the first token are supported"
        )
    return EncoderShape(
        min(max_tokens, positions), "first" if is_first else "mean", int(config.get("pad_token_id") or 0)
    )


_POOLING_KEYS = ("pooling_mode_cls_token", "pooling_mode_mean_tokens")


def weights_digest(folder: Path) -> str:
    """Return the sha256 of a folder's only weights file; of several, a digest of them and the configuration."""
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        raise InputError(f"{folder}: has no *.safetensors; weights in other files (pickles) are not opened")
    digests = [sha256_of(path) for path in [*weights, folder / "config.json"]]
    return digests[0] if len(weights) == 1 else join_digests(*digests)


def _read_json(path: Path, required: bool = False) -> dict[str, Any]:
    try:
        content = orjson.loads(path.read_bytes())
    except OSError:
        if required:
            raise InputError(f"{path}: no such file; a transformers folder needs one") from None
        return {}
    except ValueError as error:
        raise InputError(f"{path}: is not JSON ({error})") from None
    return content if isinstance(content, dict) else {}
