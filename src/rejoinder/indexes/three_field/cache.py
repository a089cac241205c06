"""The three-field index of a corpus in the cache: built on first use, found by its content afterwards."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from rejoinder.errors import InputError
from rejoinder.indexes.three_field.bm25 import Settings, ThreeFieldIndex
from rejoinder.indexes.three_field.dense import DenseThreeFieldIndex
from rejoinder.indexes.three_field.fields import FieldIndex
from rejoinder.indexes.three_field.hybrid import WEIGHT, HybridThreeFieldIndex
from rejoinder.indexes.three_field.search import EPSILON
from rejoinder.models.base import Encoder
from rejoinder.paths import cache_home
from rejoinder.types import Dialogue

ThreeFieldKind: TypeAlias = Literal["bm25", "dense", "hybrid"]
Dialogues: TypeAlias = Callable[[], Iterable[Dialogue]]
Opened = TypeVar("Opened")

VERSION = 1  # of what an index holds; an index of another version is rebuilt


def open_three_field(
    dialogues: Dialogues,
    kind: ThreeFieldKind = "bm25",
    *,
    digest: str | None = None,
    settings: Settings | None = None,
    epsilon: float = EPSILON,
    encoder: Encoder | None = None,
    weight: float = WEIGHT,
) -> FieldIndex:
    """Return the index of some dialogues, stored in the cache under a digest of them and of the settings.

    ``dialogues`` is called to compute the digest (unless ``digest`` is given, such as that of their file), and again if
    the index must be built. ``encoder`` is for the dense and the hybrid index; the default is `aptness`.
    """
    settings = settings or Settings()
    content = digest or dialogues_digest(dialogues())
    words = vectors = None
    if kind != "dense":
        words = _open_or_build(
            _cache_folder(f"three_field-{content}", settings),
            lambda folder: ThreeFieldIndex.open(folder, epsilon=epsilon),
            lambda folder: ThreeFieldIndex.build(dialogues(), folder, settings=settings, epsilon=epsilon),
        )
    if kind != "bm25":
        vectors = _open_dense(dialogues, content, settings, epsilon, encoder or _load_default_encoder())
    if words is not None and vectors is not None:
        return HybridThreeFieldIndex(words, vectors, weight)
    opened_index = words or vectors
    if opened_index is None:
        raise InputError(f"the kind of a three-field index must be bm25, dense or hybrid, not {kind!r}")
    return opened_index


def _open_dense(
    dialogues: Dialogues, content: str, settings: Settings, epsilon: float, encoder: Encoder
) -> DenseThreeFieldIndex:
    windows = settings.windows()
    return _open_or_build(
        _cache_folder(f"three_field_dense-{content}", (encoder.digest, windows)),
        lambda folder: DenseThreeFieldIndex.open(folder, encoder, epsilon=epsilon),
        lambda folder: DenseThreeFieldIndex.build(dialogues(), folder, encoder, windows=windows, epsilon=epsilon),
    )


def dialogues_digest(dialogues: Iterable[Dialogue]) -> str:
    """Return a digest of the turns of dialogues, their speakers, their order and their splits."""
    digest = hashlib.blake2b(digest_size=12)
    for dialogue in dialogues:
        turns = [(turn.speaker, turn.text) for turn in dialogue.turns]
        digest.update(repr((dialogue.id, dialogue.split, turns)).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()


def _cache_folder(name: str, settings: object) -> Path:
    mark = hashlib.blake2b(repr((VERSION, settings)).encode(), digest_size=4).hexdigest()
    return cache_home() / "indexes" / f"{name[:48]}-{mark}"


def _open_or_build(folder: Path, reopen: Callable[[Path], Opened], build: Callable[[Path], Opened]) -> Opened:
    if folder.is_dir():
        return reopen(folder)
    try:
        return build(folder)
    except InputError:
        if not folder.is_dir():
            raise
        return reopen(folder)  # another process built it in the meantime


def _load_default_encoder() -> Encoder:
    from rejoinder.models.encoder.factory import load_encoder

    return load_encoder("aptness")
