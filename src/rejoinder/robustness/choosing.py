"""Which metrics can be attacked on some exchanges: those whose needs are met without the true reply as a reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rejoinder.contract import Metric
from rejoinder.errors import RejoinderError, SpecError
from rejoinder.registry import metric_names, parse
from rejoinder.robustness.exchange import Exchange


class Chosen(NamedTuple):
    """Metrics, whether nobody named them, and what is to be said of those that were left out."""

    metrics: list[Metric]
    by_default: bool
    notes: list[str]


def choose(named: Sequence[Metric], exchanges: Sequence[Exchange]) -> Chosen:
    """The metrics that were named, or every installed one that can be used."""
    parts = {
        "context": True,
        "references": any(exchange.references for exchange in exchanges),
        "future": any(exchange.future for exchange in exchanges),
        "situation": any(exchange.situation for exchange in exchanges),
    }
    if named:
        for metric in named:
            if lacking := sorted(part for part in metric.needs if not parts[part]):
                raise SpecError(_why(str(metric), lacking))
        return Chosen(list(dict.fromkeys(named)), False, [])
    return _default(parts)


def _default(parts: dict[str, bool]) -> Chosen:
    metrics, notes = [], []
    without: dict[str, list[str]] = {}
    for name in metric_names():
        try:
            metric = parse(name)
        except RejoinderError as error:
            notes.append(f"{name} is left out: {error}.")
            continue
        lacking = sorted(part for part in metric.needs if not parts[part])
        if lacking:
            without.setdefault(lacking[0], []).append(name)
        else:
            metrics.append(metric)
    for part, names in without.items():
        why = "the true reply would be the only one" if part == "references" else "there is none here"
        notes.append(f"Left out, because they need a {part.removesuffix('s')} and {why}: {', '.join(names)}.")
    return Chosen(metrics, True, notes)


def _why(metric: str, lacking: list[str]) -> str:
    if "references" in lacking:
        return (
            f"{metric} needs references, and the only one here would be the true reply itself; give a file of items "
            "with two or more references each, or name a metric that needs none"
        )
    return f"{metric} needs {' and '.join(lacking)}, which nothing here has; name another metric or another file"
