"""The results of an attack on metrics: figures with intervals, the worst cases, both as JSON and as tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rejoinder.probes.variants import TRIALS, TrialKind
from rejoinder.stats.interval import Interval
from rejoinder.table import Cell, Estimate, Table, shorten_text

_LONGEST = 100  # characters of a text in a table
_READING = (
    "attack: percentage of contexts in which the true reply scores better than the attack, ties counting half "
    "(50 is chance, 100 is best).",
    "edit: how much a harmless edit of the true reply changes its score, in percent of the metric's range (0 is best).",
)


@dataclass(frozen=True)
class TrialOutcome:
    """One figure: a metric under one trial, in a corpus or (None) averaged over corpora.

    For an attack, ``value`` is the share of contexts whose true reply wins, ties counting half; for an edit, the mean
    absolute change in units of the metric's range (or its interquartile range over true replies, if unbounded).
    ``beside`` is an attack's share of ties, or an edit's mean signed change, positive if the edit makes the score
    better. ``left_out`` contexts have no such text; ``value.n_missing`` have one but no score.
    """

    metric: str
    kind: TrialKind
    trial: str
    corpus: str | None
    value: Interval
    beside: float
    left_out: int


@dataclass(frozen=True)
class WorstCase:
    """A case where a metric did badly: the true reply, the other text, and both scores."""

    metric: str
    kind: TrialKind
    trial: str
    corpus: str
    exchange: str
    context: tuple[str, ...]
    reply: str
    text: str
    reply_score: float
    text_score: float


@dataclass(frozen=True)
class AttackedMetric:
    """What one must know about a metric to read its figures; changes are divided by ``unit``."""

    signature: str
    range: tuple[float, float]
    higher_is_better: bool | None
    unit: float

    @property
    def bounded(self) -> bool:
        """Whether the unit is the range; otherwise it is the interquartile range over true replies."""
        return all(map(math.isfinite, self.range))


@dataclass(frozen=True)
class Robustness:
    """The figures and the worst cases of one or more metrics."""

    metrics: dict[str, AttackedMetric]
    contexts: dict[str, int]
    plan: dict[str, Any]
    outcomes: Sequence[TrialOutcome]
    examples: Sequence[WorstCase] = ()
    notes: Sequence[str] = ()

    def outcome(self, metric: str, trial: str, corpus: str | None = None) -> TrialOutcome:
        """The figure of a metric under a trial."""
        for one in self.outcomes:
            if (one.metric, one.trial, one.corpus) == (metric, trial, corpus):
                return one
        raise KeyError((metric, trial, corpus))

    def to_object(self) -> dict[str, Any]:
        """All results as JSON values; unknown numbers are null."""
        values: dict[str, Any] = _plain_robustness_value(
            {
                "plan": self.plan,
                "contexts": self.contexts,
                "metrics": {spec: asdict(about) for spec, about in self.metrics.items()},
                "figures": [_figure_object(entry) for entry in self.outcomes],
                "examples": [asdict(entry) for entry in self.examples],
                "notes": list(self.notes),
            }
        )
        return values

    def __str__(self) -> str:
        return str(robustness_table(self))

    def _repr_html_(self) -> str:
        return robustness_table(self)._repr_html_()


def _figure_object(outcome: TrialOutcome) -> dict[str, Any]:
    value = outcome.value
    figure: dict[str, Any] = {
        "metric": outcome.metric,
        "kind": outcome.kind,
        "trial": outcome.trial,
        "corpus": outcome.corpus,
    }
    figure |= {"value": value.value, "low": value.low, "high": value.high}
    figure |= {"ties" if outcome.kind == "attack" else "signed": outcome.beside}
    return figure | {"n": value.n, "n_without_score": value.n_missing, "n_left_out": outcome.left_out}


def _plain_robustness_value(value: Any) -> Any:
    """Values for JSON: rounded to six decimals, None for NaN."""
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _plain_robustness_value(one) for key, one in value.items()}
    return [_plain_robustness_value(one) for one in value] if isinstance(value, list | tuple) else value


def robustness_table(robustness: Robustness) -> Table:
    """One line per trial, one column per metric: means over corpora with their intervals, in percent."""
    rows: list[list[Cell]] = []
    for trial in TRIALS:
        outcomes = [robustness.outcome(metric, trial.name) for metric in robustness.metrics]
        has_text = sum(robustness.contexts.values()) - outcomes[0].left_out if outcomes else 0
        rows.append([trial.kind, trial.name, has_text, *(_percent_estimate(outcome.value) for outcome in outcomes)])
    n, corpora = sum(robustness.contexts.values()), len(robustness.contexts)
    over = f"mean over {corpora} corpora" if corpora > 1 else next(iter(robustness.contexts))
    title = f"Robustness: {n:,} contexts, {over}"
    return Table(
        title, ["kind", "trial", "contexts", *robustness.metrics], rows, _robustness_notes(robustness), decimals=1
    )


def robustness_by_corpus_table(robustness: Robustness, metric: str) -> Table:
    """One metric: one line per corpus, one column per trial, in percent."""
    rows: list[list[Cell]] = []
    for corpus in (*robustness.contexts, None):
        figures = [robustness.outcome(metric, trial.name, corpus) for trial in TRIALS]
        n = sum(robustness.contexts.values()) if corpus is None else robustness.contexts[corpus]
        rows.append([corpus or "mean over corpora", n, *(100 * outcome.value.value for outcome in figures)])
    heads = ["corpus", "contexts", *(trial.name for trial in TRIALS)]
    return Table(f"{metric} by corpus", heads, rows, decimals=1)


def worst_case_table(robustness: Robustness, metric: str, n: int) -> Table:
    """The worst cases of a metric, some of each trial."""
    rows: list[list[Cell]] = []
    for trial in TRIALS:
        worst = [example for example in robustness.examples if (example.metric, example.trial) == (metric, trial.name)][
            :n
        ]
        rows += [
            [trial.name, example.corpus, *texts[:2], example.reply_score, texts[2], example.text_score]
            for example in worst
            if (texts := [shorten_text(text, _LONGEST) for text in (example.context[-1], example.reply, example.text)])
        ]
    heads = ["trial", "corpus", "last turn", "true reply", "score", "other text", "its score"]
    return Table(f"{metric}: worst cases", heads, rows)


def _percent_estimate(value: Interval) -> Estimate:
    return Estimate(100 * value.value, 100 * value.low, 100 * value.high)


def _robustness_notes(robustness: Robustness) -> list[str]:
    notes = list(_READING)
    for metric, facts in robustness.metrics.items():
        outcomes = [robustness.outcome(metric, trial.name) for trial in TRIALS]
        notes += _list_shares(
            f"{metric}: ties", ".0%", [(outcome, outcome.beside) for outcome in outcomes if outcome.kind == "attack"]
        )
        notes += _list_shares(
            f"{metric}: no score, so no comparison",
            ".0%",
            [(outcome, _unscored_share(outcome)) for outcome in outcomes],
        )
        notes += _list_shares(
            f"{metric}: mean signed change",
            "+.1%",
            [(outcome, outcome.beside) for outcome in outcomes if outcome.kind == "edit"],
        )
        if not facts.bounded:
            notes.append(
                f"{metric} has no bounds: its changes are in percent of the interquartile range of its scores for the "
                f"true replies ({facts.unit:.3g})."
            )
        if facts.higher_is_better is None:
            notes.append(f"{metric} describes a reply and does not judge it; it is treated as if higher were better.")
    if len(robustness.contexts) > 1:
        notes.append("Intervals: 95% bootstrap over dialogues within each corpus; every corpus has the same weight.")
    return [*notes, *robustness.notes]


def _unscored_share(outcome: TrialOutcome) -> float:
    return outcome.value.n_missing / max(1, outcome.value.n + outcome.value.n_missing)


def _list_shares(what: str, form: str, shares: Sequence[tuple[TrialOutcome, float]]) -> list[str]:
    """A sentence with the shares that are large enough to mention."""
    least = 0.005 if form == ".0%" else 0.0005
    listing = ", ".join(f"{outcome.trial} {share:{form}}" for outcome, share in shares if abs(share) >= least)
    return [f"{what}: {listing}."] if listing else []
