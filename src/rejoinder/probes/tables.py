"""The figures of an attack as tables: all metrics side by side, one metric by corpus, and the worst cases."""

from __future__ import annotations

from collections.abc import Sequence

from rejoinder.probes.result import Robustness, TrialOutcome
from rejoinder.probes.variants import TRIALS
from rejoinder.stats.interval import Interval
from rejoinder.table import Cell, Estimate, Table, shorten_text

_LONGEST = 100  # characters of a text in a table
_READING = (
    "attack: percentage of contexts in which the true reply scores better than the attack, ties counting half "
    "(50 is chance, 100 is best).",
    "edit: how much a harmless edit of the true reply changes its score, in percent of the metric's range (0 is best).",
)


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
