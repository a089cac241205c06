"""What metrics leave in a run folder beside their scores: ``NAME.jsonl``, a line an object, under the response's id."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import orjson

from rejoinder.contract import Metric
from rejoinder.files import whole_file
from rejoinder.registry import name_of, parse
from rejoinder.scoring.engine import Job
from rejoinder.scoring.intake import DataFile, Index


def write_traces(folder: Path, job: Job, index: Index) -> None:
    """Write the traces of every metric that leaves some; metrics of one name share a file."""
    for name, of_name in _metrics(job.specs).items():
        lines = _lines(of_name, job, index)
        first = next(lines, None)
        if first is None:
            continue
        with whole_file(folder / name) as file:
            file.writelines(chain([first], lines))


def trace_files(specs: Sequence[str]) -> list[str]:
    """The files that metrics may leave."""
    return list(_metrics(specs))


def _metrics(specs: Sequence[str]) -> dict[str, list[Metric]]:
    """The metrics that leave traces, by the file of those of one name; a metric of the user's is named by its file."""
    metrics: dict[str, list[Metric]] = {}
    for metric in map(parse, specs):
        if type(metric).trace is not Metric.trace:
            name = Path(name_of(type(metric)).partition(":")[0]).name
            metrics.setdefault(f"{name}.jsonl", []).append(metric)
    return metrics


def _lines(metrics: list[Metric], job: Job, index: Index) -> Iterator[bytes]:
    data = DataFile(job.data)
    try:
        for metric in metrics:
            for chunk in index.chunks():
                pairs = data.pairs(index.where(chunk))
                for pair, objects in zip(pairs, metric.trace(pairs), strict=False):  # nothing at all may come
                    for one in objects:
                        known = {"response": pair.response.id, "metric": str(metric)}
                        yield orjson.dumps({**known, **one}, option=orjson.OPT_APPEND_NEWLINE)
    finally:
        data.close()
