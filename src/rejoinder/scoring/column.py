"""A column of a run: a metric's statistic, the reference it matched, or the flags; all computed and cached alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import rejoinder
from rejoinder.contract import Metric
from rejoinder.registry import is_packaged, parse, signature
from rejoinder.scoring import flags, kernel
from rejoinder.scoring.store import EVERYTHING, Store, address, content_of
from rejoinder.types import Pair


@runtime_checkable
class Asking(Protocol):
    """A metric that asks somebody: what was refused once may be answered another time, so it does not stay as it is."""

    def is_open(self, pairs: Sequence[Pair]) -> bool:
        """Whether something about the pairs would be asked again."""
        ...


@dataclass(frozen=True)
class Column:
    """What is computed for each pair of a run."""

    kind: Literal["score", "match", "cut", "flags"]
    metric: Metric | None = None

    @property
    def signature(self) -> str:
        """Everything that decides the column's values, the package's version included."""
        own = f"flags|version:{flags.VERSION}" if self.metric is None else signature(self.metric)
        return f"{self.kind}|{own}|rejoinder:{rejoinder.__version__}"

    @property
    def needs(self) -> frozenset[str]:
        """What of a pair the values may depend on, beside the response's text; of a metric of the user's, all of it."""
        if self.metric is None:
            return frozenset({"truncated"})
        return self.metric.needs if is_packaged(self.metric) else EVERYTHING

    def is_final(self, pairs: Sequence[Pair]) -> bool:
        """Whether values that were kept are all that can be had."""
        return not (self.kind == "score" and isinstance(self.metric, Asking) and self.metric.is_open(pairs))

    def compute(self, pairs: Sequence[Pair]) -> list[Any]:
        """One JSON value a pair."""
        if self.metric is None:
            return list(flags.flags_of(pairs))
        work = {"score": kernel.measure, "match": kernel.match, "cut": kernel.cut}[self.kind]
        return list(work(self.metric, pairs))


@dataclass(frozen=True)
class Kept:
    """Where a column's values for one chunk are kept, and whether they were there already."""

    address: str
    found: bool


def columns_of(specs: Sequence[str], matched: bool = False) -> list[Column]:
    """The columns that specs ask for: one a metric, then matches, cuts and flags."""
    metrics = [parse(spec) for spec in specs]
    matches = [Column("match", m) for m in metrics if matched and "references" in m.needs]
    cuts = [Column("cut", m) for m in metrics if not kernel.reads_whole(m)]
    return [*(Column("score", m) for m in metrics), *matches, *cuts, Column("flags")]


def keep(column: Column, pairs: Sequence[Pair], store: Store, contents: dict[frozenset[str], str]) -> Kept:
    """Compute a column over a chunk unless the store has it for good; ``contents`` are digests of the same chunk."""
    if column.needs not in contents:
        contents[column.needs] = content_of(pairs, column.needs)
    place = address(column.signature, contents[column.needs])
    known = store.get(place)
    if known is not None and len(known) == len(pairs) and column.is_final(pairs):
        return Kept(place, True)
    store.put(place, column.compute(pairs))
    return Kept(place, False)
