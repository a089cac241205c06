"""The attack: exchanges drawn, every test made of them, every metric asked what it makes of that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rejoinder.data.inputs import DEFAULT_CORPORA, Input
from rejoinder.data.validation import IdChecker
from rejoinder.engines.base import Engine
from rejoinder.errors import RejoinderError, SpecError
from rejoinder.metric import Metric, metric_names, parse, signature
from rejoinder.probes.exchange import Exchange
from rejoinder.probes.result import (
    Example,
    MetricFacts,
    Outcome,
    Robustness,
    TrialScores,
    average_by_corpus,
    score_variants,
    score_wins,
)
from rejoinder.probes.sampling import draw_exchanges
from rejoinder.probes.variants import TRIALS, TRUE, Trial, Variants
from rejoinder.stats.arrays import NAN, Floats, check_at_least, encode_labels
from rejoinder.types import Dialogue, Item, Record


class MetricChoice(NamedTuple):
    """Metrics, whether nobody named them, and what is to be said of those that were left out."""

    metrics: list[Metric]
    by_default: bool
    notes: list[str]


def choose_metrics(named: Sequence[Metric], exchanges: Sequence[Exchange]) -> MetricChoice:
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
                raise SpecError(_explain_missing(str(metric), lacking))
        return MetricChoice(list(dict.fromkeys(named)), False, [])
    return _choose_default(parts)


def _choose_default(parts: dict[str, bool]) -> MetricChoice:
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
    return MetricChoice(metrics, True, notes)


def _explain_missing(metric: str, lacking: list[str]) -> str:
    if "references" in lacking:
        return (
            f"{metric} needs references, and the only one here would be the true reply itself; give a file of items "
            "with two or more references each, or name a metric that needs none"
        )
    return f"{metric} needs {' and '.join(lacking)}, which nothing here has; name another metric or another file"


Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class AttackPlan:
    """What decides the figures beside the data and the metrics."""

    contexts: int = 2000
    split: str = "test"
    seed: int = 0
    n_resamples: int = 1000
    examples: int = 5  # the worst of each test that are kept


DEFAULT_PLAN = AttackPlan()


def attack(
    data: Iterable[Record] | Sequence[str | Path] | str | Path = (),
    metrics: Sequence[str | Metric] | None = None,
    plan: AttackPlan = DEFAULT_PLAN,
    progress: Progress | None = None,
    engine: Engine | None = None,
) -> Robustness:
    """What fools metrics: worse replies made by rule, and harmless edits of the true reply.

    - ``data``: dialogues, or items with references: a file, several, a collection, or the records themselves; without
      any, the published corpora.
    - ``metrics``: specs or metrics; without any, every installed one that can be used.
    - ``plan``: how many contexts are drawn, from which split, with which seed.
    - ``progress``: is told how many metrics are done, and of how many.
    - ``engine``: what computes.

    Of dialogues, those of the plan's split and those without a split are used. Of an item the first reference is the
    true reply, and the others are what metrics with references compare with.

    >>> import rejoinder
    >>> found = rejoinder.attack("dialogues.jsonl", ["length"], rejoinder.AttackPlan(contexts=20, split="train"))
    >>> found.outcome("length", "repeated").value.value  # a reply said three times is longer
    0.0
    """
    check_at_least(plan.contexts, 1, "contexts")
    check_at_least(plan.n_resamples, 1, "n_resamples")
    named = [parse(one) if isinstance(one, str) else one for one in metrics or ()]  # a wrong name is told at once
    variants = Variants.of(draw_exchanges(_read_data(data), plan.contexts, plan.split, plan.seed), plan.seed)
    chosen = choose_metrics(named, variants.exchanges)
    notes, units = list(chosen.notes), {}
    outcomes: list[Outcome] = []
    examples: list[Example] = []
    for done, metric in enumerate(chosen.metrics):
        if progress is not None:
            progress(done, len(chosen.metrics))
        try:
            found = score_variants(metric, variants, engine)
        except RejoinderError as error:
            if not chosen.by_default:
                raise
            notes.append(f"{metric} is left out: {error}.")
            continue
        units[metric] = found.unit
        outcomes += _measure_trials(str(metric), found, variants, plan)
        examples += [one for trial in TRIALS for one in _find_worst(str(metric), trial, found, variants, plan.examples)]
    sources = {reference.source for exchange in variants.exchanges for reference in exchange.references}
    return Robustness(
        {
            str(metric): MetricFacts(signature(metric, sources), metric.range, metric.higher_is_better, unit)
            for metric, unit in units.items()
        },
        dict(Counter(exchange.corpus for exchange in variants.exchanges)),
        asdict(plan),
        outcomes,
        examples,
        notes,
    )


def _measure_trials(metric: str, found: TrialScores, variants: Variants, plan: AttackPlan) -> list[Outcome]:
    """The figures of all trials, over corpora and in each."""
    corpora, names = encode_labels([exchange.corpus for exchange in variants.exchanges], "corpora")
    dialogues = [exchange.dialogue for exchange in variants.exchanges]
    attacked = [_columns(trial, found) for trial in TRIALS]
    columns = np.stack([column for both in attacked for column in both], axis=1)
    taken = average_by_corpus(columns, corpora, dialogues, plan.n_resamples, plan.seed)
    outcomes = []
    for i, trial in enumerate(TRIALS):
        has_text = np.array([text is not None for text in variants.texts[trial.name]])
        for corpus in (None, *range(len(names))):
            here = has_text if corpus is None else has_text[corpora == corpus]
            value = taken.mean(2 * i, corpus, is_share=trial.kind == "attack")
            value = value._replace(n_missing=int(here.sum()) - value.n)
            beside = taken.mean(2 * i + 1, corpus).value
            outcomes.append(
                Outcome(
                    metric,
                    trial.kind,
                    trial.name,
                    None if corpus is None else names[corpus],
                    value,
                    beside,
                    int((~here).sum()),
                )
            )
    return outcomes


def _columns(trial: Trial, found: TrialScores) -> tuple[Floats, Floats]:
    """What is averaged of a trial: wins and ties, or absolute and signed changes."""
    if trial.kind == "edit":
        change = found.change(trial.name)
        return np.abs(change), change
    lead = found.lead(trial.name)
    return score_wins(lead), np.where(np.isnan(lead), NAN, lead == 0)


def _find_worst(metric: str, trial: Trial, found: TrialScores, variants: Variants, n: int) -> list[Example]:
    """The cases in which the metric did worst: the true reply lost (or tied), or an edit moved the score most."""
    lead = found.lead(trial.name)
    badness = -lead if trial.kind == "attack" else np.abs(lead)
    bad = np.flatnonzero(badness >= 0 if trial.kind == "attack" else badness > 0)
    examples = []
    # Cases that are equally bad come from different corpora first.
    for i in bad[np.lexsort((variants.nth_of_corpus()[bad], -badness[bad]))][:n].tolist():
        exchange, text = variants.exchanges[i], variants.texts[trial.name][i]
        examples.append(
            Example(
                metric,
                trial.kind,
                trial.name,
                exchange.corpus,
                exchange.id,
                tuple(turn.text for turn in exchange.context),
                exchange.reply,
                text or "",
                float(found.scores[TRUE][i]),
                float(found.scores[trial.name][i]),
            )
        )
    return examples


def _read_data(given: Iterable[Record] | Sequence[str | Path] | str | Path) -> Iterator[Dialogue | Item]:
    """The dialogues and items of whatever was given."""
    if isinstance(given, str | Path):
        given = [given]
    if isinstance(given, Sequence):
        names = [str(one) for one in given if isinstance(one, str | Path)]
        if names or not given:
            yield from records_of(names)
            return
    yield from (one for one in given if isinstance(one, Dialogue | Item))


def records_of(given: Sequence[str]) -> Iterator[Dialogue | Item]:
    """The dialogues and items of files, or of the published corpora where none is named.

    A record without a corpus goes by the name of its file.
    """
    ledger = IdChecker()
    for one in given or DEFAULT_CORPORA:
        opened = Input(one)
        try:
            for record, place in opened.records(allow_empty=True):
                if not isinstance(record, Dialogue | Item) or not ledger.add(record, place):
                    continue
                if isinstance(record, Item):
                    yield replace(record, meta={"corpus": opened.stem, **record.meta})
                else:
                    yield record if record.corpus else replace(record, corpus=opened.stem)
        finally:
            opened.close()
