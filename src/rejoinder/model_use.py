"""Which models a computation uses, with their licences: recorded as each model is opened."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from typing import Any

UNKNOWN_LICENCE = "not known"


@dataclass(frozen=True)
class ModelUse:
    """A model that was opened: its name, licence and digest, and the set of weights that it belongs to, if any."""

    name: str
    licence: str
    digest: str
    weights: str | None = None

    @classmethod
    def of(cls, name: str, licence: str, digest: str, weights: str | None = None) -> ModelUse:
        """Return the use of a model, given its whole digest; a licence that is not known may be empty."""
        return cls(name, licence or UNKNOWN_LICENCE, digest[:12], weights)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> ModelUse:
        """Return the use that ``run.json`` describes; keys of later versions are not read."""
        return cls(content["name"], content["licence"], content["digest"], content.get("weights"))

    @property
    def is_noncommercial(self) -> bool:
        """Whether the licence forbids commercial use."""
        return "NC" in re.split(r"[^A-Za-z]+", self.licence)

    def __str__(self) -> str:
        weights = f"weights {self.weights}, " if self.weights else ""
        return f"{self.name} ({weights}{format_licence(self.licence)}, {self.digest})"

    def to_json(self) -> dict[str, Any]:
        """Return the use as ``run.json`` has it."""
        return {key: value for key, value in asdict(self).items() if value is not None}


_records: ContextVar[tuple[dict[ModelUse, None], ...]] = ContextVar("records", default=())


@contextmanager
def record_models() -> Iterator[dict[ModelUse, None]]:
    """Collect the models that are opened within a block, each once, in order."""
    record: dict[ModelUse, None] = {}
    token = _records.set((*_records.get(), record))
    try:
        yield record
    finally:
        _records.reset(token)


def record_use(use: ModelUse) -> None:
    """Say that a model is opened, whether or not it was open before."""
    for record in _records.get():
        record[use] = None


def format_licence(licence: str) -> str:
    """Return a licence as people write it: ``CC BY-NC-SA 4.0`` rather than ``CC-BY-NC-SA-4.0``."""
    return re.sub(r"\bCC-(BY[A-Z-]*)-(\d)", r"CC \1 \2", licence)


def describe_restrictions(metrics: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return which metrics of a run, as ``run.json`` has them, are not for commercial use: a sentence per licence."""
    from rejoinder.table import join_names

    names: dict[str, dict[str, None]] = {}
    for metric in metrics:
        for use in map(ModelUse.from_json, metric.get("models", ())):
            if use.is_noncommercial:
                names.setdefault(use.licence, {})[metric["spec"].partition("(")[0]] = None
    return [
        f"{join_names(list(users))} {'uses' if len(users) == 1 else 'use'} weights licensed {format_licence(licence)}: "
        "not for commercial use"
        for licence, users in names.items()
    ]
