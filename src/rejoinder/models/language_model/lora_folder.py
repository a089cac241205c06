"""The folder of a low-rank addition: what a language model was taught, and which model that was.

``additions.safetensors`` holds the thin matrices in half precision, the card says on which weights they belong, and
from what they come.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

from rejoinder.errors import InputError, MissingExtraError
from rejoinder.files import sha256_of_bytes
from rejoinder.models.language_model.model import LanguageModel, load_language_model

WEIGHTS_FILE = "additions.safetensors"
FORMAT = 1


@dataclass(frozen=True)
class LoraKind:
    """A kind of addition: its name, the file of its card, and the command that makes one."""

    name: str
    card: str
    cure: str


@dataclass(frozen=True)
class LoraCard:
    """What a folder adds to which language model, and where that comes from."""

    base: str
    base_digest: str
    parts: str  # sha256 of the additions
    about: dict[str, Any] = field(default_factory=dict)  # recipe, data, licence, measured
    format: int = FORMAT


def read_card(folder: Path, kind: LoraKind) -> LoraCard:
    """The card of a folder."""
    path = folder / kind.card
    try:
        card = LoraCard(**orjson.loads(path.read_bytes()))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); train one with: {kind.cure}") from None
    except (ValueError, TypeError):
        raise InputError(f"{path}: is not a card of {kind.name}; train it again: {kind.cure}") from None
    if card.format != FORMAT:
        raise InputError(f"{path}: has the format {card.format}, not {FORMAT}; train it again: {kind.cure}")
    return card


def write_lora(
    folder: Path, kind: LoraKind, parts: Mapping[str, Any], base: LanguageModel, about: Mapping[str, Any]
) -> LoraCard:
    """Write a folder: the additions in half precision, then the card."""
    import torch
    from safetensors.torch import save

    folder.mkdir(parents=True, exist_ok=True)
    whole = save({name: part.to(torch.float16).contiguous() for name, part in sorted(parts.items())})
    (folder / WEIGHTS_FILE).write_bytes(whole)
    card = LoraCard(base.name, base.digest, sha256_of_bytes(whole), dict(about))
    option = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    (folder / kind.card).write_bytes(orjson.dumps(asdict(card), option=option))
    return card


def open_lora(folder: Path, kind: LoraKind, device: Any = None) -> tuple[LanguageModel, LoraCard]:
    """The language model of a folder's card with the addition in its matrices; a fresh copy of the model each time."""
    card = read_card(folder, kind)
    model = load_language_model(card.base, device=device)
    try:
        from safetensors.torch import load

        from rejoinder.models.language_model.lora import merge_lora
    except ImportError as error:
        raise MissingExtraError(error.name or "torch", "torch", kind.name) from None
    try:
        whole = (folder / WEIGHTS_FILE).read_bytes()
    except OSError as error:
        raise InputError(f"{folder / WEIGHTS_FILE}: cannot be read ({error.strerror})") from None
    if sha256_of_bytes(whole) != card.parts:
        raise InputError(f"{folder / WEIGHTS_FILE}: is not the file of its card; get or train it again")
    if model.digest != card.base_digest:
        raise InputError(
            f"{folder}: was trained on other weights of {card.base} (digest {card.base_digest[:12]}, here "
            f"{model.digest[:12]}); train it again: {kind.cure}"
        )
    merge_lora(model.network, {name: part.float() for name, part in load(whole).items()})
    return model, card
