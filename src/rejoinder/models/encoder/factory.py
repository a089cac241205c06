"""Encoders by name: from the catalog, an exported folder, or a transformers folder; each with a cache of vectors."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, cast

from rejoinder.errors import SpecError, nearest
from rejoinder.model_use import ModelUse, record_use
from rejoinder.models import aptness_card as card
from rejoinder.models.base import Encoder
from rejoinder.models.catalog.entries import MODELS
from rejoinder.models.catalog.entry import Shipped
from rejoinder.models.catalog.manifest import ModelMissingError, require_model
from rejoinder.models.encoder import card as cards
from rejoinder.models.encoder.cache import CachedEncoder
from rejoinder.models.weight_sets import WeightSet, default_set, set_of, weights_folder
from rejoinder.paths import cache_home
from rejoinder.spec import check_choice

HUB_PREFIX = "hf:"
_CONFIG = "config.json"


def load_encoder(name: str, cache: bool = True) -> Encoder:
    """Load an encoder by name.

    - ``name``: a name in the catalog (``aptness``, ``minilm``), ``aptness:SET`` with a set of weights, an exported
      folder, a transformers folder, or ``hf:NAME``: a folder or a catalog name to be read with transformers (any
      layer), or a model in the hub's local cache.
    - ``cache``: whether vectors are stored in the cache.

    >>> import rejoinder
    >>> rejoinder.models.load_encoder("aptness").encode(["How are you?"]).shape
    (1, 384)
    """
    encoder, use = _open_encoder(name)
    record_use(use)
    return CachedEncoder(encoder, cache_home() / "embeddings") if cache else encoder


def describe_encoder(name: str) -> ModelUse:
    """Return the name, the licence and the digest of an encoder; of one with a card for several networks, all of it."""
    return _open_encoder(name).use


class _OpenedEncoder(NamedTuple):
    encoder: Encoder
    use: ModelUse


def _open_encoder(name: str) -> _OpenedEncoder:
    folder, mark = find_encoder_folder(name)
    return _open_encoder_folder(name, folder, mark, (folder / mark).stat().st_mtime_ns)


def name_in_set(name: str, weights: WeightSet) -> str:
    """Return the name of a shipped encoder with the weights of a set; the plain name where these are the default."""
    return name if weights == default_set() else f"{name}:{weights}"


def find_encoder_folder(name: str) -> tuple[Path, str]:
    """Return the folder of an encoder, and the file that shows of what kind it is."""
    plain = name.removeprefix(HUB_PREFIX)
    shipped, _, weights = plain.partition(":")
    if shipped in MODELS and isinstance(MODELS[shipped].origin, Shipped) and weights:
        check_choice(shipped, "weights", weights, WeightSet)
        folder = weights_folder(shipped, cast(WeightSet, weights))
    elif plain in MODELS:
        if MODELS[plain].kind != "encoder":
            raise SpecError(f"{plain!r} is of kind {MODELS[plain].kind}, not an encoder; {_suggest_name(plain)}")
        folder = require_model(plain)
    elif Path(plain).is_dir():
        folder = Path(plain)
    elif plain != name:
        from rejoinder.models.catalog.hub import find_in_hub_cache

        cached = find_in_hub_cache(plain)
        if cached is None:
            raise ModelMissingError(plain)
        folder = cached
    else:
        raise SpecError(f"no encoder and no folder is called {name!r}; {_suggest_name(name)}")
    # "hf:" means transformers if a folder can be read in two ways.
    for mark in (_CONFIG,) if plain != name else (cards.CARD_FILE, card.CARD_FILE, _CONFIG):
        if (folder / mark).is_file():
            return folder, mark
    if (folder / card.CARD_FILE).is_file():
        raise SpecError(f"{plain!r} cannot be read with transformers; leave out {HUB_PREFIX!r}")
    raise SpecError(f"{folder}: has neither {cards.CARD_FILE} (an exported encoder) nor {_CONFIG} (transformers)")


@lru_cache(maxsize=4)
def _open_encoder_folder(name: str, folder: Path, mark: str, changed: int) -> _OpenedEncoder:
    """Open an encoder, once per process unless its folder changes."""
    if mark == card.CARD_FILE:
        from rejoinder.models.encoder.aptness import AptnessEncoder

        networks = card.read_aptness_card(folder)
        weights = set_of(folder)
        plain = name if weights is None else name.partition(":")[0]
        use = ModelUse.of(plain, networks.licence, networks.digest(), weights)
        return _OpenedEncoder(AptnessEncoder(folder, name), use)
    encoder: Encoder
    if mark == cards.CARD_FILE:
        from rejoinder.models.encoder.onnx import OnnxEncoder

        encoder, licence = OnnxEncoder(folder, name), cards.read_encoder_card(folder).licence
    else:
        from rejoinder.models.encoder.transformers import TransformersEncoder

        plain = name.removeprefix(HUB_PREFIX)
        encoder, licence = TransformersEncoder(folder, name), MODELS[plain].licence if plain in MODELS else ""
    return _OpenedEncoder(encoder, ModelUse.of(name, licence, encoder.digest))


def _suggest_name(name: str) -> str:
    return nearest(name, [model.name for model in MODELS.values() if model.kind == "encoder"])
