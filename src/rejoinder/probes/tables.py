"""The figures of an attack as tables: all metrics side by side, one metric by corpus, and the worst cases."""

from __future__ import annotations

from collections.abc import Sequence

from rejoinder.probes.result import Outcome, Robustness
from rejoinder.probes.variants import TRIALS
from rejoinder.stats.interval import Interval
from rejoinder.table import Cell, Estimate, Table

_LONGEST = 100  # characters of a text in a table
_READING = (
    "attack: percent of contexts in which the true reply scores better than the attack, ties counting half "
    "(50 is chance, 100 is best).",
    "edit: how far a harmless edit of the true reply moves its score, in percent of the metric's range (0 is best).",
)


def summary_table(found: Robustness) -> Table:
    """One line a trial, one column a metric: means over corpora with their intervals, in percent."""
    rows: list[list[Cell]] = []
    for trial in TRIALS:
        outcomes = [found.outcome(metric, trial.name) for metric in found.metrics]
        has_text = sum(found.contexts.values()) - outcomes[0].left_out if outcomes else 0
        rows.append([trial.kind, trial.name, has_text, *(_percent(one.value) for one in outcomes)])
    n, corpora = sum(found.contexts.values()), len(found.contexts)
    over = f"mean over {corpora} corpora" if corpora > 1 else next(iter(found.contexts))
    title = f"Robustness: {n:,} contexts, {over}"
    return Table(title, ["kind", "trial", "contexts", *found.metrics], rows, _notes(found), decimals=1)


def corpus_table(found: Robustness, metric: str) -> Table:
    """One metric: a line a corpus, one column a trial, in percent."""
    rows: list[list[Cell]] = []
    for corpus in (*found.contexts, None):
        figures = [found.outcome(metric, trial.name, corpus) for trial in TRIALS]
        n = sum(found.contexts.values()) if corpus is None else found.contexts[corpus]
        rows.append([corpus or "mean over corpora", n, *(100 * one.value.value for one in figures)])
    heads = ["corpus", "contexts", *(trial.name for trial in TRIALS)]
    return Table(f"{metric} by corpus", heads, rows, decimals=1)


def example_table(found: Robustness, metric: str, n: int) -> Table:
    """The worst cases of a metric, some of each trial."""
    rows: list[list[Cell]] = []
    for trial in TRIALS:
        worst = [one for one in found.examples if (one.metric, one.trial) == (metric, trial.name)][:n]
        rows += [
            [trial.name, one.corpus, *texts[:2], one.reply_score, texts[2], one.text_score]
            for one in worst
            if (texts := [_shorten(text) for text in (one.context[-1], one.reply, one.text)])
        ]
    heads = ["trial", "corpus", "last turn", "true reply", "score", "other text", "its score"]
    return Table(f"{metric}: the worst cases", heads, rows)


def _shorten(text: str) -> str:
    """A text on one line, cut to a length."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _percent(value: Interval) -> Estimate:
    return Estimate(100 * value.value, 100 * value.low, 100 * value.high)


def _notes(found: Robustness) -> list[str]:
    notes = list(_READING)
    for metric, about in found.metrics.items():
        mine = [found.outcome(metric, trial.name) for trial in TRIALS]
        notes += _list_shares(f"{metric}: ties", ".0%", [(one, one.beside) for one in mine if one.kind == "attack"])
        notes += _list_shares(
            f"{metric}: no score, so no comparison", ".0%", [(one, _unscored_share(one)) for one in mine]
        )
        notes += _list_shares(
            f"{metric}: mean signed change", "+.1%", [(one, one.beside) for one in mine if one.kind == "edit"]
        )
        if not about.bounded:
            notes.append(
                f"{metric} has no bounds: its changes are in percent of the interquartile range of its scores of the "
                f"true replies ({about.unit:.3g})."
            )
        if about.higher_is_better is None:
            notes.append(f"{metric} describes a reply and does not judge it; it is read as if more were better.")
    if len(found.contexts) > 1:
        notes.append("Intervals: 95%, dialogues drawn again within each corpus; every corpus counts the same.")
    return [*notes, *found.notes]


def _unscored_share(one: Outcome) -> float:
    return one.value.n_missing / max(1, one.value.n + one.value.n_missing)


def _list_shares(what: str, form: str, shares: Sequence[tuple[Outcome, float]]) -> list[str]:
    """A sentence with the shares that are worth telling."""
    least = 0.005 if form == ".0%" else 0.0005
    told = ", ".join(f"{one.trial} {share:{form}}" for one, share in shares if abs(share) >= least)
    return [f"{what}: {told}."] if told else []
