"""The folder of a LoRA: what was added to a language model, and to which model.

``additions.safetensors`` contains the thin matrices in half precision; the card says to which weights they belong and
where they come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rejoinder.errors import InputError, MissingExtraError
from rejoinder.files import sha256_of_bytes
from rejoinder.model_use import ModelUse, record_use
from rejoinder.models.card import read_model_card, write_model_card
from rejoinder.models.catalog.manifest import is_from_origin
from rejoinder.models.language_model.model import LanguageModel, describe_language_model, load_language_model

WEIGHTS_FILE = "additions.safetensors"
FORMAT = 1


@dataclass(frozen=True)
class LoraKind:
    """A kind of LoRA: its name, the file of its card, and the command that trains one."""

    name: str
    card: str
    cure: str


@dataclass(frozen=True)
class LoraCard:
    """Which language model a folder adds to, and where the addition comes from."""

    base: str
    base_digest: str
    parts: str  # sha256 of the additions
    about: dict[str, Any] = field(default_factory=dict)  # recipe, data, licence, measured
    format: int = FORMAT


def read_lora_card(folder: Path, kind: LoraKind) -> LoraCard:
    """Return the card of a folder."""
    return read_model_card(folder / kind.card, LoraCard, kind.name, f"train one with: {kind.cure}")


def write_lora(
    folder: Path, kind: LoraKind, parts: Mapping[str, Any], base: LanguageModel, about: Mapping[str, Any]
) -> LoraCard:
    """Write a folder: the matrices in half precision, then the card."""
    import torch
    from safetensors.torch import save

    folder.mkdir(parents=True, exist_ok=True)
    content = save({name: part.to(torch.float16).contiguous() for name, part in sorted(parts.items())})
    (folder / WEIGHTS_FILE).write_bytes(content)
    card = LoraCard(base.name, base.digest, sha256_of_bytes(content), dict(about))
    write_model_card(folder / kind.card, card)
    return card


def record_lora(card: LoraCard, kind: LoraKind) -> None:
    """Say that an addition is used, and the language model that it adds to."""
    record_use(ModelUse.of(kind.name, str(card.about.get("licence", "")), card.parts))
    record_use(describe_language_model(card.base, card.base_digest))


def open_lora(folder: Path, kind: LoraKind, device: Any = None) -> tuple[LanguageModel, LoraCard]:
    """Return a new copy of the card's language model with the addition merged into it, and the card."""
    card = read_lora_card(folder, kind)
    model = load_language_model(card.base, device=device)
    try:
        from safetensors.torch import load

        from rejoinder.models.language_model.lora import merge_lora
    except ImportError as error:
        raise MissingExtraError(error.name or "torch", "torch", kind.name) from None
    try:
        content = (folder / WEIGHTS_FILE).read_bytes()
    except OSError as error:
        raise InputError(f"{folder / WEIGHTS_FILE}: cannot be read ({error.strerror})") from None
    if sha256_of_bytes(content) != card.parts:
        raise InputError(f"{folder / WEIGHTS_FILE}: does not match its card; get or train it again")
    # The same published weights, converted with other library versions or on another machine, have another digest.
    if model.digest != card.base_digest and not is_from_origin(card.base):
        raise InputError(
            f"{folder}: was trained on different weights of {card.base} (digest {card.base_digest[:12]}, here "
            f"{model.digest[:12]}); train it again: {kind.cure}"
        )
    merge_lora(model.network, {name: part.float() for name, part in load(content).items()})
    return model, card
