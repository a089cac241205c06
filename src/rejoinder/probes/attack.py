"""The attack: sample exchanges, make every test text from them, and score all of them with every metric."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rejoinder.data.inputs import Input
from rejoinder.data.validation import IdChecker
from rejoinder.engines.base import Engine
from rejoinder.errors import RejoinderError, SpecError
from rejoinder.metric import Metric, metric_class, metric_names, parse, signature
from rejoinder.probes.exchange import Exchange
from rejoinder.probes.result import AttackedMetric, Robustness, TrialOutcome, WorstCase
from rejoinder.probes.sampling import draw_exchanges
from rejoinder.probes.trial_scores import TrialScores, average_by_corpus, score_variants, score_wins
from rejoinder.probes.variants import TRIALS, TRUE, Trial, TrialVariants
from rejoinder.stats.arrays import NAN, Floats, check_at_least, encode_labels
from rejoinder.text.language import note_other_languages
from rejoinder.types import Dialogue, Item, Record


class MetricChoice(NamedTuple):
    """Metrics, whether they are the default choice, and notes about those left out."""

    metrics: list[Metric]
    by_default: bool
    notes: list[str]


def choose_metrics(metrics: Sequence[Metric], exchanges: Sequence[Exchange]) -> MetricChoice:
    """The named metrics, or every installed one that can be used."""
    parts = {
        "context": True,
        "references": any(exchange.references for exchange in exchanges),
        "future": any(exchange.future for exchange in exchanges),
        "situation": any(exchange.situation for exchange in exchanges),
    }
    if metrics:
        for metric in metrics:
            if missing := sorted(part for part in metric.needs if not parts.get(part)):
                raise SpecError(_explain_missing(str(metric), missing))
        return MetricChoice(list(dict.fromkeys(metrics)), False, [])
    return _choose_default(parts)


def _choose_default(parts: dict[str, bool]) -> MetricChoice:
    metrics, notes = [], []
    without: dict[str, list[str]] = {}
    for name in metric_names():
        if metric_class(name).is_rule:  # it does not claim to know a good reply
            continue
        try:
            metric = parse(name)
        except RejoinderError as error:
            notes.append(f"{name} is left out: {error}.")
            continue
        missing = sorted(part for part in metric.needs if not parts.get(part))
        if missing:
            without.setdefault(missing[0], []).append(name)
        else:
            metrics.append(metric)
    for part, names in without.items():
        why = "the true reply would be the only one" if part == "references" else "these data have none"
        notes.append(f"Left out, because they need {part} and {why}: {', '.join(names)}.")
    return MetricChoice(metrics, True, notes)


def _explain_missing(metric: str, missing: list[str]) -> str:
    if "references" in missing:
        return (
            f"{metric} needs references, but the only one would be the true reply itself; use a file of items with two "
            "or more references each, or a metric that needs none"
        )
    return f"{metric} needs {' and '.join(missing)}, which these data do not have; use another metric or another file"


Progress = Callable[[int, int], None]
EXAMPLES = str(Path(__file__).with_name("dialogues.jsonl"))  # written for this package


@dataclass(frozen=True)
class AttackPlan:
    """What determines the figures, apart from the data and the metrics."""

    contexts: int = 2000
    split: str = "test"
    seed: int = 0
    n_resamples: int = 1000
    examples: int = 5  # how many of the worst cases of each test to keep


DEFAULT_PLAN = AttackPlan()


def attack(
    data: Iterable[Record] | Sequence[str | Path] | str | Path = (),
    metrics: Sequence[str | Metric] | None = None,
    plan: AttackPlan = DEFAULT_PLAN,
    progress: Progress | None = None,
    engine: Engine | None = None,
) -> Robustness:
    """What fools metrics: worse replies made by rule, and harmless edits of the true reply.

    - ``data``: dialogues, or items with references: a file, several, a collection, or the records themselves; by
      default, 40 example dialogues that come with the package.
    - ``metrics``: specs or metrics; by default, every installed one that can be used.
    - ``plan``: how many contexts to sample, from which split, with which seed.
    - ``progress``: called with the number of metrics done and the total.
    - ``engine``: what computes.

    Dialogues of the plan's split, or without a split, are used. The first reference of an item is the true reply;
    metrics with references use the others.

    >>> import rejoinder
    >>> found = rejoinder.attack("dialogues.jsonl", ["length"], rejoinder.probes.AttackPlan(contexts=20, split="train"))
    >>> found.outcome("length", "repeated").value.value  # a reply said three times is longer
    0.0
    """
    check_at_least(plan.contexts, 1, "contexts")
    check_at_least(plan.n_resamples, 1, "n_resamples")
    # Before anything is sampled, so that a wrong name is reported at once.
    named_metrics = [parse(one) if isinstance(one, str) else one for one in metrics or ()]
    variants = TrialVariants.of(draw_exchanges(_read_data(data), plan.contexts, plan.split, plan.seed), plan.seed)
    choice = choose_metrics(named_metrics, variants.exchanges)
    notes, units = list(choice.notes), {}
    outcomes: list[TrialOutcome] = []
    examples: list[WorstCase] = []
    for done, metric in enumerate(choice.metrics):
        if progress is not None:
            progress(done, len(choice.metrics))
        try:
            scores = score_variants(metric, variants, engine)
        except RejoinderError as error:
            if not choice.by_default:
                raise
            notes.append(f"{metric} is left out: {error}.")
            continue
        units[metric] = scores.unit
        outcomes += _measure_trials(str(metric), scores, variants, plan)
        for trial in TRIALS:
            examples += _find_worst(str(metric), trial, scores, variants, plan.examples)
    notes += note_other_languages(
        (exchange.reply for exchange in variants.exchanges), "generic replies, synonyms and contractions are English"
    )
    sources = {reference.source for exchange in variants.exchanges for reference in exchange.references}
    return Robustness(
        {
            str(metric): AttackedMetric(signature(metric, sources), metric.range, metric.higher_is_better, unit)
            for metric, unit in units.items()
        },
        dict(Counter(exchange.corpus for exchange in variants.exchanges)),
        asdict(plan),
        outcomes,
        examples,
        notes,
    )


def _measure_trials(metric: str, scores: TrialScores, variants: TrialVariants, plan: AttackPlan) -> list[TrialOutcome]:
    """The figures of all trials, over corpora and in each."""
    corpora, names = encode_labels([exchange.corpus for exchange in variants.exchanges], "corpora")
    dialogues = [exchange.dialogue for exchange in variants.exchanges]
    column_pairs = [_trial_columns(trial, scores) for trial in TRIALS]
    columns = np.stack([column for pair in column_pairs for column in pair], axis=1)
    means = average_by_corpus(columns, corpora, dialogues, plan.n_resamples, plan.seed)
    outcomes = []
    for i, trial in enumerate(TRIALS):
        has_text = np.array([text is not None for text in variants.texts[trial.name]])
        for corpus in (None, *range(len(names))):
            here = has_text if corpus is None else has_text[corpora == corpus]
            value = means.mean(2 * i, corpus, is_share=trial.kind == "attack")
            value = value._replace(n_missing=int(here.sum()) - value.n)
            beside = means.mean(2 * i + 1, corpus).value
            outcomes.append(
                TrialOutcome(
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


def _trial_columns(trial: Trial, scores: TrialScores) -> tuple[Floats, Floats]:
    """The two columns to average for a trial: wins and ties, or absolute and signed changes."""
    if trial.kind == "edit":
        change = scores.change(trial.name)
        return np.abs(change), change
    lead = scores.lead(trial.name)
    return score_wins(lead), np.where(np.isnan(lead), NAN, lead == 0)


def _find_worst(metric: str, trial: Trial, scores: TrialScores, variants: TrialVariants, n: int) -> list[WorstCase]:
    """The metric's worst cases: the true reply lost (or tied), or an edit changed the score most."""
    lead = scores.lead(trial.name)
    badness = -lead if trial.kind == "attack" else np.abs(lead)
    worst = np.flatnonzero(badness >= 0 if trial.kind == "attack" else badness > 0)
    examples = []
    # Cases that are equally bad come from different corpora first.
    for i in worst[np.lexsort((variants.nth_of_corpus()[worst], -badness[worst]))][:n].tolist():
        exchange, text = variants.exchanges[i], variants.texts[trial.name][i]
        examples.append(
            WorstCase(
                metric,
                trial.kind,
                trial.name,
                exchange.corpus,
                exchange.id,
                tuple(turn.text for turn in exchange.context),
                exchange.reply,
                text or "",
                float(scores.scores[TRUE][i]),
                float(scores.scores[trial.name][i]),
            )
        )
    return examples


def _read_data(data: Iterable[Record] | Sequence[str | Path] | str | Path) -> Iterator[Dialogue | Item]:
    """The dialogues and items of records, or of files."""
    if isinstance(data, str | Path):
        data = [data]
    if isinstance(data, Sequence):
        names = [str(name) for name in data if isinstance(name, str | Path)]
        if names or not data:
            yield from read_attack_records(names or [EXAMPLES])
            return
    yield from (record for record in data if isinstance(record, Dialogue | Item))


def read_attack_records(names: Sequence[str]) -> Iterator[Dialogue | Item]:
    """The dialogues and items of files.

    A record without a corpus gets the name of its file as corpus.
    """
    id_checker = IdChecker()
    for name in names:
        file = Input(name)
        try:
            for record, place in file.records(allow_empty=True):
                if not isinstance(record, Dialogue | Item) or not id_checker.add(record, place):
                    continue
                if isinstance(record, Item):
                    yield replace(record, meta={"corpus": file.stem, **record.meta})
                else:
                    yield record if record.corpus else replace(record, corpus=file.stem)
        finally:
            file.close()
