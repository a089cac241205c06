"""The relevance figures of aptness by the length of the context and of the reply, set by set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rejoinder.stats.bootstrap import BootstrapPlan, resample_correlations
from rejoinder_lab.papers.base import Figure
from rejoinder_lab.papers.own.lengths import FEWEST, LengthBin, measure_lengths
from rejoinder_lab.papers.own.relevance.measures import ColumnCorrelation, ScoredColumn, macro_average

MEAN = "mean of the sets"


def length_figures(scored: Sequence[ScoredColumn], plan: BootstrapPlan) -> Iterator[Figure]:
    """Spearman of every aptness in each bin of each set that has enough rows in it, and the mean of these sets."""
    specs = [spec for spec in scored[0].metrics if spec.partition("(")[0] == "aptness"]
    by_bin: dict[tuple[str, str], dict[str, Mapping[str, ColumnCorrelation]]] = {}
    for one in scored if specs else ():
        pairs = {pair.response.id: pair for pair in one.rows.data.pairs()}
        lengths = measure_lengths([pairs[name] for name in one.evidence.responses])
        for part, in_bin in lengths.bins():
            columns = by_bin.setdefault((part, in_bin.name), {})
            if in_bin.rows.sum() >= FEWEST:
                columns[one.rows.column.name] = _correlate_bin(one, specs, in_bin, plan)
    for spec in specs:
        for (part, name), columns in by_bin.items():
            if not columns:
                continue
            table = f"Spearman of {spec} by tokens of the {part}"
            correlations = {column: of_column[spec] for column, of_column in columns.items()}
            intervals = {column: one.interval for column, one in correlations.items()}
            intervals[MEAN] = macro_average(list(correlations.values()), plan)
            for column, interval in intervals.items():
                note = ", ".join(columns) if column == MEAN else f"{interval.n} rows"
                yield Figure(table, name, column, None, interval.value, interval.low, interval.high, interval.n, note)


def _correlate_bin(
    scored: ScoredColumn, specs: Sequence[str], in_bin: LengthBin, plan: BootstrapPlan
) -> dict[str, ColumnCorrelation]:
    evidence, rows = scored.evidence, in_bin.rows
    names = [name for name, is_in in zip(evidence.responses, rows, strict=True) if is_in]
    systems = [system for system, is_in in zip(evidence.systems, rows, strict=True) if is_in]
    plan = replace(plan, seed=scored.rows.column.seed)
    done = resample_correlations(
        {spec: evidence.scores[spec][rows] for spec in specs},
        evidence.mean[rows],
        plan,
        systems=systems,
        items=[scored.rows.units[name] for name in names],
    )
    counts = zip(done.n.tolist(), done.n_missing.tolist(), done.n_units.tolist(), strict=True)
    return {
        spec: ColumnCorrelation(plan.interval(float(value), samples, *of_spec), samples)
        for spec, value, samples, of_spec in zip(done.names, done.values, done.samples.T, counts, strict=True)
    }
