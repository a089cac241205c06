"""Stores of computed values: one line per value, under a digest of everything that decides it.

A file grows batch by batch, so a killed command loses only one batch. An incomplete or damaged line is skipped, and its
value is computed again. Files from another machine (with a GPU, for example) can be read too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from rejoinder.augmentation.inference import TailGenerator
from rejoinder.augmentation.paraphrase import BackTranslation, Paraphraser
from rejoinder.files import sha256_of_bytes
from rejoinder.keyed_store import LineStore, Value
from rejoinder.models.delorean.decoder import DeloreanTask
from rejoinder.paths import cache_home


def digest_parts(parts: Sequence[object]) -> str:
    """Return the key of a value: the digest of what decides it."""
    try:
        text = orjson.dumps(parts).decode()
    except TypeError:  # lone surrogates are not valid JSON
        text = repr(parts)
    return sha256_of_bytes(text.encode("utf-8", "surrogatepass"))[:32]


class ValueStore(LineStore[Value]):
    """The last value of each key: one file to add to, and others that are only read.

    ``from_fields`` makes a value from the fields of a line; ``what`` names the values in errors.
    """

    def __init__(self, from_fields: Callable[[dict[str, Any]], Value], what: str, path: Path, *others: Path) -> None:
        super().__init__(path, what)
        self._from_fields = from_fields
        for file in (*others, path):
            if file.exists() or file is not path:
                self.include(file)

    def parse(self, key: str, fields: dict[str, Any]) -> Value:
        """Return the value of a line."""
        return self._from_fields(fields)

    def get(self, key: str) -> Value | None:
        """Return the value of a key, the last one where there are several."""
        return next(reversed(self.get_all(key)), None)

    def put(self, rows: Iterable[tuple[str, Value]]) -> None:
        """Add values, and write them to disk at once."""
        self.append(dict(rows))


class TextLikelihood(NamedTuple):
    """How likely a text is in its context: the mean and the lowest log-probability of its tokens."""

    mean: float
    worst: float


class Adaptation(NamedTuple):
    """An adapted text (None: not adapted), and how likely it was before and is now (None: it has no tokens)."""

    text: str | None
    rounds: int = 0
    before: TextLikelihood | None = None
    after: TextLikelihood | None = None

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Adaptation:
        """Return the adaptation in a line of a file."""
        likely = {name: TextLikelihood(*record.pop(name)) for name in ("before", "after") if record.get(name)}
        return cls(**{**record, **likely})


def adaptation_key(signature: str, job: DeloreanTask) -> str:
    """Return the key of an adaptation: the digest of everything that decides it."""
    return digest_parts([signature, job.text, *((turn.speaker or "", turn.text) for turn in job.context)])


class AdaptationStore(ValueStore[Adaptation]):
    """Adaptations by key: one file to add to, and others that are only read."""

    def __init__(self, path: Path, *others: Path) -> None:
        super().__init__(Adaptation.from_record, "adaptations", path, *others)


TAILS_VERSION = 1  # of how tails are written: with another version they are written again
PARAPHRASES_VERSION = 1
_PARAPHRASED = 50  # texts at once
_BATCH_SIZE = 16  # heads that a killed command may lose


class EventTails(NamedTuple):
    """The tails of an event and a relation, best first."""

    tails: Sequence[str]


class CachedTails:
    """A generator with cached tails; ``signature`` is everything that decides them besides event and relation."""

    def __init__(self, open_generator: Callable[[], TailGenerator], signature: str, path: Path) -> None:
        self._open = open_generator
        self._signature = signature
        self._store = ValueStore(lambda fields: EventTails(**fields), "tails", path)

    def tails(self, heads: Sequence[str], relation: str, n: int = 5) -> list[list[str]]:
        """Return up to n tails of each event and a relation, best first; only those not in the cache are generated."""
        keys = {head: digest_parts([self._signature, relation, n, head]) for head in heads}
        missing = [head for head, key in keys.items() if self._store.get(key) is None]
        for start in range(0, len(missing), _BATCH_SIZE):
            part = missing[start : start + _BATCH_SIZE]
            outputs = self._open().tails(part, relation, n)
            self._store.put((keys[head], EventTails(texts)) for head, texts in zip(part, outputs, strict=True))
        return [list(cached.tails) if (cached := self._store.get(keys[head])) else [] for head in heads]


def cached_comet() -> CachedTails:
    """Return the package's own COMET with cached tails."""
    from rejoinder.models.comet import model
    from rejoinder.models.language_model import lora_folder

    card = lora_folder.read_lora_card(model.SHIPPED_FOLDER, model.COMET_LORA)
    signature = f"{TAILS_VERSION} {card.base} {card.base_digest} {card.parts}"
    path = cache_home() / "tails" / f"comet-{card.parts[:12]}-{card.base_digest[:12]}.jsonl"
    return CachedTails(model.open_comet, signature, path)


class TextParaphrases(NamedTuple):
    """The paraphrases of a text."""

    texts: Sequence[str]


class CachedParaphrases:
    """A method of paraphrasing with cached results; ``signature`` is everything that decides them besides the text.

    ``at_once`` is how many texts a killed command may lose.
    """

    def __init__(
        self, open_method: Callable[[], Paraphraser], signature: str, path: Path, at_once: int = _PARAPHRASED
    ) -> None:
        self._at_once = at_once
        self._open = open_method
        self._signature = signature
        self._store = ValueStore(lambda fields: TextParaphrases(**fields), "paraphrases", path)

    def write(self, texts: Sequence[str], count: int) -> list[list[str]]:
        """Return up to ``count`` paraphrases of each text; only those not in the cache are written."""
        keys = {text: digest_parts([self._signature, count, text]) for text in texts}
        missing = [text for text, key in keys.items() if self._store.get(key) is None]
        for start in range(0, len(missing), self._at_once):
            part = missing[start : start + self._at_once]
            outputs = self._open().write(part, count)
            self._store.put((keys[text], TextParaphrases(others)) for text, others in zip(part, outputs, strict=True))
        return [list(cached.texts) if (cached := self._store.get(keys[text])) else [] for text in texts]


def cached_back_translation(method: BackTranslation, at_once: int = _PARAPHRASED) -> CachedParaphrases:
    """Return back-translation with cached paraphrases."""
    path = cache_home() / "paraphrases" / "back-translation-opus-mt-fr.jsonl"
    return CachedParaphrases(lambda: method, f"{PARAPHRASES_VERSION} {method!r}", path, at_once)
