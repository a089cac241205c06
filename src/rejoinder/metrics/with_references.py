"""Any metric that uses references, restricted to references from some sources."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from rejoinder.errors import SpecError
from rejoinder.metric import NAN, Metric, SetMetric, parse, signature
from rejoinder.metrics._references import matches_source
from rejoinder.types import Pair, Reference


@dataclass(frozen=True)
class WithReferences(Metric):
    """Another metric, restricted to the references from some sources, e.g. "human+retrieval".

    A name includes sources that begin with it: "commonsense" includes "commonsense/atomic", and "human" includes
    "human-edited". NaN if no reference is left.
    """

    metric: str = "bleu"
    sources: str = "human"

    needs = frozenset({"references"})
    citation = "that of the other metric"

    def __post_init__(self) -> None:
        inner = self._inner
        names = sorted({name.strip() for name in self.sources.split("+")})
        if not all(names):
            raise SpecError(f"with_references: sources must be names joined by '+', not {self.sources!r}")
        if "references" not in inner.needs or isinstance(inner, SetMetric):
            why = "depends on the whole set" if isinstance(inner, SetMetric) else "uses no references"
            raise SpecError(f"with_references: {inner} {why}; use a metric that compares a reply with references")
        # Another way to write the same metric is the same metric.
        object.__setattr__(self, "metric", str(inner))
        object.__setattr__(self, "sources", "+".join(names))
        for name in ("needs", "languages", "range", "higher_is_better", "decimals"):
            object.__setattr__(self, name, getattr(inner, name))

    @cached_property
    def _inner(self) -> Metric:
        return parse(self.metric)

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the other metric's scores."""
        restricted = self._restrict(pairs)
        scores = iter(self._inner.score([entry.pair for entry in restricted if entry.places]))
        return [next(scores) if entry.places else NAN for entry in restricted]

    def match(self, pairs: Sequence[Pair]) -> list[int | None]:
        """Return the reference that the other metric matched, as an index among all of the item's."""
        restricted = self._restrict(pairs)
        matches = iter(self._inner.match([entry.pair for entry in restricted if entry.places]))
        indices = [next(matches) if entry.places else None for entry in restricted]
        return [
            None if index is None else entry.places[index] for index, entry in zip(indices, restricted, strict=True)
        ]

    def cut(self, pairs: Sequence[Pair]) -> list[bool]:
        """Return which pairs contain a text that is too long for the other metric."""
        restricted = self._restrict(pairs)
        cuts = iter(self._inner.cut([entry.pair for entry in restricted if entry.places]))
        return [next(cuts) if entry.places else False for entry in restricted]

    def details(self) -> dict[str, str]:
        """Return the signature of the other metric."""
        return {"of": signature(self._inner)}

    def _restrict(self, pairs: Sequence[Pair]) -> list[_RestrictedPair]:
        names = self.sources.split("+")
        restricted: list[_RestrictedPair] = []
        seen: tuple[Reference, ...] | None = None
        indices: list[int] = []
        references: tuple[Reference, ...] = ()
        for pair in pairs:
            if pair.item.references is not seen:  # the responses to one item are usually adjacent
                seen = pair.item.references
                indices = [i for i, r in enumerate(seen) if any(matches_source(r.source, name) for name in names)]
                references = tuple(seen[i] for i in indices)
            item = dataclasses.replace(pair.item, references=references)
            restricted.append(_RestrictedPair(dataclasses.replace(pair, item=item), indices))
        return restricted


class _RestrictedPair(NamedTuple):
    """A pair with some of its references, and their indices among all."""

    pair: Pair
    places: list[int]
