"""What identifies the model in a folder: its card, a JSON file that is written last, and digests of its files."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from rejoinder.errors import InputError
from rejoinder.files import sha256_of, sha256_of_parts
from rejoinder.models.tensors import write_tensors

# What determines a score: weights, configuration, tokeniser and chat template; not model cards or licences.
_TRANSFORMERS_FILES = (
    *("*.safetensors", "*.safetensors.index.json", "config.json", "generation_config.json"),
    *("tokenizer*.json", "special_tokens_map.json", "added_tokens.json", "vocab.*", "merges.txt", "*.model", "*.jinja"),
)


def write_model_card(path: Path, content: Mapping[str, Any]) -> None:
    """Write a card as indented JSON with sorted keys; the same content gives the same bytes."""
    option = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    path.write_bytes(orjson.dumps(content, option=option))


def write_small_model(
    card: Path, tensors: Path, content: Mapping[str, Any], weights: Mapping[str, NDArray[Any]]
) -> None:
    """Write weights in half precision, then the card with their digest; the same model gives the same bytes."""
    card.parent.mkdir(parents=True, exist_ok=True)
    write_tensors(tensors, {name: array.astype(np.float16) for name, array in weights.items()})
    write_model_card(card, {**content, "weights": sha256_of(tensors)})


def load_card(path: Path, hint: str) -> Any:
    """Return what a card holds; raise with a hint where it cannot be read or is not JSON."""
    try:
        return orjson.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); {hint}") from None
    except ValueError as error:
        raise InputError(f"{path}: is not JSON ({error}); {hint}") from None


def read_model_card(path: Path, kinds: Collection[str], what: str, hint: str, format: int = 1) -> dict[str, Any]:
    """Return a card of one of some kinds; raise with a hint where it is missing, damaged or of another format."""
    content = load_card(path, hint)
    if not isinstance(content, dict) or content.get("format") != format or content.get("kind") not in kinds:
        raise InputError(f"{path}: is not the card of {what} in format {format}; {hint}")
    return content


def check_model_files(card: Path, tensors: Path, card_digests: tuple[str, str], vectors: Any, hint: str) -> None:
    """Raise where the vectors of a model or its weights are not those of its card (digests of vectors and weights)."""
    features, weights = card_digests
    if vectors.digest != features:
        raise InputError(
            f"{card}: was trained on different vectors of {vectors.name!r} (digest {features[:12]}, here "
            f"{vectors.digest[:12]}); {hint}"
        )
    if (digest := sha256_of(tensors)) != weights:
        raise InputError(f"{tensors}: does not match its card (sha256 {digest[:12]}…, not {weights[:12]}…); {hint}")


def join_digests(*parts: object) -> str:
    """Return one sha256 of several parts (digests, names, numbers), in order."""
    return sha256_of_parts(parts)


def folder_digest(folder: Path) -> str:
    """Return a sha256 over the names and contents of all files of a transformers folder that determine a score."""
    digest = hashlib.sha256()
    for path in sorted({path for pattern in _TRANSFORMERS_FILES for path in folder.glob(pattern)}):
        digest.update(f"{path.name} {sha256_of(path)}\n".encode())
    return digest.hexdigest()
