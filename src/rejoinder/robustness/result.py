"""What an attack on metrics finds: figures with intervals, the worst cases, and how both are written down."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rejoinder.robustness.variants import Kind
from rejoinder.stats.interval import Interval


@dataclass(frozen=True)
class Outcome:
    """One figure: a metric under one trial, in a corpus or (None) in the mean over corpora.

    ``value`` is, of an attack, the share of contexts whose true reply wins, ties counting half; of an edit, the mean
    absolute change in units of the metric's range (where it has none, of its interquartile range over true replies).
    ``beside`` is an attack's share of ties, or an edit's mean signed change, positive where the edit makes the score
    better. ``left_out`` contexts have no such text; ``value.n_missing`` have one but no score.
    """

    metric: str
    kind: Kind
    trial: str
    corpus: str | None
    value: Interval
    beside: float
    left_out: int


@dataclass(frozen=True)
class Example:
    """A case in which a metric did badly: the true reply, the other text, and both scores."""

    metric: str
    kind: Kind
    trial: str
    corpus: str
    exchange: str
    context: tuple[str, ...]
    reply: str
    text: str
    reply_score: float
    text_score: float


@dataclass(frozen=True)
class About:
    """What must be known of a metric to read its figures; ``unit`` is what changes are divided by."""

    signature: str
    range: tuple[float, float]
    higher_is_better: bool | None
    unit: float

    @property
    def bounded(self) -> bool:
        """Whether the unit is the range; else it is the interquartile range over true replies."""
        return all(map(math.isfinite, self.range))


@dataclass(frozen=True)
class Robustness:
    """The figures and the worst cases of one or several metrics."""

    metrics: dict[str, About]
    contexts: dict[str, int]
    plan: dict[str, Any]
    outcomes: Sequence[Outcome]
    examples: Sequence[Example] = ()
    notes: Sequence[str] = ()

    def outcome(self, metric: str, trial: str, corpus: str | None = None) -> Outcome:
        """The figure of a metric under a trial."""
        for found in self.outcomes:
            if (found.metric, found.trial, found.corpus) == (metric, trial, corpus):
                return found
        raise KeyError((metric, trial, corpus))

    def to_object(self) -> dict[str, Any]:
        """Everything as JSON can hold it; what is not known is null."""
        found: dict[str, Any] = _plain(
            {
                "plan": self.plan,
                "contexts": self.contexts,
                "metrics": {spec: asdict(about) for spec, about in self.metrics.items()},
                "figures": [_figure(one) for one in self.outcomes],
                "examples": [asdict(one) for one in self.examples],
                "notes": list(self.notes),
            }
        )
        return found

    def __str__(self) -> str:
        from rejoinder.robustness.tables import summary_table

        return str(summary_table(self))

    def _repr_html_(self) -> str:
        from rejoinder.robustness.tables import summary_table

        return summary_table(self)._repr_html_()


def _figure(one: Outcome) -> dict[str, Any]:
    value = one.value
    told: dict[str, Any] = {"metric": one.metric, "kind": one.kind, "trial": one.trial, "corpus": one.corpus}
    told |= {"value": value.value, "low": value.low, "high": value.high}
    told |= {"ties" if one.kind == "attack" else "signed": one.beside}
    return told | {"n": value.n, "n_without_score": value.n_missing, "n_left_out": one.left_out}


def _plain(value: Any) -> Any:
    """Values as they are written: six decimals, and null for NaN."""
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value
