"""What identifies the model in a folder: its card, a JSON file that is written last, and digests of its files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, is_dataclass, replace
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, TypeVar

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


class Card(Protocol):
    """A dataclass of what a card says; ``format`` is the one that this version reads."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def format(self) -> int: ...


AnyCard = TypeVar("AnyCard", bound=Card)


def write_model_card(path: Path, card: Card) -> None:
    """Write a card as indented JSON with sorted keys; the same card gives the same bytes."""
    option = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    # Slicing a named tuple, which orjson does not write, gives a plain one.
    path.write_bytes(orjson.dumps(asdict(card), default=itemgetter(slice(None)), option=option))


def write_small_model(path: Path, tensors: Path, card: Card, weights: Mapping[str, NDArray[Any]]) -> None:
    """Write weights in half precision, then the card with their digest; the same model gives the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_tensors(tensors, {name: array.astype(np.float16) for name, array in weights.items()})
    write_model_card(path, replace(card, weights=sha256_of(tensors)))


def load_card(path: Path, hint: str) -> Any:
    """Return what a card holds; raise with a hint where it cannot be read or is not JSON."""
    try:
        return orjson.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); {hint}") from None
    except ValueError as error:
        raise InputError(f"{path}: is not JSON ({error}); {hint}") from None


def read_model_card(
    path: Path,
    card: type[AnyCard],
    what: str,
    hint: str,
    parts: Mapping[str, Callable[..., Any]] = MappingProxyType({}),
    kinds: Collection[str] = (),
) -> AnyCard:
    """Return a card, of one of some kinds; raise with a hint where it is missing, damaged or of another format.

    ``parts`` are what some keys hold: a dataclass, or a function that makes the value from what JSON has.
    """
    content, version = load_card(path, hint), card.__dataclass_fields__["format"].default
    is_ours = isinstance(content, dict) and content.get("format") == version
    if not is_ours or (kinds and content.get("kind") not in kinds):
        raise InputError(f"{path}: is not the card of {what} in format {version}; {hint}")
    try:
        made = {key: make(**content[key]) if is_dataclass(make) else make(content[key]) for key, make in parts.items()}
        return card(**{**content, **made})
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InputError(f"{path}: is not the card of {what} (a key is missing or wrong); {hint}") from None


def check_card_files(folder: Path, digests: Mapping[str, str], hint: str) -> None:
    """Raise with a hint where a file of a folder has another digest than its card says."""
    for name, expected in digests.items():
        try:
            digest = sha256_of(folder / name)
        except InputError as error:
            raise InputError(f"{error}; {hint}") from None
        if digest != expected:
            raise InputError(f"{folder / name}: does not match its card (sha256 {digest[:12]}…); {hint}")


def check_model_files(card: Path, tensors: Path, card_digests: tuple[str, str], vectors: Any, hint: str) -> None:
    """Raise where the vectors of a model or its weights are not those of its card (digests of vectors and weights)."""
    features, weights = card_digests
    if vectors.digest != features:
        raise InputError(
            f"{card}: was trained on different vectors of {vectors.name!r} (digest {features[:12]}, here "
            f"{vectors.digest[:12]}); {hint}"
        )
    check_card_files(tensors.parent, {tensors.name: weights}, hint)


def join_digests(*parts: object) -> str:
    """Return one sha256 of several parts (digests, names, numbers), in order."""
    return sha256_of_parts(parts)


def folder_digest(folder: Path) -> str:
    """Return a sha256 over the names and contents of all files of a transformers folder that determine a score."""
    digest = hashlib.sha256()
    for path in sorted({path for pattern in _TRANSFORMERS_FILES for path in folder.glob(pattern)}):
        digest.update(f"{path.name} {sha256_of(path)}\n".encode())
    return digest.hexdigest()
