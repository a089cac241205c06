"""What judges cost: before a run as a table of its own, after it as notes under the table of scores."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rejoinder.data.inputs import Input
    from rejoinder.scoring.cost import CostEstimate
    from rejoinder.scoring.run import Plan
    from rejoinder.scoring.sharded.run import ShardedRun
    from rejoinder.table import Table


def add_costs(table: Table, about: Mapping[str, Any]) -> Table:
    """A table with a note for each metric whose answers were paid."""
    paid = [one for one in about["metrics"] if "cost" in one]
    if not paid:
        return table
    from rejoinder.judges.answer_summary import describe_cost

    return replace(table, notes=[*table.notes, *(f"{one['spec']}: {describe_cost(one['cost'])}" for one in paid)])


def print_costs(estimates: Sequence[CostEstimate], form: str) -> None:
    """Print what scoring will cost."""
    from rejoinder.scoring.cost import cost_table
    from rejoinder.table import FORMATS

    click.echo(FORMATS[form](cost_table(estimates)))


def print_shard_costs(files: Sequence[str], plan: Plan, form: str) -> None:
    """Print what scoring many files will cost."""
    from rejoinder.data.inputs import Input
    from rejoinder.data.shards.files import fetch_local, list_data_files
    from rejoinder.scoring.cost import estimate_cost_of_parts

    def open_shards() -> Iterator[list[Input]]:
        for shard in (one for file in files for one in list_data_files(file)):
            with fetch_local(shard) as path, contextlib.closing(Input(path, frozenset(), shard.name)) as source:
                yield [source]

    print_costs(estimate_cost_of_parts(open_shards(), plan.specs, False, plan.empty == "nan"), form)


def add_shard_costs(finished: ShardedRun) -> Table:
    """The table of a run over shards with a note for each metric whose answers were paid."""
    from rejoinder.judges.answer_summary import add_summaries
    from rejoinder.metric import parse
    from rejoinder.scoring.cost import PricedMetric

    metrics = []
    for metric in map(parse, finished.specs):
        summary = add_summaries(
            [one["answers"][str(metric)] for one in finished.shards if str(metric) in one.get("answers", {})]
        )
        if summary and isinstance(metric, PricedMetric):
            metrics.append({"spec": str(metric), "cost": metric.price_answers(summary)})
    return add_costs(finished.table(), {"metrics": metrics})
