"""The last step of a run: the values of all chunks, settled over the whole set and written in input order."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from rejoinder.errors import RunError
from rejoinder.files import atomic_write
from rejoinder.metric import Metric, Row, SetMetric, name_of, parse
from rejoinder.scoring.cache import ScoreStore, score_address
from rejoinder.scoring.chunks import ComputedChunk, ScoringJob
from rejoinder.scoring.compute import ScoreColumn, make_score_columns, settle_set
from rejoinder.scoring.flags import MEANINGS
from rejoinder.scoring.folder import DIALOGUES, SCORES
from rejoinder.scoring.index import DataFile, ResponseIndex
from rejoinder.scoring.result import MetricFacts, Scores, ScoresBuilder, Values


@dataclass(frozen=True)
class AssembledScores:
    """The scores of a run, and how many are missing for each metric."""

    scores: Scores
    missing: dict[str, int]


class _StoredRows:
    """The rows of one metric that have a statistic, read from the store on each iteration."""

    def __init__(self, values: _StoredValues, index: ResponseIndex, n: int) -> None:
        self._values, self._index, self._n = values, index, n

    def __len__(self) -> int:
        return self._n

    def __iter__(self) -> Iterator[Row]:
        for (response, item, system, _), statistic in zip(self._index.rows(), self._values, strict=True):
            if statistic is not None:
                yield Row(response, item, system, statistic)


class _StoredValues:
    """The values of one column in the order of the input, chunk by chunk from the store."""

    def __init__(self, store: ScoreStore, done: Sequence[ComputedChunk], column: int) -> None:
        self._store, self._done, self._column = store, done, column

    def __iter__(self) -> Iterator[Any]:
        for one in self._done:
            values = self._store.get(one.columns[self._column].address)
            if values is None:
                raise RunError("the score cache was changed during the run; run the same command again")
            yield from values


def assemble_scores(
    folder: Path, job: ScoringJob, index: ResponseIndex, done: Sequence[ComputedChunk]
) -> AssembledScores:
    """Settle every metric over the set, write ``scores.jsonl`` and ``dialogues.jsonl``, and return the scores."""
    columns = make_score_columns(job.specs, job.matched)
    _check_signatures(columns, done)
    stored = {column: _StoredValues(ScoreStore(job.store), done, i) for i, column in enumerate(columns)}
    values = {
        str(column.metric): _settle_metric(column.metric, stored[column], index)
        for column in columns
        if column.kind == "score" and column.metric is not None
    }
    flag_counts = _write_scores(folder / SCORES, columns, stored, values, index)
    cut = {str(c.metric): sum(map(bool, stored[c])) for c in columns if c.kind == "cut"}
    scores = _make_scores(columns, values, index, flag_counts, cut, folder)
    _write_dialogues(folder / DIALOGUES, scores)
    missing = {spec: int(np.isnan(column[scores.unit_rows(spec)]).sum()) for spec, column in values.items()}
    return AssembledScores(scores, missing)


def _check_signatures(columns: Sequence[ScoreColumn], done: Sequence[ComputedChunk]) -> None:
    """Raise where a worker computed a metric with another signature: its file was edited during the run."""
    for place, column in enumerate(columns):
        expected = score_address(column.signature, "")
        if any(not one.columns[place].address.startswith(expected) for one in done):
            raise RunError(f"{column.metric}: its file was changed during the run; run the same command again")


def _settle_metric(metric: Metric, stored: _StoredValues, index: ResponseIndex) -> Values:
    if not isinstance(metric, SetMetric):
        return np.fromiter((math.nan if v is None else v for v in stored), np.float64, len(index))
    known = np.fromiter((v is not None for v in stored), bool, len(index))
    column = np.full(len(index), math.nan)
    rows = _StoredRows(stored, index, int(known.sum()))
    column[known] = [math.nan if v is None else v for v in settle_set(metric, rows)]
    return column


def _write_scores(
    path: Path,
    columns: Sequence[ScoreColumn],
    stored: dict[ScoreColumn, _StoredValues],
    values: dict[str, Values],
    index: ResponseIndex,
) -> dict[str, int]:
    """Write one line per response, and return how often each flag was raised.

    A metric of whole dialogues is only in the lines of the replies that end one.
    """
    of_dialogues = {str(c.metric) for c in columns if c.metric is not None and c.metric.whole_dialogues}
    is_last = index.dialogue_places.is_last
    counts = dict.fromkeys(MEANINGS, 0)
    matches = [(str(c.metric), iter(stored[c])) for c in columns if c.kind == "match"]
    numbers = [(spec, column.tolist()) for spec, column in values.items()]
    with atomic_write(path) as file:
        for i, (row, flags) in enumerate(zip(index.rows(), stored[ScoreColumn("flags")], strict=True)):
            line: dict[str, Any] = {"response": row.response, "item": row.item, "system": row.system}
            if row.dialogue is not None:
                line["dialogue"] = row.dialogue
            line["scores"] = {  # orjson writes NaN as null
                spec: column[i] for spec, column in numbers if is_last[i] or spec not in of_dialogues
            }
            if matches:
                line["matched"] = {spec: next(column) for spec, column in matches}
            if flags:
                line["flags"] = flags
            for flag in flags:
                counts[flag] += 1
            file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
    return counts


def _write_dialogues(path: Path, scores: Scores) -> None:
    if not len(scores.dialogues):
        return
    with atomic_write(path) as file:
        for one in scores.dialogue_scores():
            file.write(orjson.dumps(one._asdict(), option=orjson.OPT_APPEND_NEWLINE))


def _make_scores(
    columns: Sequence[ScoreColumn],
    values: dict[str, Values],
    index: ResponseIndex,
    flags: dict[str, int],
    cut: dict[str, int],
    folder: Path,
) -> Scores:
    metrics = [c.metric for c in columns if c.kind == "score" and c.metric is not None]
    builder = ScoresBuilder(list(index.systems), list(index.dialogues))
    for row in index.rows():
        builder.add(*row)
    facts = {str(m): MetricFacts.of(m, index.reference_sources) for m in metrics}
    return builder.build(facts, values, flags, cut, data=folder, is_last=index.dialogue_places.is_last)


def write_traces(folder: Path, job: ScoringJob, index: ResponseIndex) -> None:
    """Write the traces of every metric that has some; metrics of one name share a file."""
    for name, of_name in _tracing_metrics(job.specs).items():
        lines = _trace_lines(of_name, job, index)
        first = next(lines, None)
        if first is None:
            continue
        with atomic_write(folder / name) as file:
            file.writelines(chain([first], lines))


def summarise_traces(folder: Path, specs: Sequence[str]) -> dict[str, dict[str, Any]]:
    """What each metric says about its traces, for ``run.json``; metrics that say nothing are left out."""
    summaries = {
        str(metric): metric.summarise_traces(_read_traces(folder / name, str(metric)))
        for name, of_name in _tracing_metrics(specs).items()
        for metric in of_name
    }
    return {spec: summary for spec, summary in summaries.items() if summary}


def _read_traces(path: Path, spec: str) -> Iterator[dict[str, Any]]:
    if path.is_file():
        with path.open("rb") as file:
            yield from (record for record in map(orjson.loads, file) if record["metric"] == spec)


def trace_files(specs: Sequence[str]) -> list[str]:
    """The names of the files of traces that metrics may write."""
    return list(_tracing_metrics(specs))


def _tracing_metrics(specs: Sequence[str]) -> dict[str, list[Metric]]:
    """The metrics that write traces, by the name of their file; a metric of the user's is named after its file."""
    metrics: dict[str, list[Metric]] = {}
    for metric in map(parse, specs):
        if type(metric).trace is not Metric.trace:
            name = Path(name_of(type(metric)).partition(":")[0]).name
            metrics.setdefault(f"{name}.jsonl", []).append(metric)
    return metrics


def _trace_lines(metrics: list[Metric], job: ScoringJob, index: ResponseIndex) -> Iterator[bytes]:
    data = DataFile(job.data)
    try:
        for metric in metrics:
            for chunk in index.chunks():
                pairs = data.pairs(index.where(chunk))
                for pair, objects in zip(pairs, metric.trace(pairs), strict=False):  # there may be none at all
                    for one in objects:
                        known = {"response": pair.response.id, "metric": str(metric)}
                        yield orjson.dumps({**known, **one}, option=orjson.OPT_APPEND_NEWLINE)
    finally:
        data.close()
