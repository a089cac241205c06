"""The attack: exchanges drawn, every test made of them, every metric asked what it makes of that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from rejoinder.contract import Metric
from rejoinder.engines.contract import Engine
from rejoinder.errors import RejoinderError
from rejoinder.registry import parse, signature
from rejoinder.robustness.choosing import choose
from rejoinder.robustness.drawing import draw
from rejoinder.robustness.measuring import Scored, means, scored, won
from rejoinder.robustness.result import About, Example, Outcome, Robustness
from rejoinder.robustness.variants import TRIALS, TRUE, Trial, Variants
from rejoinder.stats.arrays import NAN, Floats, at_least, encode
from rejoinder.types import Dialogue, Item

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Plan:
    """What decides the figures beside the data and the metrics."""

    contexts: int = 2000
    split: str = "test"
    seed: int = 0
    n_resamples: int = 1000
    examples: int = 5  # the worst of each test that are kept


DEFAULT_PLAN = Plan()


def attack(
    records: Iterable[Dialogue | Item],
    metrics: Sequence[str | Metric] | None = None,
    plan: Plan = DEFAULT_PLAN,
    progress: Progress | None = None,
    engine: Engine | None = None,
) -> Robustness:
    """Attack metrics on dialogues, or on items with references; where none is named, every installed one that can be.

    Of dialogues, those of the plan's split and those without a split are used. Of an item the first reference is the
    true reply, and the others are what metrics with references compare with.
    """
    at_least(plan.contexts, 1, "contexts")
    at_least(plan.n_resamples, 1, "n_resamples")
    named = [parse(one) if isinstance(one, str) else one for one in metrics or ()]  # a wrong name is told at once
    variants = Variants.of(draw(records, plan.contexts, plan.split, plan.seed), plan.seed)
    chosen = choose(named, variants.exchanges)
    notes, units = list(chosen.notes), {}
    outcomes: list[Outcome] = []
    examples: list[Example] = []
    for done, metric in enumerate(chosen.metrics):
        if progress is not None:
            progress(done, len(chosen.metrics))
        try:
            found = scored(metric, variants, engine)
        except RejoinderError as error:
            if not chosen.by_default:
                raise
            notes.append(f"{metric} is left out: {error}.")
            continue
        units[metric] = found.unit
        outcomes += _outcomes(str(metric), found, variants, plan)
        examples += [one for trial in TRIALS for one in _worst(str(metric), trial, found, variants, plan.examples)]
    sources = {reference.source for exchange in variants.exchanges for reference in exchange.references}
    return Robustness(
        {
            str(metric): About(signature(metric, sources), metric.range, metric.higher_is_better, unit)
            for metric, unit in units.items()
        },
        dict(Counter(exchange.corpus for exchange in variants.exchanges)),
        asdict(plan),
        outcomes,
        examples,
        notes,
    )


def _outcomes(metric: str, found: Scored, variants: Variants, plan: Plan) -> list[Outcome]:
    """The figures of all trials, over corpora and in each."""
    corpora, names = encode([exchange.corpus for exchange in variants.exchanges], "corpora")
    dialogues = [exchange.dialogue for exchange in variants.exchanges]
    attacked = [_columns(trial, found) for trial in TRIALS]
    columns = np.stack([column for both in attacked for column in both], axis=1)
    taken = means(columns, corpora, dialogues, plan.n_resamples, plan.seed)
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


def _columns(trial: Trial, found: Scored) -> tuple[Floats, Floats]:
    """What is averaged of a trial: wins and ties, or absolute and signed changes."""
    if trial.kind == "edit":
        change = found.change(trial.name)
        return np.abs(change), change
    lead = found.lead(trial.name)
    return won(lead), np.where(np.isnan(lead), NAN, lead == 0)


def _worst(metric: str, trial: Trial, found: Scored, variants: Variants, n: int) -> list[Example]:
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
