"""The judges of a run: how consistent they are, what could not be read, what it cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from rejoinder import spec as specs
from rejoinder.errors import RunError, SpecError
from rejoinder.judges.consistency import (
    AnswerCounts,
    RepeatConsistency,
    compute_price,
    count_answers,
    measure_consistency,
)
from rejoinder.judges.endpoint import RawAnswer, RemoteJudge
from rejoinder.judges.settings import read_token_prices
from rejoinder.metric import name_of, parse
from rejoinder.metrics.judge import Judge
from rejoinder.reports.findings import JUDGE
from rejoinder.scoring.folder import check_run_files, read_run_about
from rejoinder.scoring.reader import load_data
from rejoinder.scoring.sharded.reader import list_run_parts
from rejoinder.table import Cell, Table, format_count
from rejoinder.types import Pair

_HEADS = ["judge", "replies", "answers", "unreadable", "refused", "input tokens", "output tokens", "cost"]
_CONSISTENCY_HEADS = ["compared", "all repeats equal", "mean difference", "alpha"]


@dataclass(frozen=True)
class JudgeSummary:
    """What one judge of a run answered, how consistent it is, and what it cost (NaN if unknown)."""

    metric: str
    replies: int
    answers: AnswerCounts
    consistency: RepeatConsistency
    cost: float
    unanswered: int


def judge(
    run: str | Path, *, input_price: float | None = None, output_price: float | None = None
) -> list[JudgeSummary]:
    """What the judges of a finished run answered, how consistent they are and what they cost; no requests are sent.

    - ``run``: the run folder, scored with a judge at an endpoint.
    - ``input_price``: the price per million input tokens; where neither price is given, the environment's.
    - ``output_price``: the price per million output tokens.

    >>> import rejoinder
    >>> scores = rejoinder.run(["chats.jsonl"], rejoinder.Plan.of(["judge(model='NAME')"]), "judged")
    >>> [(summary.metric, summary.cost) for summary in rejoinder.judge("judged", input_price=1, output_price=4)]
    """
    if (input_price is None) != (output_price is None):
        raise SpecError("give both input_price and output_price, or neither")
    folder = Path(run)
    prices = (
        (input_price, output_price) if input_price is not None and output_price is not None else read_token_prices()
    )
    summaries = []
    for metric, pairs in _remote_judges(folder):
        answers_by_reply = _read_answers(folder, metric, pairs)
        counts = count_answers(answers_by_reply)
        cost = compute_price(counts, prices) if prices and not counts.uncounted else math.nan
        unanswered = sum(not answers for answers in answers_by_reply)
        summaries.append(
            JudgeSummary(str(metric), len(pairs), counts, measure_consistency(answers_by_reply), cost, unanswered)
        )
    return summaries


def judge_table(summaries: Sequence[JudgeSummary]) -> Table:
    """One line per judge of a finished run."""
    rows: list[list[Cell]] = []
    notes: list[str] = []
    for summary in summaries:
        counts, consistency = summary.answers, summary.consistency
        line: list[Cell] = [summary.metric, summary.replies, counts.answers, counts.unreadable, counts.refused]
        line += [counts.input_tokens, counts.output_tokens, summary.cost]
        rows.append([*line, consistency.n, consistency.same, consistency.mean_difference, consistency.alpha])
        notes += _judge_notes(summary)
    notes.append(
        "Repeats send the same request again; alpha is Krippendorff's (interval scale), 1 where they always agree."
    )
    return Table("Judges", [*_HEADS, *_CONSISTENCY_HEADS], rows, notes)


def read_raw_answers(folder: Path) -> Iterator[dict[str, Any]]:
    """Every raw answer for a run, unchanged, with the id of the response."""
    for metric, pairs in _remote_judges(folder):
        for pair, answers in zip(pairs, _read_answers(folder, metric, pairs), strict=True):
            for answer in answers:
                yield {"response": pair.response.id, "metric": str(metric), **answer.record()}


def _remote_judges(folder: Path) -> Iterator[tuple[Judge, list[Pair]]]:
    specs_in_run = (metric["spec"] for metric in read_run_about(folder)["metrics"])
    # By name: parsing a user's own metric would run its file, and a run folder may come from anybody.
    metrics = [parse(spec) for spec in specs_in_run if specs.parse_spec(spec, "metric").name == name_of(Judge)]
    judges = [metric for metric in metrics if isinstance(metric, Judge)]
    if not any(isinstance(metric.judge(), RemoteJudge) for metric in judges):
        raise RunError(f"{folder}: no judge at an endpoint was used in this run; score with -m \"judge(model='NAME')\"")
    pairs = list(load_data(folder).pairs())
    return (
        (metric, [pair for pair in pairs if pair.is_last or not metric.whole_dialogues])
        for metric in judges
        if isinstance(metric.judge(), RemoteJudge)
    )


def _read_answers(folder: Path, metric: Judge, pairs: list[Pair]) -> list[list[RawAnswer]]:
    """The answers about each pair: from the run folder if it has them, else from the cache."""
    check_run_files(folder, {JUDGE})
    files = [part / JUDGE for part in list_run_parts(folder)]
    if not all(path.is_file() for path in files):
        return [[RawAnswer.of(record) for record in records] for records in metric.trace(pairs)]
    by_response: dict[str, list[RawAnswer]] = {}
    for record in (orjson.loads(line) for path in files for line in path.read_bytes().splitlines()):
        if record["metric"] == str(metric):
            by_response.setdefault(record["response"], []).append(RawAnswer.of(record))
    return [by_response.get(pair.response.id, []) for pair in pairs]


def _judge_notes(summary: JudgeSummary) -> Iterator[str]:
    if n := summary.answers.uncounted:
        yield f"{summary.metric}: {format_count(n, 'answer')} without a valid token count, so the cost is unknown."
    if summary.unanswered:
        replies = format_count(summary.unanswered, "reply", "replies")
        yield f"{summary.metric}: {replies} without a stored answer (blank, or the cache was cleared)."
