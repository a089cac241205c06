"""Values that were computed before, a line each under a digest of all that decided them.

A file grows batch by batch, so that a killed command loses one batch. A line that was torn or damaged is passed over,
and its value computed anew. Files that were made elsewhere (on a machine with a GPU) can be read as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from rejoinder.augmentation.commonsense.inference import TailGenerator
from rejoinder.files import sha256_of_bytes
from rejoinder.keyed_store import LineStore, Value
from rejoinder.models.delorean.decoder import DeloreanTask
from rejoinder.paths import cache_home


def digest_parts(parts: Sequence[object]) -> str:
    """The key of what decides a value."""
    try:
        text = orjson.dumps(parts).decode()
    except TypeError:  # half characters are no JSON
        text = repr(parts)
    return sha256_of_bytes(text.encode("utf-8", "surrogatepass"))[:32]


class ValueStore(LineStore[Value]):
    """The last value of each key: a file that grows, and files that are only read.

    ``of_fields`` makes a value of the fields of a line; ``what`` names the values in errors.
    """

    def __init__(self, of_fields: Callable[[dict[str, Any]], Value], what: str, path: Path, *others: Path) -> None:
        super().__init__(path, what)
        self._of_fields = of_fields
        for file in (*others, path):
            if file.exists() or file is not path:
                self.include(file)

    def parse(self, key: str, fields: dict[str, Any]) -> Value:
        """Return the value of a line."""
        return self._of_fields(fields)

    def get(self, key: str) -> Value | None:
        """Return the value of a key, the last one where there are several."""
        return next(reversed(self.get_all(key)), None)

    def put(self, rows: Iterable[tuple[str, Value]]) -> None:
        """Keep some values, on disk at once."""
        self.append(dict(rows))


class Likelihood(NamedTuple):
    """How likely a text is in its context: the log-probability of a token, on average and at worst."""

    mean: float
    worst: float


class Adaptation(NamedTuple):
    """What a text became (None: left alone), and how likely it was before and is now (None: it has no tokens)."""

    text: str | None
    rounds: int = 0
    before: Likelihood | None = None
    after: Likelihood | None = None

    @classmethod
    def of(cls, record: dict[str, Any]) -> Adaptation:
        """What a line of a file says."""
        likely = {name: Likelihood(*record.pop(name)) for name in ("before", "after") if record.get(name)}
        return cls(**{**record, **likely})


def adaptation_key(signature: str, job: DeloreanTask) -> str:
    """What decides an adaptation, as one digest."""
    return digest_parts([signature, job.text, *((turn.speaker or "", turn.text) for turn in job.context)])


class AdaptationStore(ValueStore[Adaptation]):
    """Adaptations by key: a file that grows, and files that are only read."""

    def __init__(self, path: Path, *others: Path) -> None:
        super().__init__(Adaptation.of, "adaptations", path, *others)


TAILS_VERSION = 1  # of how tails are written: another one writes them anew
_BATCH_SIZE = 16  # heads that a killed command may lose


class Tails(NamedTuple):
    """The tails of an event and a relation, best first."""

    tails: Sequence[str]


class CachedTails:
    """A generator whose tails are kept; ``signature`` is all that decides them beside the question."""

    def __init__(self, open_generator: Callable[[], TailGenerator], signature: str, path: Path) -> None:
        self._open = open_generator
        self._signature = signature
        self._store = ValueStore(lambda fields: Tails(**fields), "tails", path)

    def tails(self, heads: Sequence[str], relation: str, n: int = 5) -> list[list[str]]:
        """Up to n tails of each event and a relation, best first; only what is not known is asked for."""
        keys = {head: digest_parts([self._signature, relation, n, head]) for head in heads}
        missing = [head for head, key in keys.items() if self._store.get(key) is None]
        for start in range(0, len(missing), _BATCH_SIZE):
            part = missing[start : start + _BATCH_SIZE]
            written = self._open().tails(part, relation, n)
            self._store.put((keys[head], Tails(found)) for head, found in zip(part, written, strict=True))
        return [list(found.tails) if (found := self._store.get(keys[head])) else [] for head in heads]


def kept_comet() -> CachedTails:
    """The package's own COMET, its tails kept."""
    from rejoinder.models.comet import model
    from rejoinder.models.language_model import lora_folder

    card = lora_folder.read_card(model.SHIPPED_FOLDER, model.COMET_LORA)
    signature = f"{TAILS_VERSION} {card.base} {card.base_digest} {card.parts}"
    path = cache_home() / "tails" / f"comet-{card.parts[:12]}-{card.base_digest[:12]}.jsonl"
    return CachedTails(model.open_comet, signature, path)
