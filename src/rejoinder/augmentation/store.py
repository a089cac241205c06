"""Values that were computed before, a line each under a digest of all that decided them.

A file grows batch by batch, so that a killed command loses one batch. A line that was torn or damaged is passed over,
and its value computed anew. Files that were made elsewhere (on a machine with a GPU) can be read as well.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import orjson

from rejoinder.augmentation.commonsense.inference import TailGenerator
from rejoinder.errors import RunError
from rejoinder.models.delorean.decoder import DeloreanTask
from rejoinder.paths import cache_home


class NamedFields(Protocol):
    """A value with named fields, as a NamedTuple has them."""

    def _asdict(self) -> dict[str, Any]: ...


Value = TypeVar("Value", bound=NamedFields)


def digest_parts(parts: Sequence[object]) -> str:
    """The key of what decides a value."""
    try:
        text = orjson.dumps(parts).decode()
    except TypeError:  # half characters are no JSON
        text = repr(parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class LineStore(Generic[Value]):
    """Values by key: a file that grows, and files that are only read.

    ``parse`` makes a value from the fields of a line; ``noun`` names the values in errors.
    """

    def __init__(self, parse: Callable[[dict[str, Any]], Value], noun: str, path: Path, *others: Path) -> None:
        self.path = path
        self._parse, self._noun = parse, noun
        self._values: dict[str, Value] = {}
        for file in (*others, path):
            if file.exists() or file is not path:
                self._read(file)

    def get(self, key: str) -> Value | None:
        """What is kept under a key."""
        return self._values.get(key)

    def put(self, pairs: Iterable[tuple[str, Value]]) -> None:
        """Keep some values, on disk at once."""
        rows = dict(pairs)
        self._values.update(rows)
        lines = [
            orjson.dumps({"key": key, **one._asdict()}, default=list, option=orjson.OPT_APPEND_NEWLINE)
            for key, one in rows.items()
        ]
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                # What a crash tore off stands on a line of its own, and is passed over.
                file.write(b"\n" * (file.tell() > 0) + b"".join(lines).rstrip(b"\n") + b"\n")
        except OSError as error:
            raise RunError(
                f"{self.path}: {self._noun} cannot be kept there ({error.strerror}); free some space, or move the "
                "cache with REJOINDER_CACHE"
            ) from None

    def _read(self, file: Path) -> None:
        try:
            lines = file.read_bytes().splitlines()
        except OSError as error:
            raise RunError(f"{file}: {self._noun} cannot be read there ({error.strerror})") from None
        for line in lines:
            try:
                record = orjson.loads(line)
                key = str(record.pop("key"))
                self._values[key] = self._parse(record)
            except (TypeError, ValueError, AttributeError, KeyError):
                continue


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
    def from_record(cls, record: dict[str, Any]) -> Adaptation:
        """What a line of a file says."""
        likely = {name: Likelihood(*record.pop(name)) for name in ("before", "after") if record.get(name)}
        return cls(**{**record, **likely})


def adaptation_key(signature: str, job: DeloreanTask) -> str:
    """What decides an adaptation, as one digest."""
    return digest_parts([signature, job.text, *((turn.speaker or "", turn.text) for turn in job.context)])


class AdaptationStore(LineStore[Adaptation]):
    """Adaptations by key: a file that grows, and files that are only read."""

    def __init__(self, path: Path, *others: Path) -> None:
        super().__init__(Adaptation.from_record, "adaptations", path, *others)


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
        self._store = LineStore(lambda fields: Tails(**fields), "tails", path)

    def tails(self, heads: Sequence[str], relation: str, n: int = 5) -> list[list[str]]:
        """Up to n tails of each event and a relation, best first; only what is not known is asked for."""
        keys = {head: digest_parts([self._signature, relation, n, head]) for head in heads}
        missing = [head for head, key in keys.items() if self._store.get(key) is None]
        for start in range(0, len(missing), _BATCH_SIZE):
            part = missing[start : start + _BATCH_SIZE]
            outputs = self._open().tails(part, relation, n)
            self._store.put((keys[head], Tails(texts)) for head, texts in zip(part, outputs, strict=True))
        return [list(cached.tails) if (cached := self._store.get(keys[head])) else [] for head in heads]


def cached_comet() -> CachedTails:
    """The package's own COMET, its tails kept."""
    from rejoinder.models.comet import model
    from rejoinder.models.language_model import lora_folder

    card = lora_folder.read_card(model.SHIPPED_FOLDER, model.COMET_LORA)
    signature = f"{TAILS_VERSION} {card.base} {card.base_digest} {card.parts}"
    path = cache_home() / "tails" / f"comet-{card.parts[:12]}-{card.base_digest[:12]}.jsonl"
    return CachedTails(model.open_comet, signature, path)
