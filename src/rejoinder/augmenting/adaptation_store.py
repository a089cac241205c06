"""Adaptations that were computed before: a line each, under a digest of the model, the settings, the context and text.

One file a model in ``<cache>/adaptations``, added to batch by batch, so that a killed command loses one batch. A line
that was torn or damaged is adapted anew. A file that was made elsewhere (on a machine with a GPU) can be read as well.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from rejoinder.errors import RunError
from rejoinder.models.delorean import Job


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


def key_of(signature: str, job: Job) -> str:
    """What decides an adaptation, as one digest."""
    parts = [signature, job.text, *((turn.speaker or "", turn.text) for turn in job.context)]
    text = orjson.dumps(parts).decode() if _is_text(parts) else repr(parts)  # half characters are no JSON
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class AdaptationStore:
    """Adaptations by key: a file that grows, and files that are only read."""

    def __init__(self, path: Path, *others: Path) -> None:
        self.path = path
        self._known: dict[str, Adaptation] = {}
        for file in (*others, path):
            if file.exists() or file is not path:
                self._read(file)

    def get(self, key: str) -> Adaptation | None:
        """What is kept under a key."""
        return self._known.get(key)

    def put(self, found: Iterable[tuple[str, Adaptation]]) -> None:
        """Keep some adaptations, on disk at once."""
        rows = dict(found)
        self._known.update(rows)
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
                f"{self.path}: adaptations cannot be kept there ({error.strerror}); free some space, or move the cache "
                "with REJOINDER_CACHE"
            ) from None

    def _read(self, file: Path) -> None:
        try:
            lines = file.read_bytes().splitlines()
        except OSError as error:
            raise RunError(f"{file}: adaptations cannot be read there ({error.strerror})") from None
        for line in lines:
            try:
                record = orjson.loads(line)
                key = str(record.pop("key"))
                self._known[key] = Adaptation.of(record)
            except (orjson.JSONDecodeError, TypeError, AttributeError, KeyError):
                continue


def _is_text(parts: object) -> bool:
    try:
        orjson.dumps(parts)
    except TypeError:
        return False
    return True
